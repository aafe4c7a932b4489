"""What models and tools are asked about questionnaires, and the numbers that their answers make."""

from typing import Final

import pyarrow as pa

from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.ask.asked import limited, requests
from evenruler.instruments.questionnaires.ask.scored import scores

__all__ = ["ANSWERS", "PLANNED", "READS", "limited", "requests", "scores"]

READS: Final = {
    "items": ("id", "premise", "hypothesis", "original", "item", "twin", "subscale", "keying"),
    "prompts": (
        *("id", "premise", "hypothesis", "questionnaire", "item", "twin", "term", "polarity"),
        *("intensifier", "level", "weight", "variant"),
    ),
    "terms": ("item", "twin", "word", "term"),
}

PLANNED: Final = (
    *("accuracy", "bound", "corpora", "embedder", "judge", "least", "placebos", "prefixed", "stop_below"),
    *("temperature", "three_way", "tools"),
)

ANSWERS: Final[dict[str, pa.Schema]] = {
    "entailment": schemas.ENTAILMENT,
    "likelihoods": schemas.LIKELIHOODS,
    "labelled_pairs": schemas.LABELLED_PAIRS,
    "pairs": schemas.PAIRS,
    "replies": schemas.REPLIES,
    "losses": schemas.LOSSES,
    "embeddings": schemas.EMBEDDINGS,
    "slor": schemas.SLOR,
    "acceptability": schemas.ACCEPTABILITY,
}
