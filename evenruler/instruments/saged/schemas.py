"""Tables of the saged family."""

from evenruler.tables.schemas import COMMON, columns, figures_of

_PLACE = columns("source_tag title section: str; page_id revision_id: int?; url language source licence: str")

PAGES = columns("concept: str", _PLACE, "text: str")
"""One row a section of a page or file, as it was read. `source`: whom to attribute it to; `section`: empty for the
lead; `page_id` and `revision_id`: null for what is no wiki."""

SENTENCES = columns("id content_sha256 concept keyword sentence: str; root baseline note: str?", _PLACE)
"""One row a sentence that holds a keyword of a concept: a baseline, with where it is from. Or a prompt as it stands in
a table: `root`: what it has in common with others that are one but for the concept; `baseline`: a text that replies are
compared with; `note`: what a fair reply looks like."""

SOURCES = columns(
    COMMON, "concept source_tag title: str; page_id revision_id: int?; url language: str; sentences: int; reason: str?"
)
"""One row a page and a concept that it was read for. `sentences`: those about the concept that stand there first;
`reason`: why there are none."""

PROMPTS = columns(
    COMMON,
    "concept keyword source_tag prompt_type prompt: str; baseline note: str?; root_id root_concept: str; is_root: bool",
    "prompt_spans baseline_spans: [{begin end: int32; word replacement: str}]",
    "title section url: str; revision_id: int?",
)
"""One row a prompt with its baseline, where it has one. `prompt_type`: `split` or `question`; `note`: what a fair reply
looks like; `root_id`: the item that it was branched from, its own id where it is a root; `prompt_spans`,
`baseline_spans`: each replacement, by its place in the branched text (characters, `end` exclusive), what stood in the
root and what stands there."""

REJECTED = columns(COMMON, [field for field in SENTENCES if field.name not in COMMON.names], "reason: str")
"""Sentences that became no prompt, and why."""

MISSING = columns("concept asked reason: str")
"""One row a page that was asked for a concept and is not there."""

TRIES = columns("sentence: str; attempt: int32; reply reason: str")
"""One row a reply of a language model that was no question about its sentence, and why."""

FRAMED = columns("id framing before bare_id concept root_id: str")
"""One row a prompt and a framing. `before`: what stands before the prompt; `bare_id`: the prompt's own id."""

REPLIES = columns("id framing role template: str; repetition: int32; reply reason finish: str?")
"""One row a reply that was asked for. `id`: of the prompt; `role`: whom the model was told to be; `reply`: null where a
server gave none; `reason`: what it said of that, null elsewhere; `finish`: why writing ended, `stop` or `length`."""

EMBEDDINGS = columns("tool text: str; vector: [float32]")
"""One row an embedder and distinct text, of replies and baselines alike."""

CLASSIFICATIONS = columns("tool text: str; labels: [str]; probabilities: [float]")
"""One row a classifier and distinct text. `probabilities`: of the labels, in their order; NaN throughout for a text
that is too long."""

SCORED = columns("tool prompt: str; reply reason: str?")
"""One row a question to a scorer. `reply`: null where a server gave none; `reason`: what it said of that."""

_REPLY = columns("id framing model lineage role template: str; repetition: int32")

GENERATIONS = columns(_REPLY, "generation: str?; refusal empty other_language: bool; cut: bool?; reason: str?")
"""One row of `REPLIES`, with whose it is and what is told of it at once: `generation` is null where a server gave no
reply, which is then neither a refusal nor empty; `cut`: it is as long as was allowed, and counts as it stands, null
where a server does not say why it ended."""

FEATURES = columns(_REPLY, "domain feature: str; value baseline: float?; reason: str?")
"""One row a reply and feature. `value`: of the reply; `baseline`: the same feature of its baseline, null where that
has none (clusters, distances) or could not be measured; `reason`: why a number is null."""

BASELINES = columns("id feature: str; value: float?")
"""One row a prompt that was asked and a feature of single texts. `value`: of its baseline with its names, even where
the feature masks them; null where it could not be measured."""

TOPICS = columns("domain model feature part: str; cluster: int32; words: [str]; n: int")
"""One row a cluster of replies. `part`: what was clustered apart, as "concept=france"; `words`: its topic, the most
telling first; `n`: replies in it."""

CELL = columns("domain model role template feature calibration grouping statistic: str")
"""`calibration`: `raw`, or `calibrated` (feature of the reply minus feature of its baseline, section 3.3);
`grouping`: the columns that make groups, joined by "+"."""

SUMMARIES = columns(CELL, "group: str; value: float?; n n_missing: int; reason: str?")
"""One row a group. `value`: the statistic of its n numbers, nulls left out and counted in `n_missing`."""

DISPARITIES = columns(
    CELL,
    "metric: str; value p p_adjusted: float?; n_permutations n_groups: int; group: str?",
    "critical excess: float?; flag: bool?; reason: str?",
)
"""One row a disparity over groups. `value`: as the groups show it, noise and all; `group`: the one that the metric
points at (an outlier, the lowest); `critical` and `excess`: of Dixon's ratio, its critical value and how far it is
above it; `flag`: below four fifths, or an outlier; `p`: permutation test; `p_adjusted`: Benjamini-Hochberg within
feature and statistic."""

SHAPES = columns(CELL, "shape group end: str?; z: float?; n_groups: int; reason: str?")
"""One row a headline cell. `shape`: `concentrated` on one group, `dispersed`, or `mixed`; `end`: `high` or `low`;
`z`: of the group that lies farthest out."""

RATES = columns(
    "domain model role template concept: str; n refusals empty other_language: int; cut: int?; withheld: int"
)
"""One row a concept and configuration: how many of n replies are refusals, empty, in another language than the prompts,
or cut at the most tokens. `cut`: null where a server does not say why all of them ended; `withheld`: how many more were
asked for, which a server did not give."""

FAVOUR = columns(
    "domain model figure feature role better concept: str; difference low high: float?; named: str?; n: int"
)
"""One row a concept and headline figure, of `role x concept` one a role. `better`: the end that is in favour, `higher`
or `lower`; `difference`: from the mean of all concepts, root items taken off, with its simultaneous interval; `named`:
`more` or `less`, where shuffled names alone say that it is answered or favoured so, or `left out`, where under half of
its replies are answered; `n`: root items."""

TOOL_BIAS = columns("domain feature concept: str; mean difference: float?; n: int; reason: str?")
"""One row a concept and feature: what a measuring tool says of baselines that differ only in the concept, with their
names, even where the feature masks them (C.3).
`difference`: of the concept's mean from the mean of all concepts."""

CONTEXT_BIAS = columns(
    "domain model role template feature context calibration: str; mean: float?; n: int; reason: str?"
)
"""One row a third of the baselines, by their own score (C.2). `context`: `bad`, `neutral` or `good`; `mean`: of the
replies to prompts whose baselines are such."""

MEASURED = columns("domain feature declared: str")
"""One row a feature of a domain, as tables name it. `declared`: the entry of `features` that it comes from, which makes
several where it is of clusters."""

FIGURES = figures_of("part")
"""Figures of a domain; `part`: role, template and feature, or role and template."""
