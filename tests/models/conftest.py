import json
import string
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from evenruler.models import load
from evenruler.models.backends.causal import CAPACITY, Capacity
from evenruler.models.declarations import ModelEntry
from evenruler.models.engines import environment
from evenruler.models.model import Model
from evenruler.models.store import RowStore
from tests.tiny import save_tiny, tiny_params

# Every kind of start, shared and unshared, longer than a sliding window of 4 tokens, with bytes
# outside ASCII.
TEXTS = [
    "The man is at the theatre, and the woman is a manager.",
    "The man is at the theatre, and the woman is a painter.",
    "The man is at the theatre",
    "The man is",
    "the man is a man",
    "In this story, the main character is a brother who is also an archivist.",
    "In this story, the main character is a sister who is also an archivist.",
    "naïve café — 東京 🎉",
    "x",
]


ErrorOf = Callable[..., str]
"""What the fixture `error_of` is: the line of an error of the user."""


@pytest.fixture
def load_saved(tmp_path):
    """Loads the model of a folder; from a store that is empty unless one is given."""
    numbers = count()

    def open_model(folder, *, store=None, **entry):
        store = store or RowStore(tmp_path / f"fresh-{next(numbers)}")
        return load(
            "tiny",
            tiny_params({"tiny": folder}, **entry),
            store=store,
        )

    return open_model


@pytest.fixture
def tiny(tmp_path: Path, load_saved) -> Callable[..., Model]:
    """Makes a tiny model in a folder of its own and a store that is empty unless one is given."""
    numbers = count()

    def save_and_load(kind="llama", *, store=None, entry=None, **options):
        folder = save_tiny(
            tmp_path / f"tiny-{next(numbers)}",
            kind,
            **options,
        )
        return load_saved(folder, store=store, **(entry or {}))

    return save_and_load


@pytest.fixture
def open_model(llama_folder, tmp_path):
    """Opens the same tiny model on a store in a folder, as another process would."""
    params = tiny_params({"tiny": llama_folder})
    return lambda where="store": load("tiny", params, store=RowStore(tmp_path / where))


@pytest.fixture
def set_capacity(monkeypatch):
    """Has packs that hold no more than so many nodes, on a CPU."""

    def set_nodes(nodes):
        monkeypatch.setitem(CAPACITY, "cpu", Capacity(nodes=nodes, sequences=4, replies=4))
        monkeypatch.setattr(environment, "choose_device", lambda wanted: "cpu")

    return set_nodes


@pytest.fixture(scope="session")
def llama_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny llama with a chat template, for tests that change nothing in its folder."""
    return save_tiny(tmp_path_factory.mktemp("llama"), chat=True)


@pytest.fixture(scope="session")
def chat_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with a context of 1,024 tokens."""
    folder = tmp_path_factory.mktemp("chat") / "tiny"
    return save_tiny(folder, chat=True, max_position_embeddings=1024)


@pytest.fixture
def model(chat_folder: Path) -> Any:
    """As transformers loads it, to be changed."""
    return AutoModelForCausalLM.from_pretrained(chat_folder).eval()


@pytest.fixture
def tokenizer(chat_folder: Path) -> Any:
    return AutoTokenizer.from_pretrained(chat_folder)


@pytest.fixture
def llama(llama_folder: Path, store: RowStore) -> Model:
    return load(
        "tiny",
        tiny_params({"tiny": llama_folder}),
        store=store,
    )


def with_lora(model: Any, seed: int = 0, **settings: Any) -> Any:
    """A causal model with a random LoRA."""
    from peft import LoraConfig, get_peft_model

    with torch.random.fork_rng():
        torch.manual_seed(seed)
        config = LoraConfig(r=2, init_lora_weights=False, **settings)
        return get_peft_model(model, config).eval()


def change_json(path: Path, **changes: Any) -> None:
    """Set keys of a JSON file."""
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def model_entry(kind: str = "causal", source: Any = "local:x", **fields: Any) -> ModelEntry:
    """An entry of a catalogue."""
    terms = {"licence": "mit", "origin": "here"}
    return ModelEntry.model_validate({"kind": kind, "source": source, **terms, **fields})


def raw_nats(
    model: Any, tokenizer: Any, text: str, start: str | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    """[tokens, vocabulary] log-probabilities before each token of one text through the raw
    transformers model, nothing else in it; and the tokens.

    The softmax is float64: the float32 log_softmax of PyTorch on a CPU errs by up to 5e-4 nats a
    sentence over 262,144 entries, more than what is tested.
    """
    begin = tokenizer.convert_tokens_to_ids(start or tokenizer.bos_token or tokenizer.eos_token)
    ids = torch.tensor([[begin, *tokenizer(text, add_special_tokens=False)["input_ids"]]])
    with torch.inference_mode():
        logits = model(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False).logits
    nats = logits[0, :-1].double().log_softmax(-1)
    return nats, ids[0, 1:]


def raw_token_nats(model: Any, tokenizer: Any, text: str, start: str | None = None) -> np.ndarray:
    """[tokens] log-probability of each token of one text, as `raw_nats` has it."""
    nats, tokens = raw_nats(model, tokenizer, text, start)
    return nats.gather(1, tokens[:, None]).flatten().numpy()


@pytest.fixture(scope="session")
def plain_reference() -> Callable[..., np.ndarray]:
    """[n] nats of texts, one at a time through the raw transformers model behind a stored one."""

    def nats(model: Model, texts: list[str]) -> np.ndarray:
        backend = model.backend
        return np.array(
            [raw_token_nats(backend.model, backend.tokenizer, text).sum() for text in texts]
        )

    return nats


def tiny_stands_alone(tokenizer: Any) -> list[int]:
    """Those that leave it alone: no digit, and no letter after a space; of two bytes and more only
    merges begin so."""
    spaced = {"\u0120t", "\u0120the", "\u0120a", "\u0120is"}
    vocabulary = tokenizer.get_vocab()
    goes_on = {i for name, i in vocabulary.items() if name in spaced or name in string.digits}
    return [i for i in tiny_word_ends(tokenizer) if i not in goes_on]


def tiny_word_ends(tokenizer: Any) -> list[int]:
    """Tokens of the tiny models that end a word, by the alphabet of byte-level BPE.

    ASCII letters stand for themselves, as do the bytes 161 to 255, which are parts of characters;
    so are those from 128 to 160, written as what comes after U+0121. A space is U+0120.
    """
    special = {"<s>", "</s>", "<pad>"}
    names = {i: name for name, i in tokenizer.get_vocab().items()}
    broken = map(chr, [*range(161, 256), *range(0x122, 0x200)])
    letters = {*string.ascii_letters, *broken}
    goes_on = [i for i, name in names.items() if name[0] in letters]
    return [i for i in names if i not in goes_on or names[i] in special]
