"""Columns of the tables of the questionnaires family."""

import pyarrow as pa

from evenruler.tables.schemas import COMMON, figures_of, required

ITEMS = pa.schema(
    [
        *COMMON,
        required("item", pa.string()),
        required("twin", pa.bool_()),
        pa.field("subscale", pa.string()),
        required("keying", pa.int8()),
        pa.field("original", pa.string()),
        pa.field("wording", pa.string()),
        required("premise", pa.string()),
        required("hypothesis", pa.string()),
    ]
)
"""One row an item, and one its twin, which has no original. `wording`: whether `original` is held as published or is a
paraphrase of ours; where it is held, `source` and `licence` name both, whose the templates are and whose the wording.
`twin`: false of an item; true of its impersonal twin, here and in the tables below."""

TERMS = pa.schema(
    [
        *COMMON,
        required("item", pa.string()),
        required("twin", pa.bool_()),
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
        required("twin", pa.bool_()),
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

_STAGE = [required("corpus", pa.string()), required("fit", pa.int8()), required("epoch", pa.int8())]
"""After which epoch of which fit to which corpus the model was asked; `corpus` is empty for the model as it is."""

_STATE = [required("configuration", pa.string()), *_STAGE]
"""The same, and how it was asked."""

_LOGITS = [required(label, pa.float64()) for label in ("entailment", "neutral", "contradiction")]

ENTAILMENT = pa.schema([required("id", pa.string()), *_STATE, *_LOGITS])
"""Logits of a prompt, also after prefixes, by configurations `head` and `verbaliser`."""

LIKELIHOODS = pa.schema([required("id", pa.string()), *_STATE, required("nats", pa.float64())])
"""Log-probability of the intensifier of a prompt in its place, nats a token, by configurations `clm` and `mlm`."""

LABELLED_PAIRS = pa.schema(
    [
        required("configuration", pa.string()),
        required("pair", pa.int64()),
        required("set", pa.string()),
        required("label", pa.string()),
        *_LOGITS,
    ]
)
"""Logits of the labelled pairs of the plan, by their place there, in the way in which items are asked; `label` is the
right answer."""

PAIRS = pa.schema(
    [
        *_STAGE,
        required("pair", pa.int64()),
        required("label", pa.string()),
        *_LOGITS,
    ]
)
"""Logits of labelled pairs."""

REPLIES = pa.schema(
    [
        *_STAGE,
        pa.field("reply", pa.string()),
        pa.field("reason", pa.string()),
    ]
)
"""What a model that chats answers to a message, or why it does not."""

LOSSES = pa.schema(
    [
        *_STAGE,
        required("n", pa.int64()),
        pa.field("loss", pa.float64()),
    ]
)
"""Mean loss after an epoch on the sentences that the fit did not learn, nats a token, of a corpus of n; null where
they have no token to ask about."""

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
        required("pss_low", pa.float64()),
        required("pss_high", pa.float64()),
        required("n", pa.int64()),
    ]
)
"""One row per item and model. `score`: keyed, in units of the scale's weights; `effect`: mean over SD of its cells;
`silhouette`: how well source and inverse terms are told apart (SC), whatever the size of PSS; `pss_low` and `pss_high`:
the least and the greatest PSS of its cells, all terms, alike where words make no difference; `n`: cells that the score
rests on."""

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
it. LA, over n sentences: `slor`, nats a token by a causal model; `acceptability`, probability by a classifier; ending
in `_of_twins` of the item's twin."""

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
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("n", pa.int64()),
        pa.field("bar", pa.float64()),
        required("member", pa.bool_()),
        required("standing", pa.string()),
    ]
)
"""One row per model and configuration. `accuracy`: on the n labelled pairs that are judged by, with its interval, null
where the model is not asked what follows from what (`clm`, `mlm`); `bar`: what the interval has to lie above; `member`:
whether it counts in figures over the population; `standing`: the same in words."""

ACCURACY = pa.schema(
    [
        required("model", pa.string()),
        required("configuration", pa.string()),
        required("set", pa.string()),
        required("n", pa.int64()),
        required("accuracy", pa.float64()),
        required("low", pa.float64()),
        required("high", pa.float64()),
        required("chance", pa.float64()),
        pa.field("auc", pa.float64()),
    ]
)
"""One row per model, configuration and set of labelled pairs. `accuracy`: share of n pairs whose label the model gives,
with its interval (Wilson); `chance`: what it would be by guessing; `auc`: how often entailment is more likely, against
contradiction, after a pair that entails than after one that contradicts, .5 by guessing; null without either."""

COURSE = pa.schema(
    [
        required("model", pa.string()),
        *_STAGE,
        required("measure", pa.string()),
        pa.field("value", pa.float64()),
        pa.field("text", pa.string()),
        pa.field("reason", pa.string()),
        required("n", pa.int64()),
    ]
)
"""How an adaptation went, by epoch. `loss`: on held-out sentences, nats a token, of a corpus of n; `accuracy`: share of
n labelled pairs that the model answers right; `reply`: what a chat model answers to a message (`text`). Where there is
no value or text, `reason` says why."""

TRAJECTORIES = pa.schema(
    [
        *_MODEL,
        *_STAGE,
        required("answer", pa.float64()),
        required("n", pa.int64()),
    ]
)
"""Mean answer of the n items of a scale that are asked on the way, on the scale itself, after every measured epoch."""

CHANGES = pa.schema(
    [
        *_MODEL,
        required("corpus", pa.string()),
        required("control", pa.string()),
        required("expected", pa.string()),
        required("fit", pa.int8()),
        required("before", pa.float64()),
        required("after", pa.float64()),
        required("after_control", pa.float64()),
        required("difference", pa.float64()),
    ]
)
"""One row a fit, after its last epoch: how far the answer to a questionnaire moved with a corpus, less how far it
moved with the corpus that is its control; what the figures `moved_by_...` are made of."""

FIGURES = figures_of("part")
"""One row per figure of quality; `part` is a subscale, or `all` for the whole scale. Of a model that is asked for the
likelihood of intensifiers `model` says so, as in "bert (mlm)"; a figure over models names the configuration of those
that it is of, as in "alpha (head)"."""
