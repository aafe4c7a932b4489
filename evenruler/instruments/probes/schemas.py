"""Columns of the tables of the probes family."""

import pyarrow as pa

from evenruler.tables.schemas import COMMON, figures_of, required

PROBES = pa.schema(
    [
        *COMMON,
        required("set", pa.string()),
        required("template", pa.string()),
        required("keying", pa.int8()),
        required("attribute", pa.string()),
        required("group", pa.string()),
        required("pole", pa.int8()),
        required("target", pa.string()),
        required("text", pa.string()),
    ]
)
"""One row a sentence. `pole`: +1 for the group that a positive bias is closer to, -1 for the other."""

FRAMED = pa.schema([*PROBES, required("before", pa.string())])
"""One row a sentence and framing. `before`: what the sentence stands after; it is scored given these words."""

TEMPLATES = pa.schema(
    [
        *COMMON,
        required("set", pa.string()),
        required("template", pa.string()),
        required("keying", pa.int8()),
        required("text", pa.string()),
    ]
)
"""One row a template. `keying`: -1 where a higher likelihood means less association."""

ATTRIBUTES = pa.schema(
    [
        *COMMON,
        required("attribute", pa.string()),
        required("word", pa.string()),
        pa.field("criterion", pa.float64()),
        pa.field("criterion_label", pa.string()),
        required("match", pa.string()),
    ]
)
"""One row an attribute. `criterion`: the published number, null where there is none (`match` says so)."""

REJECTED = pa.schema([*PROBES, required("reason", pa.string())])
"""Sentences that were left out, and why."""

_CELL = [
    required("benchmark", pa.string()),
    required("set", pa.string()),
    required("model", pa.string()),
    required("lineage", pa.string()),
    required("configuration", pa.string()),
    required("framing", pa.string()),
    required("variant", pa.string()),
]

BIASES = pa.schema(
    [
        *_CELL,
        required("template", pa.string()),
        required("attribute", pa.string()),
        required("keying", pa.int8()),
        required("bias", pa.float64()),
    ]
)
"""One row per template, attribute and model: equation 1 in nats, its sign changed where keying is -1."""

ASSOCIATIONS = pa.schema(
    [
        *_CELL,
        required("attribute", pa.string()),
        required("word", pa.string()),
        required("bias", pa.float64()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        required("n", pa.int64()),
        pa.field("criterion", pa.float64()),
        required("match", pa.string()),
    ]
)
"""One row per attribute and model: mean bias over n templates (nats), with its interval over templates."""

ITEMS = pa.schema(
    [
        *_CELL,
        required("template", pa.string()),
        required("mean", pa.float64()),
        pa.field("sd", pa.float64()),
        pa.field("item_rest_correlation", pa.float64()),
        pa.field("alpha_if_removed", pa.float64()),
        pa.field("semantic_diversity", pa.float64()),
        pa.field("lexical_diversity", pa.float64()),
    ]
)
"""One row per template and model: bias over attributes (nats), and what the template adds to its set."""

CORRELATIONS = pa.schema(
    [
        *_CELL,
        required("template", pa.string()),
        required("other", pa.string()),
        pa.field("correlation", pa.float64()),
    ]
)
"""One row per pair of templates and model: Pearson correlation of their biases over attributes."""

FIGURES = figures_of("set")
"""One row per figure of quality. `unit`: what n counts. `reason`: why a value is null."""
