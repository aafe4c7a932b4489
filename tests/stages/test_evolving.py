"""The benchmark of templates that evolve, by the real DVC, and mistakes in what declares it."""

import json
import sys
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from evenruler import cli
from evenruler.publish.manifest import manifest_problems
from tests.loopback_openai import running
from tests.stages.conftest import evidence_in
from tests.stages.evolving import (
    ATTRIBUTES,
    BENCHMARK,
    DOMAIN,
    ELITES,
    EVOLUTION,
    EVOLVED,
    GENERATIONS,
    MADE,
    REPLIES,
    SEEDS,
    Evolving,
    Rewording,
    number_of,
)

pytestmark = [pytest.mark.slow, pytest.mark.long]

UP_TO_DATE = "Data and pipelines are up to date."


def ran(output: str) -> list[str]:
    return [line.split("'")[1] for line in output.splitlines() if line.startswith("Running stage")]


def test_everything_is_there_and_a_second_repro_does_nothing(evolving: Evolving) -> None:
    assert UP_TO_DATE in evolving.clone.run("dvc", "status")
    asked = len(evolving.server.asked)
    assert ran(evolving.clone.run("dvc", "repro")) == []
    assert len(evolving.server.asked) == asked > 0
    assert not [
        path for path in evolving.clone.contents("data", "benchmarks") if ".partial" in path
    ]
    assert b"secret-word" not in b"".join(
        evolving.clone.contents("data", "benchmarks", ".dvc/cache").values()
    )


def test_an_ablation_is_an_experiment_whose_replies_were_added(
    evolving: Evolving, tmp_path: Path
) -> None:
    """Slow: asks the operator once more, and evolves once more. Both weightings are replayed from
    one file."""
    with running(Rewording()) as server:
        clone = evolving.copied(tmp_path, server).clone
        replies = clone.folder / REPLIES / "reworder" / f"{EVOLVED}.jsonl"
        before, history = replies.read_text(), clone.contents(MADE)
        weight = f"instruments.{EVOLVED}.evolve.weights.alpha"
        clone.edit(
            "params.yaml",
            lambda params: params["instruments"][EVOLVED]["evolve"].update(weights={"alpha": 0}),
        )
        clone.run("evenruler", "evolve", EVOLVED, "--add")
        clone.run("git", "checkout", "--quiet", "params.yaml")
        assert replies.read_text().startswith(before)
        assert len(replies.read_text()) > len(before)
        clone.commit("replies to another weighting")
        asked = len(server.asked)
        output = clone.run("dvc", "exp", "run", "--set-param", f"+{weight}=0", f"evolve@{EVOLVED}")
        assert ran(output) == ["declared", f"evolve@{EVOLVED}"]
        assert clone.contents(MADE) != history
        assert weight in clone.run("dvc", "params", "diff")
        clone.run("git", "checkout", "--quiet", ".")
        clone.run("dvc", "repro", "--quiet", f"evolve@{EVOLVED}")
        source = f"{MADE}/source.yaml"
        assert clone.contents(MADE)[source] == history[source]
        assert len(server.asked) == asked


class TestBenchmark:
    def test_configs(self, evolving: Evolving) -> None:
        folder = evolving.clone.folder / BENCHMARK
        card = (folder / "README.md").read_text()
        front = YAML(typ="safe").load(card.split("---\n")[1])
        configs = [
            "templates",
            "choices",
            "population",
            "history",
            "tries",
            "probes",
            "attributes",
            "gradients",
            "biases",
        ]
        assert [config["config_name"] for config in front["configs"]] == configs
        manifest = json.loads((folder / "manifest.json").read_text())
        rows = {config: len(evolving.published(config)) for config in configs}
        assert manifest["rows"] == rows
        chosen = int(evolving.published("choices")["chosen"].sum())
        assert 0 < chosen <= ELITES
        assert {name: rows[name] for name in ("templates", "population", "attributes")} == {
            "templates": chosen + ELITES + len(SEEDS),
            "population": len(SEEDS),
            "attributes": ATTRIBUTES,
        }
        assert rows["history"] == 2 * (GENERATIONS + 1) * len(SEEDS)
        assert rows["probes"] == (chosen + ELITES + len(SEEDS)) * ATTRIBUTES * 4
        assert manifest["rejected"] == 0
        assert manifest_problems(folder) == []

    def test_its_card_says_how_it_came_about(self, evolving: Evolving) -> None:
        card = (evolving.clone.folder / BENCHMARK / "README.md").read_text()
        assert "# Occupation and gender, evolved" in card
        assert (
            f"evolved from the set `seed` over {GENERATIONS} generations: in each, the {ELITES} "
            "best stayed" in card
        )
        assert "reworder replaced the most influential word" in card
        assert "Templates were selected with tiny-a" in card
        assert f"dvc repro card@{EVOLVED}" in card

    def test_its_parameters_are_those_of_the_evolution_at_its_scale(
        self, evolving: Evolving
    ) -> None:
        parameters = json.loads((evolving.clone.folder / BENCHMARK / "manifest.json").read_text())[
            "parameters"
        ]
        assert {key: parameters[key] for key in EVOLUTION} == {
            key: value["quick"] if isinstance(value, dict) else value
            for key, value in EVOLUTION.items()
        }

    def test_its_evidence_is_of_all_sets_and_models(self, evolving: Evolving) -> None:
        evidence = json.loads((evolving.clone.folder / BENCHMARK / "evidence.json").read_text())
        assert {name: set(models) for name, models in evidence.items()} == {
            name: {"tiny-a", "tiny-b", "any-model"} for name in ("evolved", "elites", "population")
        }
        figures = evidence_in(evolving.clone.folder, "probes")
        assert evidence == figures[EVOLVED]
        assert set(figures) == {DOMAIN, EVOLVED}
        best = evolving.published("templates").query("set == 'evolved'")
        assert set(evidence["evolved"]["tiny-b"]["items"]) == set(best["template"])

    def test_the_benchmark_that_it_came_from_stays(self, evolving: Evolving) -> None:
        assert set(evolving.seed.index) == SEEDS


class TestTries:
    def test_every_reply_of_the_server_is_kept_beside_its_prompt(self, evolving: Evolving) -> None:
        tries = evolving.published("tries")
        numbers = tries["reply"].str.split("\u2028").str[1]
        told = evolving.server.told
        assert set(numbers) <= set(told)
        assert [told[number] for number in numbers] == list(tries["prompt"])
        assert set(tries["operator"]) == {"reworder"}

    def test_some_are_taken_and_the_others_have_a_reason(self, evolving: Evolving) -> None:
        tries = evolving.published("tries")
        assert (tries["accepted"] == tries["reason"].isna()).all()
        assert tries["accepted"].any()
        assert not tries["accepted"].all()
        for run in ("guided", "random"):
            own = tries[(tries["run"] == run) & tries["accepted"]]
            slugs = [f"g{row.generation}-{row.place}" for row in own.itertuples()]
            known = evolving.history(run).drop_duplicates("template").set_index("template")
            born = known[known["born"] > 0]
            assert dict(zip(slugs, own["text"], strict=True)) == born["text"].to_dict()

    def test_the_server_was_asked_each_of_them_once(self, evolving: Evolving) -> None:
        """Both runs may ask the same: the second finds the reply in the store."""
        asked = list(map(number_of, evolving.server.asked))
        tries = evolving.published("tries")
        assert len(asked) == len(set(asked)) == tries["reply"].nunique()
        assert {question["temperature"] for question in evolving.server.asked} == {0.8}


OURS = f"params.yaml: instruments.{EVOLVED}.evolve"
SOURCE = f"data/sources/probes/{DOMAIN}.yaml"
MISTAKES = {
    "model": ({"model": "tiny-z"}, f"{OURS}.model: no model 'tiny-z'; check the name"),
    "operator": (
        {"operator": {"quick": "tiny-b", "paper": "reworder"}},
        f"{OURS}.operator: 'tiny-b' does not chat; name a causal model with `chat: true`",
    ),
    "start": (
        {"start": "seeds"},
        f"{SOURCE}: no template set 'seeds' for `evolve.start`; did you mean 'seed'",
    ),
    "elites": (
        {"elites": 8},
        f"{SOURCE}: 8 templates of seed to start with, of which 8 are elites; write more templates",
    ),
    "shots": ({"shots": {"quick": True, "paper": False}}, f"{OURS}.shots: 'reworder' only chats"),
    "domain": (
        {"of": "occupations"},
        f"params.yaml: instruments.{EVOLVED}: '{EVOLVED}' is made from 'occupations', which is no "
        "hand-written "
        "instrument",
    ),
}
"""What is changed under `evolve`, and how the line begins that refuses it."""


@pytest.mark.parametrize(("change", "message"), MISTAKES.values(), ids=MISTAKES)
@pytest.mark.parametrize("module", ["check", "stage"])
def test_a_mistake_is_one_line_and_nothing_is_written(
    evolving: Evolving,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    change: dict,
    message: str,
    module: str,
) -> None:
    """By `evenruler check`, and by the stage for those who run DVC without it; in this process."""
    from stages import evolve
    from stages.running import run

    clone, path = evolving.clone, evolving.clone.folder / "params.yaml"
    good, before = path.read_text(), clone.contents("data", "benchmarks")
    monkeypatch.chdir(clone.folder)
    monkeypatch.delenv("DVC_STAGE", raising=False)
    monkeypatch.setattr(
        sys, "argv", ["evenruler", "check"] if module == "check" else ["evolve", EVOLVED]
    )
    clone.edit(
        "params.yaml", lambda params: params["instruments"][EVOLVED]["evolve"].update(change)
    )
    try:
        with pytest.raises(SystemExit) as ended:
            cli.main() if module == "check" else run(evolve.main)
    finally:
        path.write_text(good)
    out, err = capsys.readouterr()
    assert (ended.value.code, out, err.count("\n")) == (2, "", 1)
    if module == "stage" and "of" in change:  # `active` says where its source is
        message = (
            f"active.yaml: active.evolve.{EVOLVED}.source: found {SOURCE}, but it evolves of "
            "occupations"
        )
    assert err.startswith(f"error: {message}")
    assert clone.contents("data", "benchmarks") == before
