"""What is said before a measurement runs, and that nothing runs."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from evenruler import repository
from evenruler.evaluate.dry_run import describe_seconds, letters_a_token
from evenruler.models import catalogue
from evenruler.models.backends import server
from evenruler.models.rates import FILE, Rate, keep_rate, weights_size
from tests import loopback_hub
from tests.evaluate.conftest import Command, refused
from tests.hub_client import Client
from tests.instruments.external.test_folder import log, samples, written
from tests.loopback_hub import Blob

ASKED = ("--with", "probes-age-competence", "--size", "trial", "--limit", "2")


@pytest.fixture
def dry_run(run_command: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs `evenruler measure MODEL ... --dry-run`, which must load nothing."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a dry run loads nothing")

    def run(*words: object) -> tuple[int, str, str]:
        with monkeypatch.context() as patched:
            patched.setattr(catalogue, "backend_of", refuse)
            return tuple(run_command("measure", *words, "--dry-run"))  # type: ignore[return-value]

    return run


def lines_of(outcome: tuple[int, str, str]) -> list[str]:
    status, out, err = outcome
    assert status == 0, err
    return out.splitlines()


def test_a_model_in_a_folder(dry_run: Command, tiny_folder: Path, elsewhere: Path) -> None:
    model = f"local:{tiny_folder}"
    title, asks, tokens, time, verdict, last = lines_of(dry_run(model, *ASKED))
    assert re.fullmatch(r"probes-age-competence \S+ on tiny, trial, limit 2", title)
    assert asks.startswith("  asks     ")
    assert "likelihoods" in asks
    assert re.fullmatch(r"  reads    about [\d,]+ tokens in, at most 0 out", tokens)
    assert time.startswith("  time     about ")
    assert time.endswith(
        ", on two usual cores; how fast this machine is, is known after a first run"
    )
    assert verdict == "  verdict  no verdict is possible"
    assert last == "nothing was asked, sent or loaded"
    assert list(elsewhere.iterdir()) == [], "no folder of results either"


def test_two_groups_fill_the_slot_of_items(dry_run: Command, elsewhere: Path) -> None:
    (elsewhere / "tasks.csv").write_text("item,key\n{GROUP} keep their word.,1\n")
    words = ("endpoint:chat", "--with", "tasks.csv", "--size", "trial", "--format", "json")
    (forecast,) = map(json.loads, lines_of(dry_run(*words, "--groups", "women,men")))
    assert forecast["questions"] == {"generate": 2 * 2}, "two groups, two orders of the options"
    status, _, err = dry_run(*words)
    assert status == 2
    assert "it has the slot {GROUP}, and no groups are given" in err


def test_time_is_by_the_rates_that_are_kept(
    dry_run: Command, tiny_folder: Path, elsewhere: Path
) -> None:
    model = f"local:{tiny_folder}"
    (before,) = map(json.loads, lines_of(dry_run(model, *ASKED, "--format", "json")))
    n_bytes = weights_size(tiny_folder)
    keep_rate(Rate("tiny", "likelihood", "cpu", n_bytes, 10, 50.0), elsewhere.parent / "cache")
    (after,) = map(json.loads, lines_of(dry_run(model, *ASKED, "--format", "json")))
    assert (before["is_assumed"], after["is_assumed"]) == (True, False)
    # Rates count by letters, so that those of all tokenizers agree.
    assert after["seconds"] > 5 * 300
    assert {**before, "seconds": 0, "is_assumed": False} == {**after, "seconds": 0}


def test_what_is_answered_already_is_not_asked_again(
    dry_run: Command, run_command: Command, tiny_folder: Path, elsewhere: Path
) -> None:
    words = (f"local:{tiny_folder}", *ASKED)
    assert run_command("measure", *words)[0] == 0
    assert (elsewhere.parent / "cache" / FILE).is_file()
    _, asks, tokens, time, *_ = lines_of(dry_run(*words))
    assert asks.endswith("; 100% answered already")
    assert tokens == "  reads    about 0 tokens in, at most 0 out"
    assert time.endswith("nothing is left to ask")


def test_a_server_is_not_asked(dry_run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody listens there, and the tests' sockets are closed."""
    monkeypatch.setenv(server.URL, "http://127.0.0.1:9")
    words = ("--with", "questionnaires-gad-7", "--price", "1,10")
    _, asks, tokens, time, verdict, _ = lines_of(dry_run("endpoint:big", *words))
    assert asks == "  asks     1,244 replies"
    tokens_match = re.fullmatch(
        r"  reads    about ([\d,]+) tokens in, at most ([\d,]+) out; at most \$([\d.]+)", tokens
    )
    assert tokens_match is not None
    texts = [text.replace(",", "") for text in tokens_match.groups()]
    n_in, n_out, dollars = map(float, texts)
    expected = (n_in + 10 * n_out) / 1e6
    assert dollars == pytest.approx(expected, abs=0.006)
    assert time == "  time     not known: no model like this one has answered here yet"
    assert verdict == "  verdict  no verdict is possible"


def test_recorded_answers_are_there(
    dry_run: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "shipped"
    folder.mkdir()
    written(folder)
    monkeypatch.setattr(repository, "shipped_benchmarks", lambda: folder)
    rows = samples(folder / "external-made", lambda text: -float(len(text)))
    path = log(Path("log.jsonl"), rows)
    title, asks, _, time, *_ = lines_of(dry_run(path))
    assert title.startswith("external-made ")
    assert asks.endswith("; 100% answered already")
    assert time.endswith("nothing is left to ask")


def test_a_file_of_a_package_is_not_converted(dry_run: Command, elsewhere: Path) -> None:
    first, title, *_, time, verdict, _ = lines_of(dry_run("--demo"))
    assert first == "first: convert SmolLM2-135M-Instruct.Q4_1.gguf, once"
    assert title == "probes-occupation-gender 1.0.0 on smollm2-135m-instruct, trial"
    assert re.match(r"  time     about \d+ (s|min), on two usual cores", time)
    assert verdict == "  verdict  possible; 8 of 10 such studies detect a factor of 3.6"
    assert not (elsewhere.parent / "cache/models").exists()


def test_what_cannot_be_foreseen_is_refused(dry_run: Command, tiny_folder: Path) -> None:
    model = f"local:{tiny_folder}"
    status, out, err = dry_run(model, *ASKED, "--with", "lm_eval:arc_easy")
    assert status == 2
    assert "probes-age-competence" in out, "the others are forecast"
    assert err.splitlines()[-1] == (
        "error: lm_eval:arc_easy: lm-evaluation-harness alone knows what it asks; "
        "leave it out of the dry run"
    )
    assert "no such folder" in refused(dry_run_of(dry_run), model, "--with", "nothing-such")


def dry_run_of(run: Command) -> Command:
    """The same, without the last line of what was printed."""

    def without_last(*words: object) -> tuple[int, str, str]:
        status, out, err = run(*words)
        return status, out.removesuffix("nothing was asked, sent or loaded\n"), err

    return without_last


@pytest.mark.slow
@pytest.mark.enable_socket
def test_a_model_on_the_hub_leaves_its_weights_there(
    tmp_path: Path, tiny_folder: Path, elsewhere: Path
) -> None:
    with loopback_hub.running() as hub:
        repo = hub.repos["org/tiny"] = loopback_hub.Repo(False)
        commit = repo.add(tiny_folder)
        client = Client(hub, elsewhere, tmp_path / "home")
        words = ("measure", "hub:org/tiny", *ASKED)
        environment = {"EVENRULER_CACHE": str(tmp_path / "cache")}
        command = (sys.executable, "-m", "evenruler", *words)
        planned = client.run(*command, "--dry-run", token="", **environment)
        assert re.match(r"first: download \S+ [kM]B \(1 file\) of org/tiny from the Hub", planned)
        assert "nothing was asked, sent or loaded" in planned
        # Small files are here now: they say what it is.
        snapshots = list((tmp_path / "home").rglob(f"snapshots/{commit}/*"))
        assert any(path.name == "tokenizer.json" for path in snapshots)
        assert not any(path.suffix == ".safetensors" for path in snapshots)
        measured = client.run(*command, token="", **environment)
        assert re.search(r"^will download \S+ [kM]B \(1 file\) of org/tiny", measured, re.MULTILINE)
        again = client.run(*command, "--dry-run", token="", **environment)
        assert "download" not in again
        assert "100% answered already" in again


@pytest.mark.slow
@pytest.mark.enable_socket
def test_older_weights_are_counted_where_there_are_no_others(
    tmp_path: Path, elsewhere: Path
) -> None:
    """In bytes, by the Hub's list of files."""
    files = {
        "config.json": b'{"architectures": ["LlamaForCausalLM"]}',
        "pytorch_model.bin": b"x" * 3_000_000,
    }
    with loopback_hub.running() as hub:
        for name, further in (("old", {}), ("new", {"model.safetensors": b"x" * 2_000_000})):
            repo = hub.repos[f"org/{name}"] = loopback_hub.Repo(False)
            contents = {**files, **further}
            blobs = {path: Blob(text, False) for path, text in contents.items()}
            repo.commit(blobs, "add")
        client = Client(hub, elsewhere, tmp_path / "home")
        for name, size in (("old", "3 MB"), ("new", "2 MB")):
            words = ("measure", f"hub:org/{name}", *ASKED, "--dry-run")
            environment = {"EVENRULER_CACHE": str(tmp_path / "cache")}
            planned = client.run(sys.executable, "-m", "evenruler", *words, token="", **environment)
            assert planned.startswith(f"first: download {size} (1 file) of org/{name}")


def test_tokens_are_counted_by_the_tokenizer_of_the_model(tiny_folder: Path) -> None:
    texts = ["The man is a nurse.", "The woman is a nurse."]
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(tiny_folder / "tokenizer.json"))
    n_tokens = sum(len(tokenizer.encode(text).ids) for text in texts)
    n_letters = sum(map(len, texts))
    assert letters_a_token(tiny_folder, texts) == pytest.approx(n_letters / n_tokens)
    assert letters_a_token(None, texts) == 4
    assert letters_a_token(tiny_folder, []) == 4


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "1 s"),
        (119, "119 s"),
        (720, "12 min"),
        (7100, "118 min"),
        (10_800, "3 h"),
    ],
)
def test_a_time_in_words(seconds: float, words: str) -> None:
    assert describe_seconds(seconds) == words


def test_python_can_run_the_package() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "evenruler", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("evenruler ")
