import inspect

import pytest
import torch

from evenruler.models import Sampling
from evenruler.models.backends import refilling
from evenruler.models.backends.refilling import Slots, Writer, read
from evenruler.models.backends.sampling import generate_batch
from evenruler.models.records import Request
from tests.tiny import KINDS

SLOTTED = [kind for kind in KINDS if kind != "mamba"]
BEGINNING = "the man is a man at the theatre and "
TEXTS = [
    *("The man", "x", "", "A girl and a boy", "é", "ab", "one", "The", "No!"),
    *(BEGINNING + end for end in ("he", "she is a painter", "so on", "so he is", "")),
    *("the man is a", "the man is", "Who is it who is at the theatre at the end of the night?"),
]
"""Of every length, many longer than a window of four tokens; three share a beginning longer than a pack."""

SEEDS = list(range(100, 100 + len(TEXTS)))
NODES, SLOTS = 20, 3


def opened(model, ends: int = 0, slots: int = SLOTS, cache_bytes: int = 2**30, dtype=torch.float64) -> Writer:
    """A writer for a stored tiny model, with so many tokens besides its own that end a reply."""
    backend = model.backend
    causal = backend.model.to(dtype)
    if ends:
        causal.generation_config.eos_token_id = [backend.tokenizer.eos_token_id, *range(20, 20 + 5 * ends, 5)]
    return Writer(causal, NODES, slots, cache_bytes, backend._scorer.plain_because)


def encoded(model, texts=TEXTS) -> list[tuple[int, ...]]:
    return [model.backend._encoded([Request(text)])[0].tokens for text in texts]


def written(writer: Writer, sequences, seeds, sampling: Sampling) -> list[list[int]]:
    """Tokens of every reply, wave by wave."""
    replies = {}
    for wave in writer.waves(sequences, seeds, sampling.max_new_tokens):
        for ended in writer.write([sequences[i] for i in wave], [seeds[i] for i in wave], sampling):
            assert ended
            for place, tokens in ended:
                assert wave[place] not in replies
                replies[wave[place]] = tokens
    return [replies[i] for i in range(len(sequences))]


def alone(writer: Writer, sequence, length: int) -> list[int]:
    """What transformers itself goes on with after one prompt, taking the likeliest token each time."""
    ids = torch.tensor([sequence])
    with torch.inference_mode():
        output = writer._model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=length, do_sample=False, pad_token_id=0
        )
    return output[0, len(sequence) :].tolist()


class TestReplies:
    @pytest.mark.parametrize(
        ("kind", "dtype"), [("llama", torch.float32), *((kind, torch.float64) for kind in SLOTTED)], ids=str
    )
    def test_the_likeliest_are_those_of_transformers_one_prompt_at_a_time(self, kind, dtype, tiny) -> None:
        model = tiny(kind)
        writer, sequences = opened(model, ends=24, dtype=dtype), encoded(model)
        assert writer.plain_because is None

        replies = written(writer, sequences, SEEDS, Sampling(max_new_tokens=14, temperature=0))

        assert replies == [alone(writer, sequence, 14) for sequence in sequences]
        lengths = [len(tokens) for tokens in replies]
        assert min(lengths) < 14 == max(lengths)  # some end early, so slots are filled again while others go on
        assert len(set(map(tuple, replies))) > len(TEXTS) / 2

    @pytest.mark.parametrize("kind", ["llama", "gemma3"])
    def test_a_sampled_reply_depends_on_prompt_and_seed_alone(self, kind, tiny) -> None:
        model = tiny(kind)
        sampling, asked = Sampling(max_new_tokens=10, temperature=1.5, top_k=40, top_p=0.95), encoded(model)
        pairs = [(sequence, seed) for sequence in asked for seed in (1, 2, 3)]  # more than four waves

        def replies(pairs, slots: int):
            writer = opened(model, ends=3, slots=slots)
            return dict(zip(pairs, written(writer, *zip(*pairs, strict=True), sampling), strict=True))

        together = replies(pairs, SLOTS)

        assert replies(pairs[::-2], 7) == {pair: together[pair] for pair in pairs[::-2]}
        for pair in pairs[::11]:
            assert replies([pair], 1) == {pair: together[pair]}
            plain = generate_batch(model.backend.model, [pair[0]], [pair[1]], sampling)
            assert plain == [together[pair]]
        assert len(set(map(tuple, together.values()))) > len(pairs) / 2

    def test_the_same_prompt_twice_with_one_seed_gets_one_reply(self, tiny) -> None:
        model = tiny()
        (sequence,) = encoded(model, [BEGINNING])

        replies = written(opened(model), [sequence] * 4, [1, 2, 1, 3], Sampling(max_new_tokens=6))

        assert replies[0] == replies[2]
        assert len(set(map(tuple, replies))) == 3

    def test_replies_of_one_token_take_no_slot(self, tiny, monkeypatch) -> None:
        model = tiny()
        writer, sequences = opened(model), encoded(model)
        monkeypatch.setattr(Slots, "step", lambda *_: pytest.fail("a second token is asked for"))

        replies = written(writer, sequences, SEEDS, Sampling(max_new_tokens=1, temperature=0))

        assert replies == [alone(writer, sequence, 1) for sequence in sequences]


class TestSlots:
    def steps(self, model, monkeypatch, ends: int) -> tuple[list[int], int]:
        """How many replies of one wave went through each step, and how many steps they would take in plain batches."""
        monkeypatch.setattr(refilling, "ROUNDS", 5)
        writer, rows, step = opened(model, ends), [], Slots.step

        def counted(slots, tokens, positions):
            rows.append(len(tokens))
            return step(slots, tokens, positions)

        monkeypatch.setattr(Slots, "step", counted)
        sequences = encoded(model)[: 5 * SLOTS]
        replies = written(writer, sequences, SEEDS[: 5 * SLOTS], Sampling(max_new_tokens=14))
        assert sum(rows) == sum(len(tokens) - 1 for tokens in replies)  # nothing goes on after its end
        lengths = [len(tokens) - 1 for tokens in replies]
        return rows, sum(max(lengths[first : first + SLOTS]) for first in range(0, len(lengths), SLOTS))

    def test_a_reply_that_ends_makes_room(self, tiny, monkeypatch) -> None:
        rows, plain = self.steps(tiny(), monkeypatch, ends=12)

        assert len(rows) < plain
        full = rows.index(next(n for n in rows if n < SLOTS)) if min(rows) < SLOTS else len(rows)
        assert rows[:full] == [SLOTS] * full  # all slots are in use
        assert rows[full:] == sorted(rows[full:], reverse=True)  # until nothing waits

    def test_slots_without_early_ends_are_plain_batches(self, tiny, monkeypatch) -> None:
        model = tiny()
        model.backend.model.generation_config.eos_token_id = None

        rows, plain = self.steps(model, monkeypatch, ends=0)

        assert rows == [SLOTS] * plain

    def test_there_are_as_many_as_fit_into_memory(self, tiny) -> None:
        model = tiny()
        # 3 layers, keys and values of 2 heads of 8 numbers, 8 bytes each: 768 bytes for a token.
        sequences = encoded(model, ["x" * 19] * 40)
        assert len(sequences[0]) == 20

        def waves(cache_bytes: int) -> list[int]:
            writer = opened(model, slots=8, cache_bytes=cache_bytes)
            return [len(wave) for wave in writer.waves(sequences, range(40), 10)]

        assert waves(2**30) == [16, 16, 8]
        assert waves(768 * 30 * 5) == [10] * 4
        assert waves(768 * 30 * 5 - 1) == [8] * 5
        assert waves(1) == [2] * 20


class TestReading:
    def read(self, model, texts, monkeypatch) -> int:
        """How many tokens go through the model to read some prompts."""
        causal, sizes = model.backend.model, []
        forward = causal.forward

        def counted(**inputs):
            sizes.append(inputs["input_ids"].shape[1])
            return forward(**inputs)

        counted.__signature__ = inspect.signature(forward)  # by which a model says what it takes
        monkeypatch.setattr(causal, "forward", counted)
        sequences = sorted(encoded(model, texts))
        assert [begun.index for begun in read(causal, sequences, NODES)] == list(range(len(texts)))
        assert len(sizes) > 1  # packs
        return sum(sizes)

    def test_a_shared_beginning_is_read_once_in_all_packs(self, tiny, monkeypatch) -> None:
        model = tiny()
        texts = [BEGINNING + end for end in ("bcde", "fghi", "jklm", "nopq", "rstu", "vwxy")]
        (beginning,) = encoded(model, [BEGINNING])

        assert self.read(model, texts, monkeypatch) == len(beginning) + 6 * 4

    def test_every_node_of_the_trie_is_read_once_however_often_a_prompt_comes(self, tiny, monkeypatch) -> None:
        model = tiny()
        nodes = {tokens[: n + 1] for tokens in encoded(model) for n in range(len(tokens))}

        assert self.read(model, TEXTS * 3, monkeypatch) == len(nodes)


class TestWaves:
    def test_they_depend_on_prompts_and_seeds_alone(self, tiny) -> None:
        model = tiny()
        writer = opened(model)
        pairs = [(sequence, seed) for sequence in encoded(model) for seed in range(5)]

        def waves(pairs) -> list[list[tuple]]:
            sequences, seeds = zip(*pairs, strict=True)
            return [[pairs[i] for i in wave] for wave in writer.waves(sequences, seeds, 8)]

        expected = waves(pairs)

        assert waves(pairs[::-1]) == expected
        assert [len(wave) for wave in expected] == [6] * 14 + [1]
        assert waves([(s, seed) for s, seed in pairs if (s, seed) <= expected[2][-1]]) == expected[:3]


class TestPlain:
    """Where slots do not serve, transformers' own loop does."""

    def test_a_cache_that_is_more_than_keys_and_values(self, tiny) -> None:
        model = tiny("mamba")
        causal = model.backend.model

        writer = Writer(causal, NODES, SLOTS, 2**30)

        assert "not only keys and values" in writer.plain_because
        sequences = encoded(model)
        replies = written(writer, sequences, SEEDS, Sampling(max_new_tokens=6, temperature=0))
        assert replies == [alone(writer, sequence, 6) for sequence in sequences]
        assert [len(wave) for wave in writer.waves(sequences, SEEDS, 6)] == [3] * 5 + [2]

    def test_a_model_that_answers_otherwise(self, tiny, monkeypatch) -> None:
        model = tiny()
        step = Slots.step
        monkeypatch.setattr(Slots, "step", lambda slots, tokens, at: step(slots, tokens, [p - 1 for p in at]))

        assert "nats off" in opened(model).plain_because

    def test_a_model_that_takes_no_cache_of_ours(self, tiny, monkeypatch) -> None:
        model = tiny()
        forward = model.backend.model.forward

        def refuses(input_ids, **inputs):
            if inputs.get("past_key_values") is not None:
                raise TypeError("what is this?")
            return forward(input_ids, **inputs)

        monkeypatch.setattr(model.backend.model, "forward", refuses)

        assert "takes no cache of ours" in opened(model).plain_because

    def test_a_model_that_takes_no_mask_of_ours(self, tiny) -> None:
        causal = tiny().backend.model

        writer = Writer(causal, NODES, SLOTS, 2**30, "so")

        assert writer.plain_because == "so"

    def test_it_is_said(self, tiny, capsys) -> None:
        tiny("mamba").generate(["x"], sampling=Sampling(max_new_tokens=2))

        assert "replies in plain batches" in capsys.readouterr().err
