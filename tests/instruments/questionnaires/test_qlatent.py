"""Item scores against qlatent 1.0.27, the library of EMPALC's authors.

Its weights of terms are 1 / |S+| and -1 / |S-|, and its score is a mean over the cells of source
terms: so it divides by |S+| twice, the paper and ours once. It adds 1e-10 to every share, and its
weights are float32.
"""

from typing import Any

import numpy as np
import pytest

from evenruler.instruments.questionnaires import item_score, two_way
from tests.instruments.questionnaires.doors import matrix_of_text
from tests.later import Later

abstract = Later("qlatent.qabstract.qabstract")

pytestmark = [  # of its way to use pandas and torch
    pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Sparse invariant checks:UserWarning"),
]

INTENSIFIERS = {"never": -4, "often": 2, "always": 4}
P = matrix_of_text("0.2 0.5 0.9; 0.3 0.4 0.8; 0.7 0.5 0.1; 0.9 0.6 0.2")


def random_scores(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(0.01, 0.99, shape)


def their_question(p: np.ndarray, dimensions: dict[str, dict[str, float]]) -> Any:
    """A question of theirs whose entailment scores are given."""
    import torch

    class Given(abstract.QABSTRACT):
        def run(self, model: Any = None, pre_text: str | None = None) -> "Given":
            self._pdf["P"] = p.ravel()
            self._t = torch.tensor(p.ravel())
            return self

    return Given(dimensions=dimensions, index=["term"], descriptor={})


def dimensions(
    source: list[str], inverse: list[str], weights: dict[str, float]
) -> dict[str, dict[str, float]]:
    return {"term": abstract.dict_pos_neg(source, inverse, 1.0), "intensifier": weights}


def score_of(question: Any, temperature: float = 1.0) -> float:
    """Their item score: normalised over terms, then over intensifiers; the mean over source
    terms."""
    shares = abstract.QSOFTMAX(question, dim=["term", "intensifier"], temperature=temperature)
    of_source = abstract.QFILTER(shares, question.get_filter_for_postive_keywords(), "source")
    return float(of_source.run().mean_score())


KEYS = [-4, -3, -2, -2, 2, 2, 3, 4]
EIGHT = dict(zip("abcdefgh", KEYS, strict=True))


@pytest.mark.parametrize(
    ("p", "n_source", "weights", "temperature"),
    [
        (P, 2, INTENSIFIERS, 2.0),
        (random_scores(0, 4, 3), 2, INTENSIFIERS, 2.0),
        (random_scores(2, 3, 8), 1, EIGHT, 1.0),
        (random_scores(3, 5, 8), 3, EIGHT, 1.0),
    ],
)
def test_theirs_is_ours_divided_by_source_terms(p, n_source, weights, temperature) -> None:
    terms = [f"t{number}" for number in range(len(p))]
    declared = dimensions(terms[:n_source], terms[n_source:], weights)
    theirs = score_of(their_question(p, declared), temperature)
    is_source = [number < n_source for number in range(len(p))]
    ours = item_score(two_way(p, temperature), is_source, list(weights.values()))
    assert theirs * n_source == pytest.approx(ours, abs=1e-7)
    even = np.mean(list(weights.values())) / len(weights)
    assert abs(ours - even) > 1e-3
