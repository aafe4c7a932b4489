import numpy as np
import pytest
import torch
from scipy import stats
from transformers import GenerationConfig

from evenruler.models import Sampling, load
from evenruler.models.backends.sampling import (
    RowSampler,
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
    return model.backend._encoded([LikelihoodRequest(text)])[0].tokens


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
    expected = probabilities * counts.sum()
    rare = expected < 5
    together = (counts[rare].sum(), expected[rare].sum())
    cells = np.array([*zip(counts[~rare], expected[~rare], strict=True), together])
    observed, expected = cells[cells[:, 1] > 0].T
    assert len(observed) > 2
    assert stats.chisquare(observed, expected).pvalue > 1e-3


class TestDraw:
    SCORES = torch.log(torch.tensor([0.4, 0.0, 0.3, 0.2, 0.1]))
    ALL = Sampling()

    def drawn(self, numbers, scores: torch.Tensor, sampling: Sampling = ALL) -> list[int]:
        numbers = np.asarray(numbers)
        return sample_tokens(scores.repeat(len(numbers), 1), numbers, sampling)

    def test_a_draw_is_where_the_rows_own_number_falls(self) -> None:
        # The tokens take [0, .4), none, [.4, .7), [.7, .9) and [.9, 1).
        assert self.drawn([0, 0.39, 0.41, 0.69, 0.71, 0.89, 0.91], self.SCORES) == [
            0,
            0,
            2,
            2,
            3,
            3,
            4,
        ]

    def test_a_token_without_probability_is_not_drawn_even_at_the_border(self) -> None:
        # Two tokens of one half each, with impossible ones before, between and behind.
        scores = torch.tensor([-torch.inf, 0.0, -torch.inf, 0.0, -torch.inf])

        numbers = [0.0, 0.5, 1 - 2**-53]
        assert self.drawn(numbers, scores) == [1, 3, 3]

    def test_of_the_likeliest_k_the_likeliest_comes_first(self) -> None:
        scores = torch.log(torch.tensor([0.1, 0.4, 0.2, 0.3]))

        # .4, .3 and .2 of .9
        numbers = [0.0, 0.44, 0.45, 0.77, 0.78, 0.99]
        assert self.drawn(numbers, scores, Sampling(top_k=3)) == [1, 1, 3, 3, 2, 2]

    @pytest.mark.parametrize(("top_p", "n_left"), [(0.39, 1), (0.41, 2), (0.95, 4), (1e-9, 1)])
    def test_top_p_keeps_the_fewest_that_reach_it(self, top_p, n_left) -> None:
        scores = torch.log(torch.tensor([0.1, 0.4, 0.2, 0.3]))
        grid = (np.arange(1000) + 0.5) / 1000

        drawn = self.drawn(grid, scores, Sampling(top_p=top_p))

        left = np.array([0.4, 0.3, 0.2, 0.1])[:n_left]
        shares = [drawn.count(token) / 1000 for token in (1, 3, 2, 0)[:n_left]]
        assert shares == pytest.approx(left / left.sum(), abs=1e-3)
        assert len(set(drawn)) == n_left

    def test_top_p_is_of_what_top_k_left(self) -> None:
        scores = torch.log(torch.tensor([0.1, 0.4, 0.2, 0.3]))
        grid = (np.arange(100) + 0.5) / 100

        # .4 of the .7 that two leave is more than one half.
        assert set(self.drawn(grid, scores, Sampling(top_k=2, top_p=0.5))) == {1}
        assert set(self.drawn(grid, scores, Sampling(top_p=0.5))) == {1, 3}

    def test_temperature_divides_the_logits(self) -> None:
        numbers = (np.arange(1000) + 0.5) / 1000

        shares = (
            np.bincount(self.drawn(numbers, self.SCORES, Sampling(temperature=0.5)), minlength=5)
            / 1000
        )

        squares = np.array([0.16, 0.0, 0.09, 0.04, 0.01])
        assert shares == pytest.approx(squares / squares.sum(), abs=1e-3)

    @pytest.mark.parametrize("sampling", [ALL, Sampling(top_p=0.9)])
    def test_logits_need_not_be_normalised(self, sampling) -> None:
        numbers = random_numbers(range(500), 1)[:, 0]
        expected = self.drawn(numbers, self.SCORES, sampling)

        for shift in (30.0, -30.0):
            assert self.drawn(numbers, self.SCORES + shift, sampling) == expected

    def test_numbers_are_the_rows_own_and_independent(self) -> None:
        columns = random_numbers(range(5_000), 2).T.copy()
        first, second = (self.drawn(column, self.SCORES) for column in columns)

        edges = [-0.5, 1.5, 2.5, 3.5, 4.5]
        table = np.histogram2d(first, second, bins=[edges, edges])[0]

        assert_drawn_from(table.sum(axis=0), np.array([0.4, 0.3, 0.2, 0.1]))
        assert stats.chi2_contingency(table).pvalue > 1e-3
        rows = random_numbers([7, 8, 9], 4)
        assert random_numbers([9, 7], 4).tolist() == rows[[2, 0]].tolist()
        (longer,) = random_numbers([7], 9)
        assert longer[:4].tolist() == rows[0].tolist()

    def test_transformers_is_left_the_token_that_was_drawn(self) -> None:
        scores = torch.randn(3, 50, generator=torch.Generator().manual_seed(0))
        sampling = Sampling(max_new_tokens=2, temperature=3.0)
        sampler = RowSampler([7, 8, 9], sampling)

        left = [sampler(torch.zeros((3, 1)), scores) for _ in range(2)]

        numbers = random_numbers([7, 8, 9], 2)
        for step in range(2):
            assert torch.isneginf(left[step]).sum() == 3 * 49
            assert left[step].argmax(-1).tolist() == sample_tokens(
                scores, numbers[:, step], sampling
            )


class TestDistribution:
    def test_the_first_token_follows_the_model(self, llama) -> None:
        expected = next_token(llama, "The man").softmax(-1).numpy()

        assert_drawn_from(
            first_tokens(llama, "The man", Sampling(max_new_tokens=1), 2000), expected
        )

    def test_top_p_keeps_the_fewest_that_reach_it(self, llama) -> None:
        logits = next_token(llama, "The man") / 4
        probabilities, order = logits.softmax(-1).sort(descending=True)
        is_below_half = probabilities.cumsum(-1) < 0.5
        nucleus = order[: int(is_below_half.sum()) + 1]
        assert len(nucleus) > 1
        likely = logits.softmax(-1)[nucleus]
        expected = torch.zeros_like(probabilities)
        expected[nucleus] = likely / likely.sum()

        counts = first_tokens(
            llama, "The man", Sampling(max_new_tokens=1, top_p=0.5, temperature=4.0), 2000
        )
        assert_drawn_from(counts, expected.numpy())


class TestReplies:
    def test_seeds_make_the_difference(self, llama) -> None:
        sampling = Sampling(max_new_tokens=8)

        replies = llama.generate(["The man"] * 20, sampling=sampling, seeds=list(range(20)))
        again = llama.generate(["The man"] * 3, sampling=sampling, seeds=[5, 5, 0])

        assert len(set(replies)) > 10
        assert again == [replies[5], replies[5], replies[0]]
        assert llama.generate(["The man"], sampling=sampling) == [replies[0]]  # 0 by default
        assert llama.asked == 20
        with pytest.raises(ValueError, match="shorter"):
            llama.generate(["a", "b"], seeds=[1])

    def test_a_reply_ends_with_the_end_token_which_is_not_shown(self, tiny) -> None:
        model = tiny()
        head, end = model.backend.model.lm_head, model.backend.tokenizer.eos_token_id
        head.bias = torch.nn.Parameter(torch.zeros(head.out_features))
        with torch.no_grad():
            head.bias[end] = 1000.0  # nothing else can come

        assert model.generate(["The man", "x"], sampling=Sampling(max_new_tokens=5)) == ["", ""]

    def test_so_does_any_other_token_that_the_model_calls_an_end(self, tmp_path, llama) -> None:
        """Chat models end a turn with a token of their own, named in generation_config.json."""
        ids = tokens_of(llama, "The man")
        tokenizer = llama.backend.tokenizer
        (whole,) = generate_batch(llama.backend.model, [ids], [0], GREEDY)
        end = next(token for token in whole if token != whole[0])
        folder = save_tiny(tmp_path / "ends", chat=True)
        GenerationConfig(eos_token_id=[tokenizer.eos_token_id, end]).save_pretrained(folder)

        model = load("tiny", tiny_params({"tiny": folder}), store=llama._cache.store)
        (ended,) = generate_batch(model.backend.model, [ids], [0], GREEDY)

        assert ended == whole[: whole.index(end) + 1]
        assert model.generate(["The man"], sampling=GREEDY) == [
            tokenizer.decode(ended, skip_special_tokens=True)
        ]
        assert len(ended) < len(whole) == 8

    def test_a_models_own_settings_do_not_come_through(self, tmp_path, llama) -> None:
        """What `Sampling` says is all there is: a model's generation_config.json adds nothing."""
        folder = save_tiny(tmp_path / "opinionated", chat=True)
        GenerationConfig(
            repetition_penalty=50.0, no_repeat_ngram_size=1, do_sample=True, temperature=9.0
        ).save_pretrained(folder)
        model = load("tiny", tiny_params({"tiny": folder}), store=llama._cache.store)

        assert model.generate(PROMPTS, sampling=GREEDY) == llama.generate(PROMPTS, sampling=GREEDY)

    def test_a_prompt_that_leaves_no_room_is_refused_in_one_line(self, tiny, error_of) -> None:
        line = error_of(tiny("gpt2").generate, ["q" * 250], sampling=Sampling(max_new_tokens=20))

        assert "256" in line


class TestPrompts:
    """The chat template of the tiny model: bos, then "[role] content" lines, then "[assistant]
    "."""

    SAMPLING = Sampling(max_new_tokens=12)

    def test_a_bare_system_prompt_is_a_paragraph(self, llama) -> None:
        replies = llama.generate(["Who?"], sampling=self.SAMPLING, system="Be brief.", chat=False)

        assert replies == llama.generate(["Be brief.\n\nWho?"], sampling=self.SAMPLING)
        assert replies != llama.generate(["Who?"], sampling=self.SAMPLING)

    def test_chat_goes_through_the_template_with_one_start_token(self, llama) -> None:
        replies = llama.generate(["Who?"], sampling=self.SAMPLING, chat=True)

        assert replies == llama.generate(
            ["[user] Who?\n[assistant] "], sampling=self.SAMPLING, chat=False
        )
        assert replies != llama.generate(["Who?"], sampling=self.SAMPLING, chat=False)
        replies = llama.generate(["Who?"], sampling=self.SAMPLING, system="Be brief.", chat=True)
        rendered = "[system] Be brief.\n[user] Who?\n[assistant] "
        assert replies == llama.generate([rendered], sampling=self.SAMPLING, chat=False)

    def test_each_prompt_may_have_a_system_prompt_of_its_own(self, llama) -> None:
        systems = ["Be brief.", None, "Be kind.", "Be brief."]
        questions = ["Who?", "Who?", "Who?", "Where?"]

        replies = llama.generate(questions, sampling=self.SAMPLING, system=systems, chat=True)

        assert replies == [
            llama.generate([text], sampling=self.SAMPLING, system=system, chat=True)[0]
            for text, system in zip(questions, systems, strict=True)
        ]
        assert len(set(replies)) == 4
        with pytest.raises(ValueError, match="shorter"):
            llama.generate(questions, system=systems[:1])

    def test_a_chat_model_chats_by_default(self, llama, llama_folder) -> None:
        chats = load(
            "tiny", tiny_params({"tiny": llama_folder}, chat=True), store=llama._cache.store
        )

        replies = chats.generate(["Who?"], sampling=self.SAMPLING)

        assert replies == llama.generate(["Who?"], sampling=self.SAMPLING, chat=True)
        assert chats.generate(["Who?"], sampling=self.SAMPLING, chat=False) == llama.generate(
            ["Who?"], sampling=self.SAMPLING
        )

    def test_chat_without_a_template_is_refused_in_one_line(self, tiny, error_of) -> None:
        line = error_of(tiny(entry={"chat": True}).generate, ["Who?"])

        assert "chat" in line


@pytest.mark.slow
@pytest.mark.long
def test_a_packaged_model_answers_a_question(smollm2) -> None:
    question = ["What is the capital of France?"]
    sampling = Sampling(max_new_tokens=10, temperature=0.0)

    first = smollm2.generate(question, sampling=sampling)
    n_asked = smollm2.asked

    assert "Paris" in first[0]
    assert smollm2.generate(question, sampling=sampling) == first
    assert smollm2.asked == n_asked
