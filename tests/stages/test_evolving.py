"""The benchmark of templates that evolve, by the real DVC, and mistakes in what declares it."""

import json
from itertools import product
from pathlib import Path

import pytest

from evenruler.publish.manifest import manifest_problems
from tests.figures import select_figures
from tests.loopback_openai import running
from tests.stages.conftest import UP_TO_DATE, ran
from tests.stages.evolving import (
    ATTRIBUTES,
    BENCHMARK,
    ELITES,
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


def test_everything_is_there_and_a_second_repro_does_nothing(evolving: Evolving) -> None:
    assert UP_TO_DATE in evolving.clone.run("dvc", "status")
    n_asked = len(evolving.server.asked)
    assert ran(evolving.clone.run("dvc", "repro")) == []
    assert len(evolving.server.asked) == n_asked > 0
    assert not [
        path for path in evolving.clone.contents("data", "benchmarks") if ".partial" in path
    ]
    assert b"secret-word" not in b"".join(
        evolving.clone.contents("data", "benchmarks", ".dvc/cache").values()
    )


class TestBenchmark:
    def test_configs(self, evolving: Evolving) -> None:
        folder = evolving.clone.folder / BENCHMARK
        manifest = json.loads((folder / "manifest.json").read_text())
        rows = manifest["rows"]
        assert rows == {config: len(evolving.published(config)) for config in rows}
        n_chosen = int(evolving.published("choices")["chosen"].sum())
        assert 0 < n_chosen <= ELITES
        n_templates = n_chosen + ELITES + len(SEEDS)
        n_evolved = 2 * (GENERATIONS + 1) * len(SEEDS)
        expected = {
            "templates": n_templates,
            "population": len(SEEDS),
            "attributes": ATTRIBUTES,
            "history": n_evolved,
            "probes": n_templates * ATTRIBUTES * 4,
        }
        assert rows | expected == rows
        assert manifest["rejected"] == 0
        assert manifest_problems(folder) == []

    def test_its_evidence_is_of_all_sets_and_models(self, evolving: Evolving) -> None:
        evidence = json.loads((evolving.clone.folder / BENCHMARK / "evidence.json").read_text())
        rows = evidence["figures"]
        sets, models = ("evolved", "elites", "population"), ("tiny-a", "tiny-b", None)
        by_set_and_model = {(row["set"], row["model"]) for row in rows}
        assert by_set_and_model == set(product(sets, models))
        best = evolving.published("templates").query("set == 'evolved'")
        evolved = select_figures(rows, set="evolved", model="tiny-b")
        assert {row["template"] for row in evolved if "template" in row} == set(best["template"])


class TestTries:
    def test_every_reply_of_the_server_is_kept_beside_its_prompt(self, evolving: Evolving) -> None:
        tries = evolving.published("tries")
        numbers = tries["reply"].str.split("\u2028").str[1]
        prompt_by_number = evolving.server.prompt_by_number
        assert set(numbers) <= set(prompt_by_number)
        assert [prompt_by_number[number] for number in numbers] == list(tries["prompt"])
        assert set(tries["operator"]) == {"reworder"}

    def test_the_server_was_asked_each_of_them_once(self, evolving: Evolving) -> None:
        """Both runs may ask the same: the second finds the reply in the store."""
        question_numbers = list(map(number_of, evolving.server.asked))
        tries = evolving.published("tries")
        assert len(question_numbers) == len(set(question_numbers)) == tries["reply"].nunique()
        assert {question["temperature"] for question in evolving.server.asked} == {0.8}


@pytest.mark.long
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
        n_asked = len(server.asked)
        output = clone.run("dvc", "exp", "run", "--set-param", f"+{weight}=0", f"evolve@{EVOLVED}")
        assert ran(output) == ["declared", f"evolve@{EVOLVED}"]
        assert clone.contents(MADE) != history
        assert weight in clone.run("dvc", "params", "diff")
        clone.run("git", "checkout", "--quiet", ".")
        clone.run("dvc", "repro", "--quiet", f"evolve@{EVOLVED}")
        source = f"{MADE}/source.yaml"
        assert clone.contents(MADE)[source] == history[source]
        assert len(server.asked) == n_asked
