"""`evenruler measure` as users run it: from an empty folder, by real HTTP, killed, and twice at
once."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from evenruler import repository
from evenruler.models.backends.server import KEY, URL
from evenruler.models.store import RowStore
from tests import loopback_hub, loopback_openai
from tests.figures import find_figure
from tests.hub_client import Client
from tests.loopback_openai import EchoingServer, ScriptedServer, scorer_of
from tests.tiny import save_tiny
from tests.warm import Warm

pytestmark = [pytest.mark.slow, pytest.mark.enable_socket]

EVENRULER = str(Path(sys.executable).parent / "evenruler")


class User:
    """Somebody in an empty folder, with a cache of their own."""

    def __init__(self, folder: Path, warm: Warm | None = None) -> None:
        self.folder, self.cache = folder / "empty", folder / "cache"
        self.command = str(warm.bin / "evenruler") if warm else EVENRULER
        self.folder.mkdir()
        self.env = {
            **os.environ,
            "EVENRULER_CACHE": str(self.cache),
            "HF_HUB_OFFLINE": "1",
            KEY: "any",
        }

    def start(self, *words: str, cold: bool = False) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [EVENRULER if cold else self.command, *words],
            cwd=self.folder,
            env=self.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *words: str, status: int = 0) -> tuple[str, str]:
        """What a command printed, and what it said meanwhile."""
        process = self.start(*words)
        printed, meanwhile = process.communicate(timeout=280)
        assert process.returncode == status, meanwhile
        return printed, meanwhile

    def result(self, model: str, benchmark: str, ending: str = "") -> dict[str, Any]:
        version = json.loads(
            (repository.shipped_benchmarks() / benchmark / "manifest.json").read_text()
        )["version"]
        run_folder = f"{benchmark}@{version}{ending}"
        path = self.folder / "results" / model / run_folder / "result.json"
        return dict(json.loads(path.read_text()))


@pytest.fixture
def user(tmp_path: Path, warm: Warm | None) -> User:
    return User(tmp_path, warm)


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("models") / "tiny", max_position_embeddings=1024)


@pytest.fixture
def chat(user: User) -> Iterator[ScriptedServer]:
    with loopback_openai.running(ScriptedServer(content="She is a nurse.")) as server:
        user.env[URL] = server.url
        yield server


@pytest.mark.long
def test_a_chat_endpoint_on_framing_and_saged(user: User, chat: ScriptedServer) -> None:
    shared = ("measure", "endpoint:big", "--limit", "2")
    two = (*shared, "--with", "framing-gender", "--with", "saged-countries")
    three = (*two, "--with", "external-bec-pro")
    _, refused = user.run(*three, status=2)
    assert "error: measure: it sends " in refused
    assert refused.rstrip().endswith("; say --yes, or --max-cost with --price")
    assert not chat.asked
    printed, meanwhile = user.run(*three, "--yes", status=2)
    assert "framing-gender" in printed
    assert "saged-countries" in printed
    lacking = "external-bec-pro: it has no question for big (kind chat) by the method choice"
    assert lacking in meanwhile
    assert meanwhile.rstrip().endswith("; the others were measured")
    framing = user.result("big", "framing-gender", "+limit-2")
    assert framing["left_out"] == [
        "big (kind chat) is left out of forms: it gives no next-word probabilities"
    ]
    forms = {(row["prompt_format"], row["readout"]) for row in framing["figures"]}
    assert forms == {("chat", "choice")}
    n_asked = len(chat.asked)
    user.run(*two)
    assert len(chat.asked) == n_asked


def test_a_budget_is_no_consent_to_a_higher_cost(user: User, chat: ScriptedServer) -> None:
    words = ("measure", "endpoint:big", "--with", "framing-age", "--limit", "2", "--size", "trial")
    price = ("--price", "1000,1000")
    sends = r"it sends (\d+) requests, about [\d,]+ tokens in, at most [\d,]+ out"
    _, refused = user.run(*words, *price, "--max-cost", "0.01", "--max-requests", "40", status=2)
    assert "error: --max-cost 0.01: it may cost $" in refused
    printed, plan = user.run(*words, *price, "--max-requests", "0")
    plan_match = re.search(sends + r"; at most \$[\d.]+\n", plan)
    assert plan_match is not None
    assert printed == ""
    assert chat.asked == []
    assert not list(user.folder.glob("results/*"))
    limits = ("--max-cost", "999", "--max-requests", plan_match[1])
    _, meanwhile = user.run(*words, *price, *limits)
    assert plan_match[0].strip() in meanwhile
    assert len(chat.asked) == int(plan_match[1])
    again, meanwhile = user.run(*words, "--max-requests", "0")
    assert again.startswith("framing-age")
    assert "it sends" not in meanwhile, "all is known"


@pytest.mark.long
def test_a_completions_endpoint_gives_the_figures_of_its_weights(user: User, tiny: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    scorer = scorer_of(
        AutoModelForCausalLM.from_pretrained(tiny), AutoTokenizer.from_pretrained(tiny)
    )
    probes = ("--with", "probes-age-competence", "--limit", "5", "--size", "trial")
    with loopback_openai.running(EchoingServer(scorer=scorer)) as server:
        user.env[URL] = server.url
        user.run(
            "measure",
            "endpoint:served",
            "--kind",
            "completions",
            *probes,
            "--yes",
        )
    user.run("measure", f"local:{tiny}", *probes)
    benchmark = ("probes-age-competence", "+trial+limit-5")
    results = [user.result(name, *benchmark)["figures"] for name in ("served", "tiny")]
    for figure, tolerance in (("spread", 2e-3), ("gain", 1e-2)):
        served, local = (find_figure(rows, figure=figure, set="seed") for rows in results)
        assert served["value"] == pytest.approx(local["value"], abs=tolerance)
        assert served.get("verdict") == local.get("verdict")


def test_model_and_benchmark_from_the_hub_at_a_tag(tmp_path: Path, user: User, tiny: Path) -> None:
    name = "probes-age-competence"
    with loopback_hub.running() as hub:
        model, data = loopback_hub.Repo(False), loopback_hub.Repo(False)
        hub.repos |= {"org/tiny": model, "org/ruler": data}
        commit = model.add(tiny)
        model.tags["first"] = commit
        data.tags["v0.1.0"] = data.add(repository.shipped_benchmarks() / name)
        client = Client(hub, user.folder, tmp_path / "home")
        words = ("--limit", "5", "--size", "trial")
        environment = {"EVENRULER_CACHE": str(user.cache)}
        for tag, version in (("@first", "@v0.1.0"), ("", "")):
            named = ("measure", f"hub:org/tiny{tag}", "--with", f"org/ruler{version}")
            printed = client.run(EVENRULER, *named, *words, token="", **environment)
            assert commit in printed
    ending = "+trial+limit-5"
    by_tag, by_head = (user.result(model, name, ending) for model in ("tiny-first", "tiny"))
    assert by_tag["model"]["revision"] == by_head["model"]["revision"] == commit
    assert by_tag["benchmark"]["origin"] == by_head["benchmark"]["origin"] == "hub:org/ruler@v0.1.0"
    user.run("measure", f"local:{tiny}", "--with", name, *words, "--name", "local")
    of_folder = user.result("local", name, ending)
    for result in (by_tag, by_head, of_folder):
        for row in result["figures"]:
            del row["model"]
    assert by_tag["figures"] == by_head["figures"] == of_folder["figures"]


def test_killed_and_started_again_nothing_is_asked_twice(user: User, tiny: Path) -> None:
    words = (
        "measure",
        f"local:{tiny}",
        "--with",
        "probes-occupation-gender",
        "--size",
        "trial",
    )
    # Sentences of all sets, those of `validation` that `validation-negated` has, too, once:
    # (17 + 5 + 3) * 50 * 12. After prefixes (attributes * templates * words * prefixes): 12 * 9 *
    # 4 * 8. Each operation has a bar.
    n_asked = 15_000 + 3_456
    # Sentences that end before a noun: 16 * (43 attributes on the criterion + 16 control words).
    n_next_words = 944
    # After another start token (attributes * words * templates): 12 * 12 * (4 * 3 - 2 + 3), since
    # two templates stand in both validation sets, and the last set has three.
    asked_after_other_start = 1_872
    process = user.start(*words, cold=True)
    rows = user.cache / "rows.sqlite"
    deadline = time.monotonic() + 120
    while not (rows.exists() and RowStore(user.cache).count() > 500):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    n_stored = RowStore(user.cache).count() - 1  # without the model's fingerprint
    assert 500 < n_stored < n_asked
    assert not list((user.folder / "results").rglob("result.json"))
    _, meanwhile = user.run(*words)
    assert f" of {n_asked - n_stored:,} answers" in meanwhile  # the bar counts what is missing
    assert RowStore(user.cache).count() == n_asked + n_next_words + asked_after_other_start + 1


@pytest.mark.long
def test_two_at_once_both_finish(user: User, tiny: Path) -> None:
    words = ("measure", f"local:{tiny}", "--with", "probes-age-competence")
    both = [user.start(*words, "--out", out) for out in ("one", "two")]
    outputs = [process.communicate(timeout=280) for process in both]
    assert [process.returncode for process in both] == [0, 0], outputs
    folders = [user.folder / out for out in ("one", "two")]
    first, second = (next(folder.rglob("headlines.parquet")) for folder in folders)
    assert pq.read_table(first).equals(pq.read_table(second))
    paths = [next(folder.rglob("result.json")) for folder in folders]
    results = [json.loads(path.read_text()) for path in paths]
    assert results[0] == results[1]
    counts = results[0]["asked"]
    n_stored = RowStore(user.cache).count() - 1  # without the model's fingerprint
    assert n_stored == counts["likelihoods"] + counts["starts"]
