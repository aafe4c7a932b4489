"""Tables of the saged family."""

from evenruler.tables.schemas import COMMON, columns, figures_of

_PLACE = columns("source_tag title section: str; page_id revision_id: int?; url language source licence: str")

PAGES = columns("concept: str", _PLACE, "text: str")
"""One row per section of a page or file, as read. `source`: the attribution; `section`: empty for the lead;
`page_id` and `revision_id`: null outside wikis."""

SENTENCES = columns("id content_sha256 concept keyword sentence: str; root baseline note: str?", _PLACE)
"""One row per sentence that contains a keyword of a concept (a baseline), with its provenance. Or per prompt of a
user's table: `root`: key shared by prompts that differ only in the concept; `baseline`: a text that replies are
compared with; `note`: what a fair reply looks like."""

SOURCES = columns(
    COMMON, "concept source_tag title: str; page_id revision_id: int?; url language: str; sentences: int; reason: str?"
)
"""One row per page and concept that it was read for. `sentences`: those about the concept that occur there first;
`reason`: why there are none."""

PROMPTS = columns(
    COMMON,
    "concept keyword source_tag prompt_type prompt: str; baseline note: str?; root_id root_concept: str; is_root: bool",
    "prompt_spans baseline_spans: [{begin end: int32; word replacement: str}]",
    "title section url: str; revision_id: int?",
)
"""One row per prompt, with its baseline if it has one. `prompt_type`: `split` or `question`; `note`: what a fair reply
looks like; `root_id`: the item that it was branched from, its own id for a root; `prompt_spans`, `baseline_spans`: each
replacement: its place in the branched text (characters, `end` exclusive), the root's word and its replacement."""

REJECTED = columns(COMMON, [field for field in SENTENCES if field.name not in COMMON.names], "reason: str")
"""Sentences that did not become prompts, and why."""

MISSING = columns("concept asked reason: str")
"""One row per page that was requested for a concept and could not be read."""

TRIES = columns("sentence: str; attempt: int32; reply reason: str")
"""One row per reply of a language model that was refused as a question about its sentence, and why."""

FRAMED = columns("id framing before bare_id concept root_id: str")
"""One row per prompt and framing. `before`: text put before the prompt; `bare_id`: the prompt's own id."""

REPLIES = columns("id framing role template: str; repetition: int32; reply reason finish: str?")
"""One row per requested reply. `id`: of the prompt; `role`: name of the system prompt; `reply`: null where a server
gave none; `reason`: the server's explanation, else null; `finish`: why generation ended, `stop` or `length`."""

EMBEDDINGS = columns("tool text: str; vector: [float32]")
"""One row per embedder and distinct text, replies and baselines alike."""

CLASSIFICATIONS = columns("tool text: str; labels: [str]; probabilities: [float]")
"""One row per classifier and distinct text. `probabilities`: of the labels, in their order; all NaN for a text that is
too long."""

SCORED = columns("tool prompt: str; reply reason: str?")
"""One row per question to a scorer. `reply`: null where a server gave none; `reason`: the server's explanation."""

_REPLY = columns("id framing model lineage role template: str; repetition: int32")

GENERATIONS = columns(_REPLY, "generation: str?; refusal empty other_language: bool; cut: bool?; reason: str?")
"""One row of `REPLIES`, with its model and first checks. `generation`: null where a server gave no reply, which is then
neither a refusal nor empty; `cut`: it reached the token limit (and counts as it stands), null where a server does not
say why generation ended."""

FEATURES = columns(_REPLY, "domain feature: str; value baseline: float?; reason: str?")
"""One row per reply and feature. `value`: of the reply; `baseline`: the same feature of its baseline, null where the
feature has none (clusters, distances) or it could not be measured; `reason`: why a number is null."""

BASELINES = columns("id feature: str; value: float?")
"""One row per asked prompt and feature of single texts. `value`: of its baseline including names, even where the
feature masks them; null where it could not be measured."""

TOPICS = columns("domain model feature part: str; cluster: int32; words: [str]; n: int")
"""One row per cluster of replies. `part`: the subset that was clustered separately, as "concept=france"; `words`: its
topic words, the most telling first; `n`: replies in it."""

CELL = columns("domain model role template feature calibration grouping statistic: str")
"""`calibration`: `raw`, or `calibrated` (feature of the reply minus feature of its baseline, section 3.3); `grouping`:
the columns that define the groups, joined by "+"."""

SUMMARIES = columns(CELL, "group: str; value: float?; n n_missing: int; reason: str?")
"""One row per group. `value`: the statistic of its n numbers; nulls are left out and counted in `n_missing`."""

DISPARITIES = columns(
    CELL,
    "metric: str; value p p_adjusted: float?; n_permutations n_groups: int; group: str?",
    "critical excess: float?; flag: bool?; reason: str?",
)
"""One row per disparity between groups. `value`: as observed, noise included; `group`: the one that the metric points
at (an outlier, the lowest); `critical`, `excess`: for Dixon's ratio, its critical value and value minus critical;
`flag`: below four fifths, or an outlier; `p`: permutation test; `p_adjusted`: Benjamini-Hochberg within feature and
statistic."""

SHAPES = columns(CELL, "shape group end: str?; z: float?; n_groups: int; reason: str?")
"""One row per headline cell. `shape`: `concentrated` on one group, `dispersed`, or `mixed`; `end`: `high` or `low`;
`z`: of the group farthest from the mean."""

RATES = columns(
    "domain model role template concept: str; n refusals empty other_language: int; cut: int?; withheld: int"
)
"""One row per concept and configuration: how many of n replies are refusals, empty, in another language than the
prompts, or cut at the token limit. `cut`: null where a server does not say of all of them why they ended; `withheld`:
requested replies, not in n, that a server did not give."""

FAVOUR = columns(
    "domain model figure feature role better concept: str; difference low high: float?; named: str?; n: int"
)
"""One row per concept and headline figure; for `role x concept`, one per role. `better`: the favourable end, `higher`
or `lower`; `difference`: from the mean of all concepts, after centring each root item, with its simultaneous interval;
`named`: `more` or `less` (answered or favoured) by the test with shuffled names alone, or `left out` where under half
of its replies are answered; `n`: root items."""

TOOL_BIAS = columns("domain feature concept: str; mean difference: float?; n: int; reason: str?")
"""One row per concept and feature: scores of baselines that differ only in the concept, including names even where the
feature masks them (C.3). `difference`: the concept's mean minus the mean of all concepts."""

CONTEXT_BIAS = columns(
    "domain model role template feature context calibration: str; mean: float?; n: int; reason: str?"
)
"""One row per third of the baselines by their own score (C.2). `context`: `bad`, `neutral` or `good`; `mean`: of the
replies to prompts whose baselines lie in that third."""

MEASURED = columns("domain feature declared: str")
"""One row per feature of a domain, as tables name it. `declared`: the entry of `features` that it comes from; an entry
of kind `clusters` gives several."""

FIGURES = figures_of("part")
"""Figures of a domain; `part`: role, template and feature, or role and template."""
