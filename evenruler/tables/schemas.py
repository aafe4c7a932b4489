"""Columns that several families share."""

import pyarrow as pa


def required(name: str, kind: pa.DataType) -> pa.Field:
    """A column without nulls."""
    return pa.field(name, kind, nullable=False)


COMMON = [
    required("id", pa.string()),
    required("content_sha256", pa.string()),
    required("variant", pa.string()),
    required("framing", pa.string()),
    required("source", pa.string()),
    required("licence", pa.string()),
]
"""The columns that every published row carries."""

BARE = "bare"
"""The framing of a row that nothing is wrapped around."""

SCORES = pa.schema(
    [
        required("id", pa.string()),
        required("model", pa.string()),
        required("lineage", pa.string()),
        required("configuration", pa.string()),
        required("framing", pa.string()),
        required("measure", pa.string()),
        required("value", pa.float64()),
        required("n_tokens", pa.int64()),
    ]
)
"""One row per probe and measure of one model. `loglikelihood`: nats of the whole sentence, raw sum."""

LOG_PROBABILITY = "log_probability"
"""The measure of answers that are no logits of entailment."""

ANSWERS = pa.schema([field for field in SCORES if field.name != "n_tokens"])
"""One row per prompt, model, configuration and measure, of answers that have no length. Configurations `head` and
`verbaliser`: logits of entailment, neutral and contradiction. `clm` and `mlm`: `log_probability` of the intensifier in
its place, mean nats a token."""


WHOLE = "all"
"""The part of figures that is the whole instrument, the subscale that is the whole scale."""


def figures_of(part: str) -> pa.Schema:
    """Columns of figures of quality; `part` names the column that says which part of a benchmark one is of."""
    return pa.schema(
        [
            required("benchmark", pa.string()),
            required(part, pa.string()),
            pa.field("model", pa.string()),
            required("figure", pa.string()),
            pa.field("value", pa.float64()),
            pa.field("low", pa.float64()),
            pa.field("high", pa.float64()),
            pa.field("p", pa.float64()),
            required("n", pa.int64()),
            required("unit", pa.string()),
            pa.field("reason", pa.string()),
            pa.field("control", pa.float64()),
            pa.field("difference_low", pa.float64()),
            pa.field("difference_high", pa.float64()),
            pa.field("bound", pa.float64()),
            pa.field("p_adjusted", pa.float64()),
            pa.field("verdict", pa.string()),
            pa.field("why", pa.string()),
        ]
    )


UNITS = pa.schema(
    [
        required("part", pa.string()),
        required("model", pa.string()),
        required("figure", pa.string()),
        required("statistic", pa.string()),
        required("unit", pa.string()),
        required("rows", pa.string()),
        required("value", pa.float64()),
        pa.field("beside", pa.float64()),
    ]
)
"""What figures are made of, a row each unit (an attribute, an item, a root item): a figure is `statistic` (`mean`,
`sd`, `correlation`, `slope`) of `value` over the units of its part, of the last two with `beside`. `rows` is a hash of
the published rows that a unit rests on (`evenruler.tables.units.rows_of`): units of two results are the same where it
is."""
