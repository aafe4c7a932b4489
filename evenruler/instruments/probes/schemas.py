"""Columns of the tables of the probes family, and names in them that several rooms speak of."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from evenruler.tables.ids import row_id
from evenruler.tables.schemas import COMMON, figures_of, required

CHOSEN, ELITES, POPULATION = "evolved", "elites", "population"
"""The template sets of what evolved: chosen as a set out of all that were measured; the best of the last population,
each by itself, as the paper has it; and the whole last population."""

GUIDED, RANDOM = "guided", "random"
"""Runs of an evolution: which words are replaced, the hotspots or any (ablation)."""

UNREVERSED, BEST_START = "start without reversed items", "best subset of the start"
"""What evolved sets are held against that costs no evolution."""

HELD_OUT = "held out"
"""Of comparisons in which one half of the attributes chose the sets, and the other judges them."""

OUTDONE = "another reply was more acceptable"
"""The reason of replies that keep every rule, where another one to the same wish was taken."""

SEMANTIC, LEXICAL = "semantic_diversity", "lexical_diversity"
"""Of a template among those it stands with, whatever model is asked: columns, measures and figures."""

PROBES = pa.schema(
    [
        *COMMON,
        required("set", pa.string()),
        required("template", pa.string()),
        required("keying", pa.int8()),
        required("control", pa.bool_()),
        required("attribute", pa.string()),
        required("group", pa.string()),
        required("pole", pa.int8()),
        required("target", pa.string()),
        required("text", pa.string()),
    ]
)
"""One row a sentence. `pole`: +1 for the group that a positive bias is closer to, -1 for the other."""


def sentence_id(name: str, row: Mapping[Any, Any], framing: str) -> str:
    """The id of a sentence, as it is or after a prefix.

    Args:
        name: Of the instrument.
        row: By `PROBES`.
        framing: `BARE`, or the prefix.
    """
    identity = {key: row[key] for key in ("set", "template", "attribute", "target", "variant")}
    return row_id(family="probes", benchmark=name, framing=framing, **identity)


TEMPLATES = pa.schema(
    [
        *COMMON,
        required("set", pa.string()),
        required("template", pa.string()),
        required("keying", pa.int8()),
        required("control", pa.bool_()),
        required("text", pa.string()),
    ]
)
"""One row a template. `keying`: -1 where a higher likelihood means less association; `control`: it stays out of
scores."""

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
        required("centred", pa.float64()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        required("n", pa.int64()),
        pa.field("criterion", pa.float64()),
        required("match", pa.string()),
    ]
)
"""One row per attribute and model: mean bias over n templates (nats). `centred`: beyond what every template gives to
all attributes, with its interval over templates (null below five)."""

ITEMS = pa.schema(
    [
        *_CELL,
        required("template", pa.string()),
        required("control", pa.bool_()),
        required("mean", pa.float64()),
        pa.field("sd", pa.float64()),
        pa.field("item_rest_correlation", pa.float64()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("alpha_if_removed", pa.float64()),
        pa.field("semantic_diversity", pa.float64()),
        pa.field("lexical_diversity", pa.float64()),
    ]
)
"""One row per template and model: bias over attributes (nats), and what the template adds to its set; a control, which
stays out of scores, is held against all of it. `low`, `high`: of the correlation."""

CORRELATIONS = pa.schema(
    [
        *_CELL,
        required("template", pa.string()),
        required("other", pa.string()),
        pa.field("correlation", pa.float64()),
    ]
)
"""One row per pair of templates and model: Pearson correlation of their biases over attributes."""

VARIANCES = pa.schema([*_CELL, required("effect", pa.string()), required("variance", pa.float64())])
"""One row per part of the variance and model, square nats: of the bias for attributes, templates and both, of scores
within a group for what has targets in it. One below 0 is lost in noise."""

CURVE = pa.schema(
    [
        *_CELL,
        required("templates", pa.int64()),
        required("targets", pa.int64()),
        pa.field("coefficient", pa.float64()),
    ]
)
"""One row per model and size of a set: generalizability to expect of so many templates and targets of a group."""

SHIFTS = pa.schema(
    [
        *_CELL,
        required("prefix", pa.string()),
        required("placebo", pa.bool_()),
        required("level", pa.float64()),
        pa.field("level_in_sd", pa.float64()),
        required("reordering", pa.float64()),
        pa.field("reordering_in_sd", pa.float64()),
        pa.field("rank_agreement", pa.float64()),
        required("n", pa.int64()),
    ]
)
"""One row per prefix and model: mean change of the biases (nats), the SD of the changes about it, both also in standard
deviations of the biases without it; `rank_agreement`: Spearman of the biases without and with it."""

FIGURES = figures_of("part")
"""One row per figure of quality; `part`: the set of templates. `unit`: what n counts. `reason`: why a value is null."""

DIVERSITY = pa.schema(
    [
        required("benchmark", pa.string()),
        required("model", pa.string()),
        pa.field("set", pa.string()),
        pa.field("run", pa.string()),
        pa.field("generation", pa.int16()),
        required("template", pa.string()),
        pa.field(SEMANTIC, pa.float64()),
        pa.field(LEXICAL, pa.float64()),
    ]
)
"""One row per template of a set, and per template of a generation of what evolved: how far it lies from the others.
`model`: beside whose questions it was computed; it says nothing of that model."""

# Of evolutions

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
        *COMMON,
        required("run", pa.string()),
        required("template", pa.string()),
        required("place", pa.int16()),
        required("begin", pa.int32()),
        required("word", pa.string()),
        required("gradient", pa.float64()),
    ]
)
"""One row per word of a template of any generation; `begin`: where it begins in the template."""

OWN_BIASES = pa.schema(
    [
        *COMMON,
        required("run", pa.string()),
        required("template", pa.string()),
        required("attribute", pa.string()),
        required("bias", pa.float64()),
    ]
)
"""One row per template of any generation and attribute, on the model that it evolved on; signed by keying, nats. The
table is called `biases`."""

CHOICES = pa.schema(
    [
        *COMMON,
        required("template", pa.string()),
        required("root", pa.string()),
        required("closeness", pa.float64()),
        pa.field("item_rest_correlation", pa.float64()),
        pa.field("refused", pa.string()),
        required("chosen", pa.bool_()),
        required("chosen_by_first", pa.bool_()),
        required("chosen_by_second", pa.bool_()),
        required("best_start", pa.bool_()),
        required("best_start_by_first", pa.bool_()),
        required("best_start_by_second", pa.bool_()),
    ]
)
"""One row per template that the guided run measured. `root`: the template of the start that it goes back to;
`closeness`: cosine with the mean embedding of the start; `refused`: why it may be in no set; `chosen`: it is in the set
that is published, `best_start`: in the best set of that size of templates of the start alone, both by all attributes,
and by either half of them (`declare.halves`) so that the other half can judge."""

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
        required("share", pa.float64()),
    ]
)
"""One row per kind of wish and what became of replies to it; `reason` is null where they were taken."""

GENERATIONS = figures_of("run").insert(2, required("generation", pa.int16()))
"""One row per figure of a whole population; the model is the one that it evolved on."""

COMPARISONS = pa.schema(
    [
        required("benchmark", pa.string()),
        required("model", pa.string()),
        required("transfer", pa.bool_()),
        required("set", pa.string()),
        required("against", pa.string()),
        pa.field("half", pa.string()),
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
on. `half`: `HELD_OUT`, or null where all attributes judge. `low`, `high`: of the difference, over attributes that both
share; null where the figure has no interval."""
