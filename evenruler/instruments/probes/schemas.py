"""Columns of the tables of the probes family, and names in them that several packages share."""

from collections.abc import Mapping
from typing import Any

from evenruler.tables.ids import row_id
from evenruler.tables.schemas import COMMON, columns, figures_of

CHOSEN, ELITES, POPULATION = "evolved", "elites", "population"
"""Template sets of an evolved instrument: chosen as a set from all that were measured; the individually best of the
last population, as in the paper; and the whole last population."""

GUIDED, RANDOM = "guided", "random"
"""Runs of an evolution, by the words that are replaced: hotspots, or random ones (ablation)."""

UNREVERSED, BEST_START = "start without reversed items", "best subset of the start"
"""Baselines of evolved sets that cost no evolution."""

HELD_OUT = "held out"
"""Marks comparisons in which one half of the attributes chose the sets, and the other judges them."""

OUTDONE = "another reply was more acceptable"
"""The reason for rejecting a reply that keeps every rule, where another one to the same wish was accepted."""

SEMANTIC, LEXICAL = "semantic_diversity", "lexical_diversity"
"""Columns, measures and figures: diversity of a template within its set or generation, the same for any model."""

PROBES = columns(
    COMMON, "set template: str; keying: int8; control: bool; attribute group: str; pole: int8; target text: str"
)
"""One row per sentence. `pole`: +1 for the group that a positive bias is closer to, -1 for the other."""


def sentence_id(name: str, row: Mapping[Any, Any], framing: str) -> str:
    """The id of a sentence of `PROBES`, as it is (`BARE`) or after a prefix."""
    identity = {key: row[key] for key in ("set", "template", "attribute", "target", "variant")}
    return row_id(family="probes", benchmark=name, framing=framing, **identity)


TEMPLATES = columns(COMMON, "set template: str; keying: int8; control: bool; text: str")
"""One row per template. `keying`: -1 where a higher likelihood means less association; `control`: it is not scored."""

ATTRIBUTES = columns(COMMON, "attribute word: str; criterion: float?; criterion_label: str?; match: str; key: int8?")
"""One row an attribute. `criterion`: the published number, null where there is none (`match` says so); `key`: 1 or -1
where it is declared high or low on the construct, else null."""

REJECTED = columns(PROBES, "reason: str")
"""Sentences that were left out, and why."""

_CELL = columns("benchmark set model lineage configuration framing variant: str")

BIASES = columns(_CELL, "template attribute: str; bias: float")
"""One row per template, attribute and model: equation 1 in nats, its sign changed where keying is -1."""

ASSOCIATIONS = columns(
    _CELL, "attribute word: str; bias centred: float; low high: float?; n: int; criterion: float?; match: str"
)
"""One row per attribute and model: mean bias over n templates (nats). `centred`: the same after subtracting every
template's mean over attributes, with its interval over templates (null below five)."""

ITEMS = columns(
    _CELL,
    "template: str; control: bool; mean: float",
    "sd item_rest_correlation low high alpha_if_removed semantic_diversity lexical_diversity: float?",
)
"""One row per template and model: bias over attributes (nats), and item statistics within its set; a control, which is
not scored, is compared with the whole set. `low`, `high`: of the correlation."""

CORRELATIONS = columns(_CELL, "template other: str; correlation: float?")
"""One row per pair of templates and model: Pearson correlation of their biases over attributes."""

VARIANCES = columns(_CELL, "effect: str; variance: float")
"""One row per variance component and model, square nats: of the bias for attributes, templates and both, of scores
within a group for components with targets. A component below 0 is lost in noise."""

CURVE = columns(_CELL, "templates targets: int; coefficient: float?")
"""One row per model and size of a set: expected generalizability with so many templates, and targets per group."""

SHIFTS = columns(
    _CELL,
    "prefix: str; placebo: bool; level: float; level_in_sd: float?; reordering: float",
    "reordering_in_sd rank_agreement: float?; n: int",
)
"""One row per prefix and model: mean change of the biases (nats), the SD of the changes about it, both also in standard
deviations of the biases without it; `rank_agreement`: Spearman of the biases without and with it."""

FIGURES = figures_of("part")
"""One row per figure of quality; `part`: the set of templates. `unit`: what n counts. `reason`: why a value is null."""

DIVERSITY = columns(
    f"benchmark model: str; set run: str?; generation: int16?; template: str; {SEMANTIC} {LEXICAL}: float?"
)
"""One row per template of a set, or of a generation of an evolution: how far it lies from the others. `model`: the
one with whose requests it was computed; the value does not depend on it."""

# Of evolutions

_LINEAGE = columns(
    "run: str; generation place: int16; template text: str; keying: int8; born: int16",
    "parent operation voice word: str?",
)

_FITNESS = columns(
    "elite: bool; fitness alpha_contribution gradient_focus semantic_diversity lexical_diversity: float",
    "alpha_part gradient_part semantic_part lexical_part: float; hotspot: str?; acceptability: float; sentences: int",
)

HISTORY = columns(COMMON, _LINEAGE, _FITNESS)
"""One row per run, generation and template. `run`: `guided`, or `random` where any word was replaced (ablation);
`place`: by fitness, from 1; `*_part`: what each part adds to `fitness`, normalised and weighted; `sentences`: number
scored for the template in the generation that it was made in, else 0."""

GRADIENTS = columns(COMMON, "run template: str; place: int16; begin: int32; word: str; gradient: float")
"""One row per word of a template of any generation; `begin`: where it begins in the template."""

OWN_BIASES = columns(COMMON, "run template attribute: str; bias: float")
"""One row per template of any generation and attribute, on the model that it evolved on; signed by keying, nats. The
table is called `biases`."""

CHOICES = columns(
    COMMON,
    "template root: str; closeness: float; item_rest_correlation: float?; refused: str?",
    "chosen chosen_by_first chosen_by_second best_start best_start_by_first best_start_by_second: bool",
)
"""One row per template that the guided run measured. `root`: the template of the start that it descends from;
`closeness`: cosine with the mean embedding of the start; `refused`: why it may be in no set; `chosen`: whether it is in
the published set, `best_start`: in the best set of that size from the start alone, both by all attributes, and by
either half of them (`declare.settings.halves`) so that the other half can judge."""

TRIES = columns(
    COMMON,
    "run: str; generation place attempt sample: int16; parent operation: str; voice word: str?",
    "operator prompt reply: str; text: str?; accepted: bool; reason: str?",
)
"""One row per reply of the operator. `text`: the template that it holds, null where it holds none."""

REWORDINGS = columns("benchmark run operator operation: str; voice reason: str?; n: int; share: float")
"""One row per kind of wish and outcome of the replies to it; `reason` is null where they were accepted."""

GENERATIONS = figures_of("run").insert(2, *columns("generation: int16"))
"""One row per figure of a whole population; the model is the one that it evolved on."""

COMPARISONS = columns(
    "benchmark model: str; transfer: bool; set against: str; half: str?; figure: str",
    "value other difference low high: float?; n: int; unit: str; reason: str?",
)
"""One row per figure, model and pair of sets: an evolved one against another. `transfer`: the model is not the one it
evolved on. `half`: `HELD_OUT`, or null where all attributes judge. `low`, `high`: of the difference, over attributes
that both share; null where the figure has no interval."""
