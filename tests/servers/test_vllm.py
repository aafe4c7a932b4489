"""SmolLM2 behind vLLM: what it says, and what is measured of it, is what is computed here.

`make test-vllm` runs this; no other target does.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from evenruler.evaluate.benchmark import benchmark_at
from evenruler.evaluate.measure import measure
from evenruler.evaluate.subject import Chosen, chosen
from evenruler.instruments.asking import subject_of
from evenruler.instruments.instrument import Request
from evenruler.instruments.registry import room
from evenruler.models.backends.budget import allowing
from evenruler.models.backends.server import KEY, URL
from evenruler.models.catalogue import load
from evenruler.models.model import Model
from evenruler.models.operations import OPERATIONS
from evenruler.models.records import Sampling
from evenruler.models.store import RowStore
from tests.loopback_openai import scorer_of
from tests.servers.conftest import START_TOKEN

pytestmark = [pytest.mark.servers, pytest.mark.enable_socket, pytest.mark.timeout(3600)]

CLOSE, APART = 1e-4, 5e-4
"""Nats a sentence: ours from the same weights computed in float64, and vLLM's from ours. vLLM's own float32 is further
from float64 than ours is."""
WORST = 20
"""Sentences furthest apart, which are computed in float64 too."""
PROBE, FRAMING, STIMULI = "probes-age-competence", "framing-register", 2
Say = Callable[[str], None]


@dataclass(frozen=True)
class Both:
    """The same weights behind vLLM and here."""

    folder: str
    store: RowStore

    def chosen(self, kind: str) -> Chosen:
        start = START_TOKEN if kind == "completions" else None
        return chosen("endpoint:smollm2", self.store, name=kind, kind=kind, start=start)

    def hosted(self, kind: str = "completions") -> Model:
        return load(kind, self.chosen(kind).catalogue, store=self.store)

    @property
    def local(self) -> Model:
        return load("here", chosen(f"local:{self.folder}", self.store, name="here").catalogue, store=self.store)


@pytest.fixture(scope="module")
def both(vllm: str, smollm2: Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("measured")
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {URL: vllm, KEY: "any", "EVENRULER_CACHE": str(folder / "cache")}.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        yield Both(smollm2.backend.model.config.name_or_path, RowStore())


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    """Prints a line of the table of parity."""

    def line(text: str) -> None:
        with capsys.disabled():
            print(f"\n  {text}", end="")

    return line


def requests_of(benchmark: str, subject: Chosen, operation: str, limit: int | None = None) -> list[Request]:
    """What a benchmark asks first of a model that could everything."""
    able = replace(subject_of(subject.name, subject.catalogue), operations=frozenset(OPERATIONS))
    with benchmark_at(benchmark) as found:
        door, tables, plan = room(found.family, "ask"), found.tables, found.plan
        if limit is not None:
            tables, plan = door.limited(tables, plan, limit)
        return [request for request in door.requests(tables, plan, {}, able) if request.operation == operation]


def in_float64(folder: str, texts: Sequence[str]) -> NDArray[np.float64]:
    """Nats of texts from the start token on, one at a time by transformers."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64).eval()
    score = scorer_of(model, AutoTokenizer.from_pretrained(folder))
    return np.array([math.fsum(value for _, value in score(text)) for text in texts])


def test_every_sentence_of_a_probe(both: Both, say: Say) -> None:
    """Whole sentences, each from the start token on."""
    requests = requests_of(PROBE, both.chosen("completions"), "loglikelihood")
    texts = list(dict.fromkeys(text for request in requests for text in request.inputs["text"]))
    assert len(texts) > 2000
    served, here = both.hosted().loglikelihood(texts), both.local.loglikelihood(texts)
    apart = np.abs(served.nats - here.nats)
    worst = np.argsort(apart)[-WORST:]
    exact = in_float64(both.folder, [texts[i] for i in worst])
    say(
        f"{PROBE}: {len(texts):,} sentences, {apart.max():.1e} nats apart at most, {np.median(apart):.1e} in the middle"
    )
    off = [np.abs(found.nats[worst] - exact).max() for found in (here, served)]
    say(f"{PROBE}: the {WORST} furthest apart are {off[0]:.1e} (here) and {off[1]:.1e} (vLLM) from float64 at most")
    assert (served.tokens == here.tokens).all()
    assert off[0] < CLOSE
    assert apart.max() < APART


def test_a_probe_measured(both: Both, say: Say) -> None:
    """`measure` on what the test above has in the store: figures, verdicts and biases are the same."""
    with allowing(0):
        served = measure("endpoint:smollm2", PROBE, name="served", kind="completions", start=START_TOKEN)
    here = measure(f"local:{both.folder}", PROBE, name="here")
    assert served.figures.keys() == here.figures.keys()
    for part, models in here.figures.items():
        for figure, ours in models["here"].items():
            theirs = served.figures[part]["served"][figure]
            assert theirs.get("verdict") == ours.get("verdict"), (part, figure)
            assert theirs["value"] == pytest.approx(ours["value"], abs=2e-3), (part, figure)
    spread = [result.figures["seed"][name]["spread"] for result, name in ((served, "served"), (here, "here"))]
    say(f"{PROBE}: spread {spread[0]['value']} behind vLLM, {spread[1]['value']} here; {spread[0]['verdict']}, both")


def test_choices_of_a_framing_instrument(both: Both, say: Say) -> None:
    """Every word of a decision point after its prompt, and which of them is the likeliest."""
    (request, *_) = requests_of(FRAMING, both.chosen("completions"), "words", STIMULI)
    pairs = list(dict.fromkeys(zip(request.inputs["prompt"], request.inputs["form"], strict=True)))
    by_words: dict[tuple[str, ...], list[str]] = {}
    for prompt in dict.fromkeys(prompt for prompt, _ in pairs):
        by_words.setdefault(tuple(word for own, word in pairs if own == prompt), []).append(prompt)
    apart, choices = [], 0
    for words, prompts in by_words.items():
        served, here = (model.continuations(prompts, words) for model in (both.hosted(), both.local))
        apart.append(np.abs(served - here).max())
        assert (served.argmax(axis=1) == here.argmax(axis=1)).all()
        choices += len(prompts)
    say(f"{FRAMING}: {len(pairs):,} words at {choices:,} decision points, {max(apart):.1e} nats apart at most")
    say(f"{FRAMING}: the likeliest word is the same at all of them")
    assert choices > 10
    assert max(apart) < APART


def test_the_likeliest_replies_in_a_chat(both: Both, say: Say) -> None:
    """Replies that are sampled are drawn by other generators; without chance they are the same words."""
    requests = requests_of("framing-age", both.chosen("chat"), "generate")
    prompts = [prompt for request in requests for prompt in request.inputs["prompt"]][:40]
    sampling = Sampling(max_new_tokens=20, temperature=0)
    served = both.hosted("chat").generate(prompts, sampling=sampling, chat=True)
    here = both.local.generate(prompts, sampling=sampling, chat=True)
    same = sum(one.strip() == other.strip() for one, other in zip(served, here, strict=True))
    say(f"framing-age: {same} of {len(prompts)} replies without chance are the same")
    assert same == len(prompts)


def test_a_framing_instrument_measured_in_chats(both: Both, tmp_path: Path, say: Say) -> None:
    result = measure("endpoint:smollm2", "framing-age", name="chats", kind="chat", limit=3, out=tmp_path)
    assert result.left_out == ["chats (kind chat) is left out of forms: it gives no words at decision points"]
    (models,) = result.figures.values()
    assert models["chats"]
    say(f"framing-age: measured by replies in chats; {len(models['chats'])} figures")
