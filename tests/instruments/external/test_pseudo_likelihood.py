"""A masked model on a benchmark of pairs: asked by `pll`, which its result says, and never compared
with a model that gives likelihoods."""

from dataclasses import replace
from pathlib import Path

import pytest

from evenruler.evaluate.measure import measure
from evenruler.instruments.external import ask, declare
from evenruler.instruments.instrument import ModelMeta, with_method
from evenruler.measurement.figures import dimensions_of, model_label
from evenruler.models import load
from evenruler.results.comparison import compare
from evenruler.results.store import StoredResult, read_all
from tests.figures import find_figure
from tests.instruments.external import made
from tests.instruments.external.test_folder import rows_of, written
from tests.tiny import save_tiny, tiny_params
from tests.tiny_masked import save_tiny_bert

MASKED = replace(made.SUBJECT, kind="masked", operations=frozenset(("pll", "in_place")))
EVERYTHING = replace(made.SUBJECT, operations=frozenset(("pll", "loglikelihood")))


def operations(subject: ModelMeta, tmp_path: Path) -> set[tuple[str, str]]:
    built = made.build(tmp_path, "stereoset")
    requests = ask.requests(made.frames(built), built.plan, {}, subject)
    return {(request.table, request.operation) for request in requests}


class TestWhatIsAsked:
    def test_pll_only_of_a_model_that_gives_no_likelihoods(self, tmp_path) -> None:
        assert operations(MASKED, tmp_path) == {("likelihoods", "pll")}
        likelihoods = {("likelihoods", "loglikelihood"), ("starts", "loglikelihood")}
        assert operations(EVERYTHING, tmp_path) == likelihoods
        by_pll = replace(EVERYTHING, kind="masked", method="pll")
        assert operations(by_pll, tmp_path) == {("likelihoods", "pll")}
        neither = replace(made.SUBJECT, operations=frozenset(("generate",)))
        assert operations(neither, tmp_path) == set()

    def test_is_the_method_that_a_result_says(self) -> None:
        assert with_method(ask.METHODS, MASKED).method == "pll"
        assert with_method(ask.METHODS, made.SUBJECT).method is None
        assert ask.method_dimension(MASKED) == "pll"
        assert ask.method_dimension(made.SUBJECT) is None

    def test_the_pipeline_takes_masked_models(self, tmp_path) -> None:
        for kind, is_taken in (("masked", True), ("causal", True), ("nli", False)):
            catalogue = tiny_params({"tiny": tmp_path}, kind=kind)
            assert declare.takes(catalogue, "tiny") is is_taken


def test_a_model_that_prefers_first_texts_leans_by_pll(tmp_path) -> None:
    """Figures are those of likelihoods, under another name."""
    built = made.build(tmp_path, "pairs")
    scores = made.scores(built, lambda row: float(row["role"] == "first"), subject=MASKED)
    tables = made.diagnosed(built, scores, MASKED)
    share = made.find_row(tables["figures"], "share", method="pll")
    assert (share["value"], model_label(share.to_dict())) == (1.0, "made (pll)")
    for table in ("figures", "headlines"):
        assert set(tables[table]["method"]) == {"pll"}
    start = made.find_row(tables["figures"], "start_flips", method="pll")
    assert start["reason"] == "a masked model reads a text from both sides"


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, StoredResult]:
    """Results of two tiny masked models and a causal one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    folder = written(tmp_path, prefixes={"placebos": []})
    models = {
        "one": save_tiny_bert(tmp_path / "one"),
        "two": save_tiny_bert(tmp_path / "two", seed=1),
        "left": save_tiny(tmp_path / "left"),
    }
    for path in models.values():
        measure(f"local:{path}", folder, out="results")
    return {name: read_all(f"results/{name}")[0] for name in models}


def test_a_result_says_pll_and_is_compared_with_its_like(results, tmp_path) -> None:
    bert, other, causal = (results[name] for name in ("one", "two", "left"))
    assert (bert.result.settings.method, causal.result.settings.method) == ("pll", None)
    assert bert.result.folder.endswith("+pll")
    lean = next(row for row in bert.result.figures if row["figure"] == "lean")
    assert dimensions_of(lean) == {"method": "pll"}

    pairs = rows_of(tmp_path / "external-made").pivot(index="item", columns="role", values="text")
    model = load("one", tiny_params({"one": tmp_path / "one"}, kind="masked"))
    first = model.pll(pairs["first"].tolist()).nats
    second = model.pll(pairs["second"].tolist()).nats
    share = find_figure(bert.result.figures, figure="share", bias_type=None)
    assert share["value"] == pytest.approx((first > second).mean(), abs=5e-4)
    assert 0 < share["value"] < 1

    alike = compare([bert, other]).iloc[0]
    assert alike["difference"] is not None
    mixed = compare([bert, causal])
    assert set(mixed["verdict"]) == {"inconclusive"}
    assert mixed["difference"].isna().all()
    assert set(mixed["reason"]) == {
        "one was asked by pll, left was asked by the usual method: two methods measure different "
        "quantities"
    }
