"""What the README says is so."""

import json
import re
import subprocess
from pathlib import Path

import numpy as np

from evenruler.text.numbers import figure_in_words

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


def test_its_domain_passes_the_checks(tmp_path: Path) -> None:
    from evenruler.instruments.probes.settings import ProbeSettings
    from evenruler.instruments.probes.source import load_probe_source

    (example,) = re.findall(r"```yaml\n(title: Age and competence.*?)```", README, flags=re.S)
    path = tmp_path / "my-domain.yaml"
    path.write_text(example)
    source = load_probe_source(path, ProbeSettings())
    assert source.sets["seed"].templates["doubt"].keying == -1


def test_its_questionnaire_passes_the_checks(tmp_path: Path) -> None:
    from evenruler.instruments.questionnaires.source import load_questionnaire

    (example,) = re.findall(r"```yaml\n(title: Trust.*?)```", README, flags=re.S)
    path = tmp_path / "my-scale.yaml"
    path.write_text(example)
    source, _ = load_questionnaire(path, ROOT / "data/sources/scales")
    assert source.items["promises"].terms.inverse == {"break": "break", "go-back-on": "go back on"}


def test_its_contrast_passes_the_checks(tmp_path: Path) -> None:
    from evenruler.instruments.framing.settings import ContrastSettings
    from evenruler.instruments.framing.source import load_contrast

    (example,) = re.findall(r"```yaml\n(title: Age in hobbies.*?)```", README, flags=re.S)
    path = tmp_path / "my-contrast.yaml"
    path.write_text(example)
    assert list(load_contrast(path, ContrastSettings()).tasks["completion"].cells) == ["- -", "+ -", "- +"]


def test_its_bias_is_right() -> None:
    from evenruler.instruments.probes.biases import bias

    assert np.allclose(bias([[-20.1, -21.4, -22.9, -23.0]], ["men", "men", "women", "women"]), [2.2])
