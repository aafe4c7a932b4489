"""Headlines of a family as a table and as metrics."""

from evenruler.instruments.diagnosing import HEADLINES, as_metrics, headline_table

GAIN = {
    "value": 1.5,
    "low": 1.0,
    "high": 2.0,
    "placebo": 0.4,
    "smallest": 0.7,
    "verdict": "effect",
    "n": 30,
}
OPEN = {
    "value": None,
    "low": None,
    "high": None,
    "placebo": None,
    "smallest": 0.7,
    "verdict": "inconclusive",
}
EVIDENCE = {
    "jobs": {
        "seed": {"tiny": {"gain": GAIN, "alpha": {"value": 0.9}}, "other": {"gain": OPEN}},
        "validation": {"tiny": {"gain": {**GAIN, "value": 2}}},
    },
    "ages": {"seed": {"tiny": {"alpha": {"value": 0.8}}}},
}


def test_the_table_has_figures_with_a_verdict_alone() -> None:
    table = headline_table(EVIDENCE)
    assert list(table.columns) == HEADLINES
    assert table[["benchmark", "part", "model", "figure"]].to_numpy().tolist() == [
        ["jobs", "seed", "tiny", "gain"],
        ["jobs", "seed", "other", "gain"],
        ["jobs", "validation", "tiny", "gain"],
    ]
    assert table["value"].tolist()[0] == 1.5
    assert table["verdict"].tolist() == ["effect", "inconclusive", "effect"]


def test_metrics_are_values_by_benchmark_headline_and_model() -> None:
    assert as_metrics(headline_table({})) == {}
    assert as_metrics(headline_table(EVIDENCE)) == {
        "jobs": {"gain (seed)": {"tiny": 1.5, "other": None}, "gain (validation)": {"tiny": 2.0}}
    }
