"""Tasks of lm-evaluation-harness on our models: its own metrics exactly, and intervals over units
by hand."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenruler import cli
from evenruler.errors import UserError
from evenruler.evaluate import lm_eval_tasks
from evenruler.evaluate.lm_eval_tasks import jackknife_metric
from evenruler.models.answer_logs.reading import read_log
from evenruler.models.catalogue import load_model
from evenruler.models.store import RowStore
from tests.lm_eval_run import lm_eval
from tests.tiny import save_tiny, tiny_params

CODE = """
def process_results(doc, results):
    (first, _), (second, _), *_ = results
    difference = abs(first - second)
    return {"acc": float(first > second), "difference": difference, "ratio": (first, second)}

def ratio(items):
    return sum(first for first, _ in items) / sum(second for _, second in items)
"""

TASK = """task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: "{rows}"}}}}
test_split: test
output_type: {kind}
doc_to_text: "{{{{context}}}}"
doc_to_target: {target}
{more}
"""

CHOICE = """num_fewshot: 2
fewshot_split: test
doc_to_choice: "{{[first, second]}}"
metric_list: [{metric: acc}, {metric: acc_norm}]
"""

OWN = """doc_to_choice: "{{[first, second]}}"
process_results: !function code.process_results
metric_list:
  - {metric: acc, aggregation: mean, higher_is_better: true}
  - {metric: difference, aggregation: mean, higher_is_better: false}
  - {metric: ratio, aggregation: !function code.ratio, higher_is_better: false}
"""

WORDS = ("idle", "kind", "loud", "here", "tired")


def document(number: int, kind: str) -> dict[str, Any]:
    row = {
        "writer": f"w{number % 5}",
        "context": f"They met {number} of them.",
        "first": f"The old are {WORDS[number % 5]}.",
        "second": f"The new are {WORDS[(number + 1) % 5]}.",
        "label": number % 2,
    }
    if kind == "generate_until":
        row["choices"] = [row["first"], row["second"]]
    elif number % 2 == 0:
        row["context"] = ""
    return row


def task(
    folder: Path, name: str, more: str, kind: str = "multiple_choice", target: str = "label"
) -> Path:
    """A task of 20 documents by five writers, in the folder `lm_eval` as benchmarks have it."""
    place = folder / "lm_eval"
    place.mkdir(exist_ok=True)
    rows = place / "rows.jsonl"
    documents = [document(number, kind) for number in range(20)]
    rows.write_text("".join(json.dumps(row) + "\n" for row in documents))
    (place / "code.py").write_text(CODE)
    path = place / f"{name}.yaml"
    path.write_text(TASK.format(name=name, rows=rows, kind=kind, target=target, more=more))
    return path


def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *words: str
) -> tuple[int, str, str]:
    monkeypatch.setattr(sys, "argv", ["evenruler", "measure", *words])
    with pytest.raises(SystemExit) as ended:
        cli.main()
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_metrics_are_those_of_the_harness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shares exactly, likelihoods to 1e-4; from its log, too; and what is printed."""
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    paths = {"plain": task(tmp_path, "plain", CHOICE), "own": task(tmp_path, "own", OWN)}
    folder = save_tiny(tmp_path / "tiny")
    arguments = (
        "--log_samples",
        "--model_args",
        f"pretrained={folder},dtype=float32,add_bos_token=True",
    )
    theirs = lm_eval(
        folder,
        tmp_path,
        "plain,own",
        tmp_path / "run",
        *arguments,
    )["results"]
    model = load_model(
        "tiny",
        tiny_params({"tiny": folder}),
        store=RowStore(tmp_path / "cache"),
    )
    nats: dict[str, Any] = {}
    for name, path in paths.items():
        (loaded,) = lm_eval_tasks._load_tasks(str(path))
        nats[name] = lm_eval_tasks.measure_task(model, loaded, "writer", None)
        for metric, (value, low, high, _) in nats[name].items():
            assert value == pytest.approx(
                theirs[name][metric], abs=0 if "acc" in metric else 1e-4
            ), metric
            assert low <= value <= high
        (samples,) = (tmp_path / "run").rglob(f"samples_{name}_*.jsonl")
        status, out, err = run(
            monkeypatch, capsys, f"recorded:{samples}", "--with", f"lm_eval:{path}", "--name", "log"
        )
        assert status == 0, err
        assert f"    acc,none  {theirs[name]['acc,none']:.3f} [" in out
    assert set(nats["own"]) == {"acc,none", "difference,none", "ratio,none"}
    assert theirs["plain"]["acc,none"] not in (0, 1)

    both = [f"--with=lm_eval:{paths[name]}" for name in ("own", "plain")]
    words = (f"local:{folder}", *both, "--unit", "writer")
    status, out, err = run(monkeypatch, capsys, *words)
    assert status == 0, err
    value, low, high, effect = nats["own"]["difference,none"]
    assert "lm_eval:own (a unit is writer) on tiny" in out
    interval = f"{value:.3f} [{low:.3f}, {high:.3f}]"
    assert f"    difference,none  {interval}, design effect {effect:.1f}" in out
    assert (
        out.count("  No verdict: a task says no roles of texts, no unit and no neutral value.") == 2
    )
    assert not (tmp_path / "results").exists()


REFUSED = {
    "writes": (
        "generate_until",
        "first",
        "metric_list: [{metric: exact_match}]",
        "writes is of type generate_until",
    ),
    "rolls": (
        "loglikelihood_rolling",
        "first",
        "metric_list: [{metric: word_perplexity}]",
        "loglikelihood_rolling",
    ),
    "greedy": (
        "loglikelihood",
        "first",
        "metric_list: [{metric: acc}]",
        "of type loglikelihood with the metrics acc",
    ),
    "exact": (
        "multiple_choice",
        "label",
        CHOICE.replace("acc_norm", "exact_match"),
        "with the metrics acc, exact_match",
    ),
    "fails": (
        "multiple_choice",
        "label",
        OWN.replace("code.process_results", "code.ratio"),
        "its code fails (TypeError",
    ),
    "cut": ("multiple_choice", "label", "metric_list: [", "it does not load ("),
}


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.filterwarnings("ignore")
def test_what_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In one line each; what is wrong with one stops none of the others."""
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    model = f"local:{save_tiny(tmp_path / 'tiny')}"
    for name, (kind, target, more, message) in REFUSED.items():
        path = task(tmp_path, name, more, kind, target)
        status, out, err = run(
            monkeypatch,
            capsys,
            model,
            "--with",
            f"lm_eval:{path}",
        )
        (line,) = [line for line in err.splitlines() if line.startswith("error: ")]
        assert (status, out) == (2, "")
        assert message in line
    good = task(tmp_path, "good", CHOICE)
    status, out, err = run(
        monkeypatch, capsys, model, "--with", "lm_eval:no.yaml", "--with", f"lm_eval:{good}"
    )
    assert status == 2
    assert "lm_eval:no.yaml: it does not load (KeyError: " in err
    assert "check its name or file, or get its data; the others were measured" in err
    assert "acc_norm,none" in out
    status, out, err = run(
        monkeypatch, capsys, model, "--with", f"lm_eval:{good}", "--unit", "author"
    )
    assert (status, out) == (2, "")
    assert (
        "--unit: document 0 has no 'author'; say one of context, first, label, second, writer"
        in err
    )


def test_without_the_harness(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "lm_eval.tasks", None)
    with pytest.raises(UserError) as raised:
        lm_eval_tasks._load_tasks("crows_pairs")
    assert str(raised.value).startswith(
        "lm_eval:crows_pairs: it does not load (ModuleNotFoundError: "
    )
    assert str(raised.value).endswith("; pip install 'evenruler[harness]'")


def mean(items: list[float]) -> float:
    return sum(items) / len(items)


def test_intervals_over_units() -> None:
    """Of a mean of units of one size, the interval is t's of their means; where each unit is alike,
    it is wide."""
    from scipy import stats

    values = np.array(
        [
            [0.0, 0, 0, 1],
            [1, 1, 1, 1],
            [0, 0, 0, 0],
            [1, 1, 0, 1],
            [0, 1, 0, 0],
            [1, 1, 1, 0],
        ]
    )
    units = sorted("abcdef" * 4)
    value, low, high, effect = jackknife_metric(mean, units, values.ravel().tolist())
    means = values.mean(axis=1)
    half = stats.t.ppf(0.975, 5) * stats.sem(means)
    assert value == pytest.approx(0.5)
    assert (value - low, high - value) == pytest.approx((half, half))
    of_four = values.var(ddof=1) / 4
    assert effect == pytest.approx(means.var(ddof=1) / of_four)
    assert effect > 2


def test_no_interval_of_few_units_of_equal_values_and_of_what_is_undefined_without_one() -> None:
    def of_two(items: list[float]) -> float:
        return 1 / (sum(items) - 1)

    for arguments in (
        (mean, list("abcd"), [0.0, 1, 0, 1]),
        (mean, list("abcdef"), [1.0] * 6),
        (of_two, list("abcdef"), [1.0, 0, 0, 0, 0, 1]),
    ):
        value, *rest = jackknife_metric(*arguments)
        assert value in (0.5, 1)
        assert np.isnan(rest).all()


def test_very_many_units_are_left_out_in_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """With as many groups as units nothing changes; with fewer the interval is about as wide."""
    rng = np.random.default_rng(1)
    values = rng.normal(size=400).tolist()
    units = [str(number) for number in range(400)]
    whole = jackknife_metric(mean, units, values)
    monkeypatch.setattr(lm_eval_tasks, "MOST_VALUES", 40_000)
    grouped = jackknife_metric(mean, units, values)
    assert grouped[0] == whole[0]
    width, width_of_whole = (high - low for _, low, high, _ in (grouped, whole))
    assert 0.8 < width / width_of_whole < 1.25
    assert grouped != whole


WRITES = """doc_to_choice: "{{[first, second]}}"
generation_kwargs: {until: ["\\\\n\\\\n"], max_gen_toks: 4}
repeats: 1
metric_list: [{metric: exact_match}]
"""


@pytest.mark.slow
@pytest.mark.long
def test_replies_in_a_log_of_the_harness(tmp_path: Path) -> None:
    """As it writes them: a reply to each of 20 documents, by the prompt."""
    task(tmp_path, "writes", WRITES, "generate_until")
    folder = save_tiny(tmp_path / "tiny")
    lm_eval(folder, tmp_path, "writes", tmp_path / "run", "--log_samples")
    (samples,) = (tmp_path / "run").rglob("samples_writes_*.jsonl")
    replies = read_log(samples).replies
    assert replies is not None
    rows = [json.loads(line) for line in samples.read_text().splitlines()]
    prompts = {row["doc"]["context"]: row["resps"][0][0] for row in rows}
    assert {prompt: replied.written for prompt, replied in replies.items()} == prompts
    assert replies["They met 5 of them."].options == ("The old are idle.", "The new are kind.")
