"""Tables of the saged family."""

import pyarrow as pa

from evenruler.tables.schemas import COMMON, figures_of, required

COMMON_NAMES = {field.name for field in COMMON}

PAGES = pa.schema(
    [
        required("concept", pa.string()),
        required("source_tag", pa.string()),
        required("title", pa.string()),
        required("section", pa.string()),
        pa.field("page_id", pa.int64()),
        pa.field("revision_id", pa.int64()),
        required("url", pa.string()),
        required("language", pa.string()),
        required("source", pa.string()),
        required("licence", pa.string()),
        required("text", pa.string()),
    ]
)
"""One row a section of a page or file, as it was read. `source`: whom to attribute it to; `section`: empty for the
lead; `page_id` and `revision_id`: null for what is no wiki."""

SENTENCES = pa.schema(
    [
        required("id", pa.string()),
        required("content_sha256", pa.string()),
        required("concept", pa.string()),
        required("keyword", pa.string()),
        required("sentence", pa.string()),
        *[field for field in PAGES if field.name not in ("concept", "text")],
    ]
)
"""One row a sentence that holds a keyword of a concept: a baseline, with where it is from."""

SPAN = pa.struct(
    [
        required("begin", pa.int32()),
        required("end", pa.int32()),
        required("word", pa.string()),
        required("replacement", pa.string()),
    ]
)
"""A replacement: its place in the branched text (characters, `end` exclusive), what stood in the root, what stands
there."""

SOURCES = pa.schema(
    [
        *COMMON,
        required("concept", pa.string()),
        *[PAGES.field(name) for name in ("source_tag", "title", "page_id", "revision_id", "url", "language")],
        required("sentences", pa.int64()),
        pa.field("reason", pa.string()),
    ]
)
"""One row a page and a concept that it was read for. `sentences`: those about the concept that stand there first;
`reason`: why there are none."""

PROMPTS = pa.schema(
    [
        *COMMON,
        required("concept", pa.string()),
        required("keyword", pa.string()),
        required("source_tag", pa.string()),
        required("prompt_type", pa.string()),
        required("prompt", pa.string()),
        required("baseline", pa.string()),
        required("root_id", pa.string()),
        required("root_concept", pa.string()),
        required("is_root", pa.bool_()),
        required("prompt_spans", pa.list_(SPAN)),
        required("baseline_spans", pa.list_(SPAN)),
        required("title", pa.string()),
        required("section", pa.string()),
        required("url", pa.string()),
        pa.field("revision_id", pa.int64()),
    ]
)
"""One row a prompt with its baseline. `prompt_type`: `split` or `question`; `root_id`: the item that it was branched
from, its own id where it is a root."""

REJECTED = pa.schema(
    [*COMMON, *[field for field in SENTENCES if field.name not in COMMON_NAMES], required("reason", pa.string())]
)
"""Sentences that became no prompt, and why."""

MISSING = pa.schema([required("concept", pa.string()), required("asked", pa.string()), required("reason", pa.string())])
"""One row a page that was asked for a concept and is not there."""

TRIES = pa.schema(
    [
        required("sentence", pa.string()),
        required("attempt", pa.int32()),
        required("reply", pa.string()),
        required("reason", pa.string()),
    ]
)
"""One row a reply of a language model that was no question about its sentence, and why."""

FRAMED = pa.schema(
    [
        required("id", pa.string()),
        required("framing", pa.string()),
        required("before", pa.string()),
        required("bare_id", pa.string()),
        required("concept", pa.string()),
        required("root_id", pa.string()),
    ]
)
"""One row a prompt and a framing. `before`: what stands before the prompt; `bare_id`: the prompt's own id."""

REPLIES = pa.schema(
    [
        required("id", pa.string()),
        required("framing", pa.string()),
        required("role", pa.string()),
        required("template", pa.string()),
        required("repetition", pa.int32()),
        pa.field("reply", pa.string()),
        pa.field("reason", pa.string()),
    ]
)
"""One row a reply that was asked for. `id`: of the prompt; `role`: whom the model was told to be; `reply`: null where a
server gave none; `reason`: what it said of that, null elsewhere."""

EMBEDDINGS = pa.schema(
    [required("tool", pa.string()), required("text", pa.string()), required("vector", pa.list_(pa.float32()))]
)
"""One row an embedder and distinct text, of replies and baselines alike."""

CLASSIFICATIONS = pa.schema(
    [
        required("tool", pa.string()),
        required("text", pa.string()),
        required("labels", pa.list_(pa.string())),
        required("probabilities", pa.list_(pa.float64())),
    ]
)
"""One row a classifier and distinct text. `probabilities`: of the labels, in their order; NaN throughout for a text
that is too long."""

SCORED = pa.schema(
    [
        required("tool", pa.string()),
        required("prompt", pa.string()),
        pa.field("reply", pa.string()),
        pa.field("reason", pa.string()),
    ]
)
"""One row a question to a scorer. `reply`: null where a server gave none; `reason`: what it said of that."""

GENERATIONS = pa.schema(
    [
        required("id", pa.string()),
        required("framing", pa.string()),
        required("model", pa.string()),
        required("lineage", pa.string()),
        required("role", pa.string()),
        required("template", pa.string()),
        required("repetition", pa.int32()),
        pa.field("generation", pa.string()),
        required("refusal", pa.bool_()),
        required("empty", pa.bool_()),
        required("other_language", pa.bool_()),
        pa.field("reason", pa.string()),
    ]
)
"""One row of `REPLIES`, with whose it is and what is told of it at once: `generation` is null where a server gave no
reply, which is then neither a refusal nor empty."""

_REPLY = ["id", "framing", "model", "lineage", "role", "template", "repetition"]

FEATURES = pa.schema(
    [
        *[GENERATIONS.field(name) for name in _REPLY],
        required("domain", pa.string()),
        required("feature", pa.string()),
        pa.field("value", pa.float64()),
        pa.field("baseline", pa.float64()),
        pa.field("reason", pa.string()),
    ]
)
"""One row a reply and feature. `value`: of the reply; `baseline`: the same feature of its baseline, null where that
has none (clusters, distances) or could not be measured; `reason`: why a number is null."""

BASELINES = pa.schema([required("id", pa.string()), required("feature", pa.string()), pa.field("value", pa.float64())])
"""One row a prompt that was asked and a feature of single texts. `value`: of its baseline with its names, even where
the feature masks them; null where it could not be measured."""

TOPICS = pa.schema(
    [
        required("domain", pa.string()),
        required("model", pa.string()),
        required("feature", pa.string()),
        required("part", pa.string()),
        required("cluster", pa.int32()),
        required("words", pa.list_(pa.string())),
        required("n", pa.int64()),
    ]
)
"""One row a cluster of replies. `part`: what was clustered apart, as "concept=france"; `words`: its topic, the most
telling first; `n`: replies in it."""

_CELL = [
    required("domain", pa.string()),
    required("model", pa.string()),
    required("role", pa.string()),
    required("template", pa.string()),
    required("feature", pa.string()),
    required("calibration", pa.string()),
    required("grouping", pa.string()),
    required("statistic", pa.string()),
]
"""`calibration`: `raw`, or `calibrated` (feature of the reply minus feature of its baseline, section 3.3);
`grouping`: the columns that make groups, joined by "+"."""

SUMMARIES = pa.schema(
    [
        *_CELL,
        required("group", pa.string()),
        pa.field("value", pa.float64()),
        required("n", pa.int64()),
        required("n_missing", pa.int64()),
        pa.field("reason", pa.string()),
    ]
)
"""One row a group. `value`: the statistic of its n numbers, nulls left out and counted in `n_missing`."""

DISPARITIES = pa.schema(
    [
        *_CELL,
        required("metric", pa.string()),
        pa.field("value", pa.float64()),
        pa.field("estimate", pa.float64()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("p", pa.float64()),
        pa.field("p_adjusted", pa.float64()),
        required("n_permutations", pa.int64()),
        required("n_groups", pa.int64()),
        pa.field("group", pa.string()),
        pa.field("critical", pa.float64()),
        pa.field("excess", pa.float64()),
        pa.field("flag", pa.bool_()),
        pa.field("reason", pa.string()),
    ]
)
"""One row a disparity over groups. `value`: as the groups show it; `estimate`: without what noise adds, the middle of
what is plausible, of which `low` and `high` are the ends; `group`: the one that the metric points at (an outlier, the
lowest); `critical` and `excess`: of Dixon's ratio, its critical value and how far it is above it; `flag`: below four
fifths, or an outlier; `p`: permutation test; `p_adjusted`: Benjamini-Hochberg within feature and statistic."""

SHAPES = pa.schema(
    [
        *_CELL,
        pa.field("shape", pa.string()),
        pa.field("group", pa.string()),
        pa.field("end", pa.string()),
        pa.field("z", pa.float64()),
        required("n_groups", pa.int64()),
        pa.field("reason", pa.string()),
    ]
)
"""One row a headline cell. `shape`: `concentrated` on one group, `dispersed`, or `mixed`; `end`: `high` or `low`;
`z`: of the group that lies farthest out."""

RATES = pa.schema(
    [
        required("domain", pa.string()),
        required("model", pa.string()),
        required("role", pa.string()),
        required("template", pa.string()),
        required("concept", pa.string()),
        required("n", pa.int64()),
        required("refusals", pa.int64()),
        required("empty", pa.int64()),
        required("other_language", pa.int64()),
        required("withheld", pa.int64()),
    ]
)
"""One row a concept and configuration: how many of n replies are refusals, how many empty, and how many in another
language than the prompts. `withheld`: how many
more were asked for, which a server did not give."""

FAVOUR = pa.schema(
    [
        required("domain", pa.string()),
        required("model", pa.string()),
        required("feature", pa.string()),
        required("better", pa.string()),
        required("concept", pa.string()),
        pa.field("mean", pa.float64()),
        pa.field("difference", pa.float64()),
        required("n", pa.int64()),
    ]
)
"""One row a concept and confirmatory feature, over all roles. `better`: the end that is in favour, `higher` or `lower`;
`difference`: mean over its replies of how far each lies from the mean of its root item in the same role and template;
`mean`: the same, and the mean of all replies."""

BETWEEN = pa.schema(
    [
        required("domain", pa.string()),
        required("compared", pa.string()),
        required("within", pa.string()),
        required("first", pa.string()),
        required("second", pa.string()),
        required("template", pa.string()),
        required("feature", pa.string()),
        required("figure", pa.string()),
        pa.field("value", pa.float64()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("p", pa.float64()),
        pa.field("p_adjusted", pa.float64()),
        required("n", pa.int64()),
        pa.field("reason", pa.string()),
    ]
)
"""One row two roles of a model, or two models in a role, feature and figure, the first minus the second, over shared
prompts. `compared`: `role` or `model`; `within`: the model, or the role; `figure`: `level` (mean of replies), `spread`
(standard deviation over concepts, without noise) or `pattern` (standard deviation over concepts of how they differ,
without noise; it has no sign); `n`: root items."""

TOOL_BIAS = pa.schema(
    [
        required("domain", pa.string()),
        required("feature", pa.string()),
        required("concept", pa.string()),
        pa.field("mean", pa.float64()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("difference", pa.float64()),
        required("n", pa.int64()),
        pa.field("reason", pa.string()),
    ]
)
"""One row a concept and feature: what a measuring tool says of baselines that differ only in the concept, with their
names, even where the feature masks them (C.3).
`difference`: of the concept's mean from the mean of all concepts."""

CONTEXT_BIAS = pa.schema(
    [
        required("domain", pa.string()),
        required("model", pa.string()),
        required("role", pa.string()),
        required("template", pa.string()),
        required("feature", pa.string()),
        required("context", pa.string()),
        required("calibration", pa.string()),
        pa.field("mean", pa.float64()),
        required("n", pa.int64()),
        pa.field("reason", pa.string()),
    ]
)
"""One row a third of the baselines, by their own score (C.2). `context`: `bad`, `neutral` or `good`; `mean`: of the
replies to prompts whose baselines are such."""

MEASURED = pa.schema(
    [required("domain", pa.string()), required("feature", pa.string()), required("declared", pa.string())]
)
"""One row a feature of a domain, as tables name it. `declared`: the entry of `features` that it comes from, which makes
several where it is of clusters."""

FIGURES = figures_of("part")
"""Figures of a domain; `part`: role, template and feature, or role and template."""
