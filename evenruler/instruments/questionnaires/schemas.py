"""Columns of the tables of the questionnaires family."""

from evenruler.tables.schemas import COMMON, columns, figures_of

ITEMS = columns(
    COMMON, "item: str; twin: int8; subscale: str?; keying: int8; original wording: str?; premise hypothesis: str"
)
"""One row an item, and one each of its twins, which have no original. `wording`: whether `original` is held as
published or is a paraphrase of ours; where it is held, `source` and `licence` name both, whose the templates are and
whose the wording. `twin`: 0 of an item; the number of its impersonal twin, here and in the tables below."""

TERMS = columns(COMMON, "item: str; twin: int8; term word polarity: str")
"""One row a term of an item. `polarity`: `source` keeps the stance of the question, `inverse` turns it around."""

PROMPTS = columns(
    COMMON,
    "questionnaire: str; subscale: str?; item: str; twin: int8; keying: int8; term polarity intensifier: str",
    "level: int8; weight: float; premise hypothesis: str",
)
"""One row a prompt: an item filled with a term and an intensifier. `level`: 1 is the lowest."""

REJECTED = columns(PROMPTS, "reason: str")
"""Prompts that were left out, and why."""

_STAGE = columns("corpus: str; fit epoch: int8")
"""After which epoch of which fit to which corpus the model was asked; `corpus` is empty for the model as it is."""

_STATE = columns("configuration: str", _STAGE)
"""The same, and how it was asked."""

_LOGITS = columns("entailment neutral contradiction: float")

ENTAILMENT = columns("id: str", _STATE, _LOGITS)
"""Logits of a prompt, also after prefixes, by configurations `head` and `verbaliser`."""

LIKELIHOODS = columns("id: str", _STATE, "nats: float; tokens: int?")
"""Log-probability, nats: of the whole text of a prompt (configuration `sentence`), or a token of the intensifier in its
place (`mlm`)."""

KNOWN_ANSWERS = columns("configuration: str; fact: int; term word: str; nats: float; tokens: int?")
"""Likelihoods of the facts of the plan, by their place there, with the right and the wrong `term` and every word of the
scale: as those of prompts."""

OPTIONS = columns("id: str; turn: int8; reply reason: str?")
"""What a chat wrote to the question which word fits, of a term (`id` of its first prompt) or fact, by order."""

LETTERS = columns("id: str; turn: int8; form: str; nats ends alone first_nats: float; first_token: int")
"""How likely each letter is there: nats, and that no letter follows; as of framing."""

LABELLED_PAIRS = columns("configuration: str; pair: int; set label: str", _LOGITS)
"""Logits of the labelled pairs of the plan, by their place there, in the way in which items are asked; `label` is the
right answer."""

PAIRS = columns(_STAGE, "pair: int; label: str", _LOGITS)
"""Logits of labelled pairs."""

REPLIES = columns(_STAGE, "reply reason: str?")
"""What a model that chats answers to a message, or why it does not."""

LOSSES = columns(_STAGE, "n: int; loss: float?")
"""Mean loss after an epoch on the sentences that the fit did not learn, nats a token, of a corpus of n; null where
they have no token to ask about."""

EMBEDDINGS = columns("id: str; vector: [float32]")
"""Of the question of an item, or of premise and hypothesis of a source prompt."""

SLOR = columns("text: str; slor: float")
"""Of every premise and hypothesis, nats a token, among those of all questionnaires that were asked together."""

ACCEPTABILITY = columns("text: str; labels: [str]; logits: [float]")
"""Of every premise and hypothesis, by a classifier."""

_MODEL = columns("questionnaire model lineage kind configuration framing: str")
"""`model`: its name in the catalogue. One that answers in several forms has rows of each `configuration`; tables
without that column name the form instead, as in "bert (mlm)"."""

CELLS = columns(_MODEL, "item: str; twin: int8; term polarity intensifier: str; level: int8; weight p pss: float")
"""One row per prompt of an item (`twin` is 0), model and configuration: P_e, the entailment score or (configurations
`sentence` and `mlm`) likelihood beside that of the item's likeliest prompt, and PSS, what the two-way normalisation
makes of it."""

ITEM_SCORES = columns(
    _MODEL,
    "subscale: str?; item: str; twin keying: int8; score: float; silhouette: float?; pss_low pss_high: float",
    "n: int",
)
"""One row per item, or twin of one, and model. `score`: keyed, in units of the scale's weights;
`silhouette`: how well source and inverse terms are told apart (SC), whatever the size of PSS; `pss_low` and `pss_high`:
the least and the greatest PSS of its cells, all terms, alike where words make no difference; `n`: cells that the score
rests on."""

SCALE_SCORES = columns(_MODEL, "subscale: str; score: float; z normal: float?; n: int")
"""One row per scale or subscale and model: mean of n item scores; z and rank-based normal score over the population,
null below three models."""

CONTENT = columns("questionnaire item measure: str; value: float; n: int")
"""One row an item and measure. `similarity` (SS): mean cosine between the original question and its n source prompts;
`similarity_to_paraphrase` where the original wording is not held, and `similarity` too where a file of the user's has
it. LA, over n sentences: `slor`, nats a token by a causal model; `acceptability`, probability by a classifier; ending
in `_of_twins` of the item's twin."""

QUALITY = columns("questionnaire item measure: str; model: str?; value threshold: float?; verdict: str; advice: str?")
"""Every figure of every item: good, weak or poor against its threshold (`told`: it has none), and what to change."""

POPULATION = columns(
    "model lineage kind configuration: str; accuracy low high: float?; n: int?; bar: float?; member: bool",
    "standing: str",
)
"""One row per model and configuration. `accuracy`: on the n labelled pairs, or facts (`sentence`,
`mlm`), that are judged by, with its interval; `bar`: what the interval has to lie above; `member`:
whether it counts in figures over the population; `standing`: the same in words."""

ACCURACY = columns("model configuration set: str; n: int; accuracy low high chance: float; auc: float?")
"""One row per model, configuration and set of labelled pairs, or of facts. `accuracy`: share of n pairs whose label the
model gives, or of facts whose right term it gives more of frequent words, with its interval (Wilson); `chance`: what it
would be by guessing; `auc`: how often entailment is more likely, against contradiction, after a pair that entails than
after one that contradicts, .5 by guessing; null without either."""

COURSE = columns("model: str", _STAGE, "measure: str; value: float?; text reason: str?; n: int")
"""How an adaptation went, by epoch. `loss`: on held-out sentences, nats a token, of a corpus of n; `accuracy`: share of
n labelled pairs that the model answers right; `reply`: what a chat model answers to a message (`text`). Where there is
no value or text, `reason` says why."""

TRAJECTORIES = columns(_MODEL, _STAGE, "answer: float; n: int")
"""Mean answer of the n items of a scale that are asked on the way, on the scale itself, after every measured epoch."""

CHANGES = columns(_MODEL, "corpus control expected: str; fit: int8; before after after_control difference: float")
"""One row a fit, after its last epoch: how far the answer to a questionnaire moved with a corpus, less how far it
moved with the corpus that is its control; what the figures `moved_by_...` are made of."""

FIGURES = figures_of("part")
"""One row per figure of quality; `part` is a subscale, or `all` for the whole scale. Of a model that is asked for the
likelihood of intensifiers `model` says so, as in "bert (mlm)"; a figure over models names the configuration of those
that it is of, as in "alpha (head)"."""
