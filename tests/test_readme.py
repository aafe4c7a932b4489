"""What the README says is so."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np

from evenruler.declared import Declared
from evenruler.evaluate.benchmark import benchmark_at
from evenruler.evaluate.told import lines_of
from evenruler.instruments.registry import room
from evenruler.results.record import Heading
from evenruler.text.numbers import figure_in_words
from tests.results.synthetic import synthetic

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_its_figures_are_those_of_the_benchmark() -> None:
    evidence = json.loads((ROOT / "benchmarks/probes-occupation-gender/evidence.json").read_text())["validation"]
    for model in ("gemma-3-270m", "smollm2-135m-instruct"):
        figures = [figure_in_words(evidence[model][figure], 3) for figure in ("r", "r_exact", "alpha")]
        assert f"| {model} | {' | '.join(figures)} |" in README


def test_its_figures_are_the_target_ones() -> None:
    """Computed apart from this project: Gemma .834, SmolLM2 .804 on 43 occupations with literal articles."""
    evidence = json.loads((ROOT / "benchmarks/probes-occupation-gender/evidence.json").read_text())["validation"]
    for model, expected in (("gemma-3-270m", 0.834), ("smollm2-135m-instruct", 0.804)):
        assert abs(evidence[model]["r"]["value"] - expected) <= 0.005
        assert (evidence[model]["r"]["n"], evidence[model]["r_exact"]["n"]) == (43, 21)


def test_its_graph_is_the_pipeline() -> None:
    """Stage by stage; how many of each there are is in params.yaml."""
    (drawn,) = re.findall(r"```mermaid\n(.*?)```", README, flags=re.S)
    made = subprocess.run(["dvc", "dag", "--mermaid"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    stages = dict(re.findall(r'(node\d+)\["([^"@]+)', made))
    arrows = {(stages[a], stages[b]) for a, b in re.findall(r"(node\d+)-->(node\d+)", made)}
    assert set(re.findall(r"([\w-]+) --> ([\w-]+)", drawn)) == arrows


def loaded(tmp_path: Path, title: str, family: str, **settings: object) -> Any:
    """An example as its family reads it."""
    (example,) = re.findall(rf"```yaml\n(title: {title}.*?)```", README, flags=re.S)
    path = tmp_path / "mine.yaml"
    path.write_text(example)
    declare = room(family, "declare")
    read = declare.Settings.model_validate(settings, context={"scale": "quick"})
    return declare.load(path, read, ROOT / "data/sources" / family / "shared")


def test_its_probes_pass_the_checks(tmp_path: Path) -> None:
    source = loaded(tmp_path, "Age and competence", "probes", embedder="all-minilm-l6-v2")
    assert source.sets["seed"].templates["doubt"].keying == -1


def test_its_questionnaire_passes_the_checks(tmp_path: Path) -> None:
    source = loaded(tmp_path, "Trust", "questionnaires", embedder="all-minilm-l6-v2")
    assert source.items["promises"].terms.inverse == {"break": "break", "go-back-on": "go back on"}


def test_its_contrast_passes_the_checks(tmp_path: Path) -> None:
    source = loaded(tmp_path, "Age in hobbies", "framing")
    assert list(source.tasks["completion"].cells) == ["bare", "salience", "instruction"]
    assert source.tasks["completion"].placebos["salience"].texts[2] == "weather"


def test_its_domain_passes_the_checks(tmp_path: Path) -> None:
    source = loaded(tmp_path, "Trades", "saged", embedder="all-minilm-l6-v2")
    assert source.replacements == {"baker": {"smith": {"baker": "smith"}, "weaver": {"baker": "weaver"}}}


def test_its_instruments_pass_the_checks(tmp_path: Path) -> None:
    (example,) = re.findall(r"```yaml\n(instruments:.*?)```", README, flags=re.S)
    (evolving,) = re.findall(r"```yaml\n  my-domain-evolved:.*?\n(.*?)```", README, flags=re.S)
    path = tmp_path / "params.yaml"
    path.write_text(example.replace("families:", f"  my-domain-evolved:\n{evolving}families:"))
    declared = Declared(path, "quick")
    assert declared.instruments == {"my-domain": "probes", "my-contrast": "framing", "my-domain-evolved": "probes"}
    assert declared.settings("my-contrast").generations == 0
    assert Declared(path, "paper").settings("my-contrast").generations == 10
    assert declared.settings("my-domain").embedder == "all-minilm-l6-v2"
    evolved = declared.settings("my-domain-evolved")
    assert (evolved.evolve.of, evolved.evolve.generations, evolved.made_by) == ("my-domain", 3, "evolve")


def test_its_bias_is_right() -> None:
    from evenruler.instruments.probes import bias

    assert np.allclose(bias([[-20.1, -21.4, -22.9, -23.0]], ["men", "men", "women", "women"]), [2.2])


def test_what_it_shows_of_measuring_is_what_measure_says_of_the_published_figures() -> None:
    """`tests/evaluate` holds that `measure` finds these figures."""
    (shown,) = re.findall(r"```text\n(probes-occupation-gender .*?)```", README, flags=re.S)
    name = "probes-occupation-gender"
    with benchmark_at(name) as benchmark:
        columns = room(benchmark.family, "declare").headings(benchmark.plan)
    evidence = json.loads((ROOT / f"benchmarks/{name}/evidence.json").read_text())
    figures = {part: {"smollm2": models["smollm2-135m-instruct"]} for part, models in evidence.items()}
    base = synthetic("smollm2", benchmark=name, version=benchmark.manifest.version)
    told = base.model_copy(
        update={
            "benchmark": base.benchmark.model_copy(update={"title": benchmark.title}),
            "headings": [Heading(**{key: getattr(one, key) for key in Heading.model_fields}) for one in columns],
            "figures": figures,
        }
    )
    assert shown.splitlines() == list(lines_of(told))
