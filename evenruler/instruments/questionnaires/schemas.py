"""Columns of the tables of the questionnaires family."""

import pyarrow as pa

from evenruler.tables.schemas import COMMON, figures_of, required

ITEMS = pa.schema(
    [
        *COMMON,
        required("item", pa.string()),
        pa.field("subscale", pa.string()),
        required("keying", pa.int8()),
        required("original", pa.string()),
        required("wording", pa.string()),
        required("premise", pa.string()),
        required("hypothesis", pa.string()),
    ]
)
"""One row an item. `wording`: whether `original` is held as published or is a paraphrase of ours; where it is held,
`source` and `licence` name both, whose the templates are and whose the wording."""

TERMS = pa.schema(
    [
        *COMMON,
        required("item", pa.string()),
        required("term", pa.string()),
        required("word", pa.string()),
        required("polarity", pa.string()),
    ]
)
"""One row a term of an item. `polarity`: `source` keeps the stance of the question, `inverse` turns it around."""

PROMPTS = pa.schema(
    [
        *COMMON,
        required("questionnaire", pa.string()),
        pa.field("subscale", pa.string()),
        required("item", pa.string()),
        required("keying", pa.int8()),
        required("term", pa.string()),
        required("polarity", pa.string()),
        required("intensifier", pa.string()),
        required("level", pa.int8()),
        required("weight", pa.float64()),
        required("premise", pa.string()),
        required("hypothesis", pa.string()),
    ]
)
"""One row a prompt: an item filled with a term and an intensifier. `level`: 1 is the lowest."""

REJECTED = pa.schema([*PROMPTS, required("reason", pa.string())])
"""Prompts that were left out, and why."""

_STATE = [required("configuration", pa.string()), required("corpus", pa.string()), required("epoch", pa.int8())]
"""How the model was asked, and after which epoch on which corpus; `corpus` is empty for the model as it is."""

_LOGITS = [required(label, pa.float64()) for label in ("entailment", "neutral", "contradiction")]

ENTAILMENT = pa.schema([required("id", pa.string()), *_STATE, *_LOGITS])
"""Logits of a prompt, also after prefixes, by configurations `head` and `verbaliser`."""

LIKELIHOODS = pa.schema([required("id", pa.string()), *_STATE, required("nats", pa.float64())])
"""Log-probability of the intensifier of a prompt in its place, nats a token, by configurations `clm` and `mlm`."""

PAIRS = pa.schema(
    [
        required("corpus", pa.string()),
        required("epoch", pa.int8()),
        required("pair", pa.int64()),
        required("label", pa.string()),
        *_LOGITS,
    ]
)
"""Logits of hand-written pairs whose plain answer is `label`."""

REPLIES = pa.schema(
    [
        required("corpus", pa.string()),
        required("epoch", pa.int8()),
        pa.field("reply", pa.string()),
        pa.field("reason", pa.string()),
    ]
)
"""What a model that chats answers to a message, or why it does not."""

LOSSES = pa.schema(
    [
        required("corpus", pa.string()),
        required("epoch", pa.int8()),
        required("n", pa.int64()),
        required("loss", pa.float64()),
    ]
)
"""Mean loss of an epoch over n sentences, nats a token."""

EMBEDDINGS = pa.schema([required("id", pa.string()), required("vector", pa.list_(pa.float32()))])
"""Of the question of an item, or of premise and hypothesis of a source prompt."""

SLOR = pa.schema([required("text", pa.string()), required("slor", pa.float64())])
"""Of every premise and hypothesis, nats a token, among those of all questionnaires that were asked together."""

ACCEPTABILITY = pa.schema(
    [
        required("text", pa.string()),
        required("labels", pa.list_(pa.string())),
        required("logits", pa.list_(pa.float64())),
    ]
)
"""Of every premise and hypothesis, by a classifier."""

_MODEL = [
    required("questionnaire", pa.string()),
    required("model", pa.string()),
    required("lineage", pa.string()),
    required("kind", pa.string()),
    required("configuration", pa.string()),
    required("framing", pa.string()),
]
"""`model`: its name in the catalogue. One that answers in several forms has rows of each `configuration`; tables
without that column name the form instead, as in "bert (mlm)"."""

CELLS = pa.schema(
    [
        *_MODEL,
        required("item", pa.string()),
        required("term", pa.string()),
        required("polarity", pa.string()),
        required("intensifier", pa.string()),
        required("level", pa.int8()),
        required("weight", pa.float64()),
        required("p", pa.float64()),
        required("pss", pa.float64()),
    ]
)
"""One row per prompt, model and configuration: P_e, the entailment score or (configurations `clm` and `mlm`) the
probability of the intensifier a token, and PSS, what the two-way normalisation makes of it."""

ITEM_SCORES = pa.schema(
    [
        *_MODEL,
        pa.field("subscale", pa.string()),
        required("item", pa.string()),
        required("keying", pa.int8()),
        required("score", pa.float64()),
        pa.field("effect", pa.float64()),
        pa.field("silhouette", pa.float64()),
        required("n", pa.int64()),
    ]
)
"""One row per item and model. `score`: keyed, in units of the scale's weights; `effect`: mean over SD of its cells;
`silhouette`: how well source and inverse terms are told apart (SC); `n`: cells that the score rests on."""

SCALE_SCORES = pa.schema(
    [
        *_MODEL,
        required("subscale", pa.string()),
        required("score", pa.float64()),
        pa.field("z", pa.float64()),
        pa.field("normal", pa.float64()),
        required("n", pa.int64()),
    ]
)
"""One row per scale or subscale and model: mean of n item scores; z and rank-based normal score over the population,
null below three models."""

CONTENT = pa.schema(
    [
        required("questionnaire", pa.string()),
        required("item", pa.string()),
        required("measure", pa.string()),
        required("value", pa.float64()),
        required("n", pa.int64()),
    ]
)
"""One row an item and measure. `similarity` (SS): mean cosine between the original question and its n source prompts;
`similarity_to_paraphrase` where the original wording is not held, and `similarity` too where a file of the user's has
it. LA, over n sentences: `slor`, nats a token by a causal model; `acceptability`, probability by a classifier."""

QUALITY = pa.schema(
    [
        required("questionnaire", pa.string()),
        required("item", pa.string()),
        required("measure", pa.string()),
        pa.field("model", pa.string()),
        pa.field("value", pa.float64()),
        pa.field("threshold", pa.float64()),
        required("verdict", pa.string()),
        pa.field("advice", pa.string()),
    ]
)
"""Every figure of every item: good, weak or poor against its threshold (`told`: it has none), and what to change."""

POPULATION = pa.schema(
    [
        required("model", pa.string()),
        required("lineage", pa.string()),
        required("kind", pa.string()),
        required("configuration", pa.string()),
        pa.field("accuracy", pa.float64()),
        pa.field("bar", pa.float64()),
        pa.field("n_held_out", pa.int64()),
        required("member", pa.bool_()),
        required("standing", pa.string()),
    ]
)
"""One row per model and configuration. `accuracy`: on held-out pairs, null where it was not fitted here; `member`:
whether it counts in figures over the population; `standing`: the same in words."""

COURSE = pa.schema(
    [
        required("model", pa.string()),
        required("corpus", pa.string()),
        required("epoch", pa.int8()),
        required("measure", pa.string()),
        pa.field("value", pa.float64()),
        pa.field("text", pa.string()),
        required("n", pa.int64()),
    ]
)
"""How an adaptation went, by epoch. `loss`: mean of the epoch, nats a token, over n sentences; `plain_pairs`: share of
n hand-written pairs whose plain answer the model gives; `reply`: what a chat model answers to a message (`text`)."""

TRAJECTORIES = pa.schema(
    [
        *_MODEL,
        required("corpus", pa.string()),
        required("epoch", pa.int8()),
        required("score", pa.float64()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        required("n", pa.int64()),
    ]
)
"""Score of a scale after every measured epoch: mean of n items, with its bootstrap interval over items."""

CHANGES = pa.schema(
    [
        required("questionnaire", pa.string()),
        required("corpus", pa.string()),
        required("role", pa.string()),
        required("expected", pa.string()),
        pa.field("model", pa.string()),
        required("unit", pa.string()),
        required("n", pa.int64()),
        pa.field("before_mean", pa.float64()),
        pa.field("before_sd", pa.float64()),
        pa.field("after_mean", pa.float64()),
        pa.field("after_sd", pa.float64()),
        pa.field("difference", pa.float64()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("t", pa.float64()),
        pa.field("p", pa.float64()),
        pa.field("dz", pa.float64()),
        pa.field("p_equivalence", pa.float64()),
        required("verdict", pa.string()),
    ]
)
"""T0 against T1 (EMPALC, table 3). A row of one model compares its items; a row without a model compares lineages, by
what their models answer by head or verbaliser."""

FIGURES = figures_of("part")
"""One row per figure of quality; `part` is a subscale, or `all` for the whole scale. Of a model that is asked for the
likelihood of intensifiers `model` says so, as in "bert (mlm)"; a figure over such models ends in `_by_likelihood`."""
