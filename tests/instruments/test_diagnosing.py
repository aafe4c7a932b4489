"""Headlines of a family as a table and as metrics."""

from evenruler.instruments.diagnosing import as_metrics, headline_table

ALPHA = {"figure": "alpha", "model": "tiny", "set": "seed", "value": 0.9}
GAIN = {
    **ALPHA,
    "figure": "gain",
    "value": 1.5,
    "bound": 0.7,
    "n": 30,
    "verdict": "detected",
}
WITHOUT_VALUE = {**GAIN, "value": None, "verdict": "inconclusive"}
EVIDENCE = {
    "jobs": [
        ALPHA,
        GAIN,
        {**WITHOUT_VALUE, "model": "other", "method": "mlm"},
        {**GAIN, "set": "validation", "readout": "choice", "value": 2},
    ],
    "ages": [ALPHA],
}


def test_the_table_has_figures_with_a_verdict_alone() -> None:
    table = headline_table(EVIDENCE)
    columns = ["benchmark", "figure", "key", "model"]
    assert table[columns].to_numpy().tolist() == [
        ["jobs", "gain", "set=seed", "tiny"],
        ["jobs", "gain", "set=seed", "other (mlm)"],
        ["jobs", "gain", "set=validation,readout=choice", "tiny"],
    ]
    assert table["value"].tolist()[0] == 1.5
    assert table["verdict"].tolist() == ["detected", "inconclusive", "detected"]


def test_metrics_are_values_by_benchmark_model_figure_and_dimensions() -> None:
    assert as_metrics(headline_table({})) == {}
    assert as_metrics(headline_table(EVIDENCE)) == {
        "jobs": {
            "tiny": {"gain": {"set=seed": 1.5, "set=validation,readout=choice": 2.0}},
            "other (mlm)": {"gain": {"set=seed": None}},
        }
    }
