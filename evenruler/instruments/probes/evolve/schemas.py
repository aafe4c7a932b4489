"""Columns of the tables of an evolution."""

import pyarrow as pa

from evenruler.tables.schemas import COMMON, figures_of, required

_LINEAGE = [
    required("run", pa.string()),
    required("generation", pa.int16()),
    required("place", pa.int16()),
    required("template", pa.string()),
    required("text", pa.string()),
    required("keying", pa.int8()),
    required("born", pa.int16()),
    pa.field("parent", pa.string()),
    pa.field("operation", pa.string()),
    pa.field("voice", pa.string()),
    pa.field("word", pa.string()),
]

_FITNESS = [
    required("elite", pa.bool_()),
    required("fitness", pa.float64()),
    required("alpha_contribution", pa.float64()),
    required("gradient_focus", pa.float64()),
    required("semantic_diversity", pa.float64()),
    required("lexical_diversity", pa.float64()),
    required("alpha_part", pa.float64()),
    required("gradient_part", pa.float64()),
    required("semantic_part", pa.float64()),
    required("lexical_part", pa.float64()),
    pa.field("hotspot", pa.string()),
    required("acceptability", pa.float64()),
    required("sentences", pa.int64()),
]

HISTORY = pa.schema([*COMMON, *_LINEAGE, *_FITNESS])
"""One row per run, generation and template. `run`: `guided`, or `random` where any word was replaced (ablation);
`place`: by fitness, from 1; `*_part`: what each part adds to `fitness`, normalised and weighted; `sentences`: asked of
the model for the template, in the generation that it came in, else 0."""

GRADIENTS = pa.schema(
    [
        required("run", pa.string()),
        required("template", pa.string()),
        required("place", pa.int16()),
        required("begin", pa.int32()),
        required("word", pa.string()),
        required("gradient", pa.float64()),
    ]
)
"""One row per word of a template of any generation; `begin`: where it begins in the template."""

BIASES = pa.schema(
    [
        required("run", pa.string()),
        required("template", pa.string()),
        required("attribute", pa.string()),
        required("bias", pa.float64()),
    ]
)
"""One row per template of any generation and attribute, on the model that it evolved on; signed by keying, nats."""

TRIES = pa.schema(
    [
        *COMMON,
        required("run", pa.string()),
        required("generation", pa.int16()),
        required("place", pa.int16()),
        required("attempt", pa.int16()),
        required("sample", pa.int16()),
        required("parent", pa.string()),
        required("operation", pa.string()),
        pa.field("voice", pa.string()),
        pa.field("word", pa.string()),
        required("operator", pa.string()),
        required("prompt", pa.string()),
        required("reply", pa.string()),
        pa.field("text", pa.string()),
        required("accepted", pa.bool_()),
        pa.field("reason", pa.string()),
    ]
)
"""One row a reply of the operator. `text`: the template that it holds, null where it holds none."""

REWORDINGS = pa.schema(
    [
        required("benchmark", pa.string()),
        required("run", pa.string()),
        required("operator", pa.string()),
        required("operation", pa.string()),
        pa.field("voice", pa.string()),
        pa.field("reason", pa.string()),
        required("n", pa.int64()),
        pa.field("share", pa.float64()),
    ]
)
"""One row per kind of wish and what became of replies to it; `reason` is null where they were taken, `share` where they
were not judged."""

GENERATIONS = figures_of("run").insert(2, required("generation", pa.int16()))
"""One row per figure of a whole population; the model is the one that it evolved on."""

COMPARISONS = pa.schema(
    [
        required("benchmark", pa.string()),
        required("model", pa.string()),
        required("transfer", pa.bool_()),
        required("set", pa.string()),
        required("against", pa.string()),
        required("figure", pa.string()),
        pa.field("value", pa.float64()),
        pa.field("other", pa.float64()),
        pa.field("difference", pa.float64()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        required("n", pa.int64()),
        required("unit", pa.string()),
        pa.field("reason", pa.string()),
    ]
)
"""One row per figure, model and pair of sets: an evolved one against another. `transfer`: not the model it evolved
on. `low`, `high`: of the difference, over attributes that both share; null where the figure has no interval."""
