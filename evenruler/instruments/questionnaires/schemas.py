"""Schemas of the tables of the questionnaires family."""

from evenruler.tables.schemas import COMMON, columns, figures_of

ITEMS = columns(
    COMMON, "item: str; twin: int8; subscale: str?; keying: int8; original wording: str?; premise hypothesis: str"
)
"""One row per item, and one per twin of an item; twins have no `original`. `wording`: whether `original` is the
published wording (`held`) or our paraphrase; where it is held, `source` and `licence` name both those of the templates
and those of the wording. `twin`: 0 for an item, else the number of its impersonal twin; so in the tables below."""

TERMS = columns(COMMON, "item: str; twin: int8; term word polarity: str")
"""One row per term of an item. `polarity`: `source` keeps the stance of the question, `inverse` reverses it."""

PROMPTS = columns(
    COMMON,
    "questionnaire: str; subscale: str?; item: str; twin: int8; keying: int8; term polarity intensifier: str",
    "level: int8; weight: float; premise hypothesis: str",
)
"""One row per prompt: an item filled with a term and an intensifier. `level`: 1 is the lowest."""

REJECTED = columns(PROMPTS, "reason: str")
"""Prompts that were left out, with the reason."""

_STAGE = columns("corpus: str; fit epoch: int8")
"""Columns of an adaptation state: corpus (empty for the unadapted model), fit and epoch."""

_STATE = columns("configuration: str", _STAGE)
"""Adaptation state, and the form in which the model was asked."""

_LOGITS = columns("entailment neutral contradiction: float")

ENTAILMENT = columns("id: str", _STATE, _LOGITS)
"""Logits of a prompt, also after prefixes, in the configurations `head` and `verbaliser`."""

LIKELIHOODS = columns("id: str", _STATE, "nats: float; tokens: int?")
"""Log-probability in nats: of the whole text of a prompt (configuration `sentence`), or per token of the intensifier in
its place (`mlm`)."""

KNOWN_ANSWERS = columns("configuration: str; fact: int; term word: str; nats: float; tokens: int?")
"""Likelihoods of the plan's facts, as those of prompts. `fact`: its index in the plan; `term`: the right or the wrong
one; `word`: each word of the scale."""

OPTIONS = columns("id: str; turn: int8; reply reason: str?")
"""A chat model's replies to which word fits, by order (`turn`), of a term (`id` of its first prompt) or fact."""

LETTERS = columns("id: str; turn: int8; form: str; nats ends alone first_nats: float; first_token: int")
"""Log-probability in nats of each letter there, and that no letter follows it; columns as in framing."""

LABELLED_PAIRS = columns("configuration: str; pair: int; set label: str", _LOGITS)
"""Logits of the plan's labelled pairs, asked in the same form as items. `pair`: index in the plan; `label`: the right
answer."""

PAIRS = columns(_STAGE, "pair: int; label: str", _LOGITS)
"""Logits of labelled pairs after adaptation."""

REPLIES = columns(_STAGE, "reply reason: str?")
"""A chat model's reply to a message, or the reason why there is none."""

LOSSES = columns(_STAGE, "n: int; loss: float?")
"""Mean loss after an epoch on held-out sentences, in nats per token, of a corpus of n sentences; null where they have
no token."""

EMBEDDINGS = columns("id: str; vector: [float32]")
"""Embeddings of an item's question, or of premise and hypothesis of a source prompt."""

SLOR = columns("text: str; slor: float")
"""SLOR of every premise and hypothesis, in nats per token, relative to those of all questionnaires asked together."""

ACCEPTABILITY = columns("text: str; labels: [str]; logits: [float]")
"""Logits of every premise and hypothesis from an acceptability classifier."""

_MODEL = columns("questionnaire model lineage kind configuration framing: str")
"""`model`: its name in the catalogue. A model asked in several forms has rows for each `configuration`; tables without
that column name the form in `model`, as in "bert (mlm)"."""

CELLS = columns(_MODEL, "item: str; twin: int8; term polarity intensifier: str; level: int8; weight p pss: float")
"""One row per prompt of an item (`twin` is 0), model and configuration. `p`: the entailment score P_e, or
(configurations `sentence` and `mlm`) the likelihood relative to that of the item's likeliest prompt; `pss`: PSS, after
the two-way normalisation."""

ITEM_SCORES = columns(
    _MODEL,
    "subscale: str?; item: str; twin keying: int8; score: float; silhouette: float?; pss_low pss_high: float",
    "n: int",
)
"""One row per item or twin, and model. `score`: keyed, in units of the scale's weights; `silhouette`: how well source
and inverse terms are separated (SC), whatever the size of PSS; `pss_low` and `pss_high`: the smallest and largest PSS
of all cells, equal where words make no difference; `n`: cells in the score."""

SCALE_SCORES = columns(_MODEL, "subscale: str; score: float; z normal: float?; n: int")
"""One row per scale or subscale and model: mean of n item scores; z and rank-based normal score over the population,
null below three models."""

CONTENT = columns("questionnaire item measure: str; value: float; n: int")
"""One row per item and measure. `similarity` (SS): mean cosine between the original question and its n source prompts;
`similarity_to_paraphrase` where the original wording is not held, with `similarity` as well if the user has a file of
it. Acceptability (LA) over n sentences: `slor`, nats per token of a causal model; `acceptability`, probability by a
classifier; names ending in `_of_twins` are those of the item's twins."""

QUALITY = columns("questionnaire item measure: str; model: str?; value threshold: float?; verdict: str; advice: str?")
"""Every figure of every item: good, weak or poor by its threshold (`told`: no threshold), and what to change."""

POPULATION = columns(
    "model lineage kind configuration: str; accuracy low high: float?; n: int?; bar: float?; member: bool",
    "standing: str",
)
"""One row per model and configuration. `accuracy`: on the n labelled pairs, or facts (`sentence`, `mlm`), with its
interval; `bar`: the value that the interval must exceed; `member`: whether the model counts in figures over the
population; `standing`: the same in words."""

ACCURACY = columns("model configuration set: str; n: int; accuracy low high chance: float; auc: float?")
"""One row per model, configuration and set of labelled pairs, or of facts. `accuracy`: share of n pairs whose label the
model gives, or of facts whose right term gets more of the frequent words than the wrong one, with its Wilson interval;
`chance`: accuracy of guessing; `auc`: P that an entailing pair gets a higher entailment score, against contradiction,
than a contradicting one, .5 by guessing; null without both labels."""

COURSE = columns("model: str", _STAGE, "measure: str; value: float?; text reason: str?; n: int")
"""Course of an adaptation, by epoch. `loss`: on held-out sentences, nats per token, of a corpus of n; `accuracy`: share
of n labelled pairs answered right; `reply`: a chat model's reply to a message (`text`). `reason`: why there is no value
or text."""

TRAJECTORIES = columns(_MODEL, _STAGE, "answer: float; n: int")
"""Mean answer, on the scale itself, to the n items of a scale that are asked after adaptation, by measured epoch."""

CHANGES = columns(_MODEL, "corpus control expected: str; fit: int8; before after after_control difference: float")
"""One row per fit, after its last epoch: how far the answer to a questionnaire moved with a corpus, minus how far it
moved with its control corpus; the basis of the figures `moved_by_...`."""

FIGURES = figures_of("part")
"""One row per figure; `part` is a subscale, or `all` for the whole scale. `model` names the form where likelihoods of
intensifiers were asked, as in "bert (mlm)"; figures over models name the configuration in `figure`, as in "alpha
(head)"."""
