from collections import Counter
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from transformers import GenerationConfig

from evenruler.models import Sampling, load
from evenruler.models.backends.sampling import (
    generate_batch,
    random_numbers,
    sample_tokens,
)
from evenruler.models.questions import LikelihoodRequest
from tests.tiny import save_tiny, tiny_params

PROMPTS = [
    "The man",
    "x",
    "",
    "the theatre is",
    "A girl and a boy",
    "é",
    "the man is a",
    "ab",
    "one",
    "The",
    "No!",
]
GREEDY = Sampling(max_new_tokens=8, temperature=0)


def tokens_of(model, text: str) -> list[int]:
    return model.backend.encoder.encode_texts([LikelihoodRequest(text)])[0].tokens


def first_tokens(model, text: str, sampling: Sampling, n: int) -> np.ndarray:
    """[vocabulary] how often each token came first in n draws."""
    network = model.backend.model
    rows = generate_batch(network, [tokens_of(model, text)] * n, range(n), sampling)
    return np.bincount([row[0] for row in rows], minlength=network.config.vocab_size)


def next_token(model, text: str) -> torch.Tensor:
    """[vocabulary] logits of the token after a text, float64."""
    ids = torch.tensor([tokens_of(model, text)])
    with torch.no_grad():
        logits = model.backend.model(input_ids=ids).logits[0, -1]
    return logits.double()


def assert_drawn_from(counts: np.ndarray, probabilities: np.ndarray) -> None:
    """Chi-square of the counts; tokens to be expected fewer than five times are taken together."""
    assert not counts[probabilities == 0].any()
    cells = np.column_stack([counts, probabilities * counts.sum()])
    is_rare = cells[:, 1] < 5
    cells = np.vstack([cells[~is_rare], cells[is_rare].sum(axis=0)])
    observed, expected = cells[cells[:, 1] > 0].T
    assert len(observed) > 2
    assert stats.chisquare(observed, expected).pvalue > 1e-3


FOUR = torch.log(torch.tensor([0.1, 0.4, 0.2, 0.3]))
GRID = (np.arange(1000) + 0.5) / 1000


def drawn(numbers: Any, scores: torch.Tensor, **settings: Any) -> list[int]:
    """The tokens that these numbers draw."""
    rows = scores.repeat(len(numbers), 1)
    return sample_tokens(rows, np.asarray(numbers), Sampling(**settings))


class TestDraw:
    SCORES = torch.log(torch.tensor([0.4, 0.0, 0.3, 0.2, 0.1]))

    @pytest.mark.parametrize("shift", [0.0, 30.0, -30.0])
    def test_a_draw_is_where_the_rows_own_number_falls(self, shift) -> None:
        # The tokens take [0, .4), none, [.4, .7), [.7, .9) and [.9, 1); logits need not be
        # normalised.
        numbers = [0, 0.39, 0.41, 0.69, 0.71, 0.89, 0.91]
        assert drawn(
            numbers,
            self.SCORES + shift,
        ) == [0, 0, 2, 2, 3, 3, 4]
        assert drawn(
            numbers,
            self.SCORES + shift,
            top_p=0.85,
        ) == [0, 0, 0, 2, 2, 3, 3]

    def test_a_token_without_probability_is_not_drawn_even_at_the_border(self) -> None:
        # Two tokens of one half each, with impossible ones before, between and behind.
        scores = torch.tensor(
            [
                -torch.inf,
                0.0,
                -torch.inf,
                0.0,
                -torch.inf,
            ]
        )

        assert drawn(
            [0.0, 0.5, 1 - 2**-53],
            scores,
        ) == [1, 3, 3]

    def test_of_the_likeliest_k_the_likeliest_comes_first(self) -> None:
        # .4, .3 and .2 of .9
        numbers = [0.0, 0.44, 0.45, 0.77, 0.78, 0.99]
        assert drawn(numbers, FOUR, top_k=3) == [1, 1, 3, 3, 2, 2]

    @pytest.mark.parametrize(
        ("top_p", "shares"),
        [
            (0.39, {1: 1}),
            (0.41, {1: 4 / 7, 3: 3 / 7}),
            (1e-9, {1: 1}),
        ],
    )
    def test_top_p_keeps_the_fewest_that_reach_it(self, top_p, shares) -> None:
        tokens = drawn(GRID, FOUR, top_p=top_p)

        counted = {token: n / 1000 for token, n in Counter(tokens).items()}
        assert counted == pytest.approx(shares, abs=1e-3)

    def test_top_p_is_of_what_top_k_left(self) -> None:
        # .4 of the .7 that two leave is more than one half.
        assert set(drawn(GRID, FOUR, top_k=2, top_p=0.5)) == {1}
        assert set(drawn(GRID, FOUR, top_p=0.5)) == {1, 3}

    def test_temperature_divides_the_logits(self) -> None:
        shares = np.bincount(drawn(GRID, FOUR, temperature=0.5)) / 1000

        squares = np.array([0.01, 0.16, 0.04, 0.09])
        assert shares == pytest.approx(squares / squares.sum(), abs=1e-3)

    def test_numbers_are_the_rows_own_and_independent(self) -> None:
        columns = random_numbers(range(5_000), 2).T.copy()
        first, second = (drawn(column, FOUR) for column in columns)

        table = np.zeros((4, 4))
        np.add.at(table, (first, second), 1)

        assert_drawn_from(table.sum(axis=0), np.array([0.1, 0.4, 0.2, 0.3]))
        assert stats.chi2_contingency(table).pvalue > 1e-3
        rows = random_numbers([7, 8, 9], 4)
        assert (
            random_numbers(
                [9, 7],
                4,
            ).tolist()
            == rows[[2, 0]].tolist()
        )
        assert random_numbers([7], 9)[0, :4].tolist() == rows[0].tolist()


class TestDistribution:
    def test_the_first_token_follows_the_model(self, llama) -> None:
        expected = next_token(llama, "The man").softmax(-1).numpy()

        assert_drawn_from(
            first_tokens(llama, "The man", Sampling(max_new_tokens=1), 2000), expected
        )


@pytest.fixture
def opinionated(tmp_path, llama):
    """The same model with settings of its own, on the same store."""

    def open_with(**settings):
        folder = save_tiny(tmp_path / "opinionated", chat=True)
        GenerationConfig(**settings).save_pretrained(folder)
        return load(
            "tiny",
            tiny_params({"tiny": folder}),
            store=llama._cache.store,
        )

    return open_with


class TestReplies:
    def test_a_models_own_settings_do_not_come_through(self, opinionated, llama) -> None:
        """What `Sampling` says is all there is: a model's generation_config.json adds nothing."""
        model = opinionated(
            repetition_penalty=50.0, no_repeat_ngram_size=1, do_sample=True, temperature=9.0
        )

        assert model.generate(PROMPTS, sampling=GREEDY) == llama.generate(PROMPTS, sampling=GREEDY)


class TestPrompts:
    """The chat template of the tiny model: bos, then "[role] content" lines, then "[assistant]
    "."""

    SAMPLING = Sampling(max_new_tokens=12)

    @pytest.mark.parametrize(
        ("system", "chat", "text"),
        [
            (None, False, "Who?"),
            ("Be brief.", False, "Be brief.\n\nWho?"),
            (None, True, "[user] Who?\n[assistant] "),
            ("Be brief.", True, "[system] Be brief.\n[user] Who?\n[assistant] "),
        ],
    )
    def test_what_a_prompt_becomes(self, system, chat, text, llama) -> None:
        replies = llama.generate(
            ["Who?"],
            sampling=self.SAMPLING,
            system=system,
            chat=chat,
        )

        assert replies == llama.generate([text], sampling=self.SAMPLING)
        other = llama.generate(["Who?"], sampling=self.SAMPLING)
        assert (replies == other) is (text == "Who?")
