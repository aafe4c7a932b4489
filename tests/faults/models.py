"""Models whose files are damaged, replaced or hostile."""

import json
import os
import pickle
import shutil
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any
from unittest.mock import patch

import torch
from safetensors.torch import load_file, save_file
from transformers import AutoTokenizer

from evenruler.models import load
from evenruler.models.model import Model
from evenruler.models.store import RowStore
from tests.faults.cases import Case, Outcome, Seen, doing, refusals
from tests.models.test_loading import save_gguf
from tests.tiny import catalogue_of, save_tiny, tiny_declaration, tiny_params
from tests.tiny_masked import save_tiny_bert

ASK, CHAT = "ask a model in a folder", "ask a model in a chat"
TEXT = "The man is"
WEIGHTS = "model.safetensors"


@cache
def _whole() -> Path:
    """A tiny model that chats, to be copied."""
    return save_tiny(Path(mkdtemp()) / "tiny", chat=True)


def _copied(folder: Path) -> Path:
    return Path(shutil.copytree(_whole(), folder / "model"))


def _model(folder: Path) -> Model:
    return load(
        "tiny", tiny_params({"tiny": folder / "model"}, chat=True), store=RowStore(folder / "store")
    )


def _asks(harm: Callable[[Path], object], folder: Path) -> Seen:
    """Nothing of a model that is refused is kept."""
    harm(_copied(folder))
    seen = doing(lambda: _model(folder).loglikelihood([TEXT]))
    n_kept = 2 if seen.status == 0 else 0  # with a fingerprint
    assert RowStore(folder / "store").count() == n_kept
    return seen


def _chats(template: str, folder: Path) -> Seen:
    (_copied(folder) / "chat_template.jinja").write_text(template)
    with patch("evenruler.models.templates.SECONDS", 1):
        return doing(lambda: _model(folder).generate([TEXT], system="Be brief."))


def _configured(model: Path, **settings: object) -> None:
    _settings(FILES[0], model, **settings)


def _masks(change: Callable[[Path], object], folder: Path) -> Seen:
    """A masked model, changed, which is asked for the first time."""
    change(save_tiny_bert(folder / "model"))
    models = tiny_params({"tiny": folder / "model"}, kind="masked")
    store = RowStore(folder / "store")
    return doing(lambda: load("tiny", models, store=store).pll(["The man is"]))


def _settings(file: str, model: Path, **settings: object) -> None:
    content = json.loads((model / file).read_text())
    (model / file).write_text(json.dumps({**content, **settings}))


def _no_unknown_token(model: Path) -> None:
    """The vocabulary has another word in place of the token for words that it does not know."""
    path = model / "tokenizer.json"
    content = json.loads(path.read_text())
    unknown = content["model"]["unk_token"]
    vocabulary = content["model"]["vocab"]
    vocabulary["another"] = vocabulary.pop(unknown)
    special = content["added_tokens"]
    content["added_tokens"] = [token for token in special if token["content"] != unknown]
    path.write_text(json.dumps(content))
    _settings("tokenizer_config.json", model, unk_token=None)


def _half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _half_of_weights(folder: Path) -> None:
    (folder / WEIGHTS).write_bytes(_half((folder / WEIGHTS).read_bytes()))


def _another_bit(folder: Path) -> None:
    changed = bytearray((folder / WEIGHTS).read_bytes())
    changed[-9] ^= 1
    (folder / WEIGHTS).write_bytes(changed)


def _not_a_number(folder: Path) -> None:
    weights = load_file(folder / WEIGHTS)
    weights["model.norm.weight"][3] = torch.nan
    save_file(weights, folder / WEIGHTS, metadata={"format": "pt"})


class _Runs:
    """What a pickle of it runs where it is read without care."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return os.mkdir, (str(self.marker),)


def _pickled(dump: Callable[[object, Path], object], folder: Path) -> Seen:
    ran = folder / "ran"

    def harm(model: Path) -> None:
        (model / WEIGHTS).unlink()
        dump(_Runs(ran), model / "pytorch_model.bin")

    seen = _asks(harm, folder)
    assert not ran.exists()
    return seen


_OWN = """
from pathlib import Path
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
Path({!r}).mkdir()
class Config(LlamaConfig): pass
class Model(LlamaForCausalLM): pass
class Tokenizer(PreTrainedTokenizerFast): pass
"""
_MODEL = {"auto_map": {"AutoConfig": "own.Config", "AutoModelForCausalLM": "own.Model"}}
_TOKENIZER = {"auto_map": {"AutoTokenizer": ["own.Tokenizer", None]}, "tokenizer_class": "Own"}


def _brings_code(file: str, says: dict[str, Any], folder: Path) -> Seen:
    """It is not run, and nobody is asked whether to."""
    ran = folder / "ran"

    def harm(model: Path) -> None:
        (model / "own.py").write_text(_OWN.format(str(ran)))
        settings = json.loads((model / file).read_text())
        (model / file).write_text(json.dumps({**settings, **says}))

    seen = _asks(harm, folder)
    assert not ran.exists()
    return seen


def _replaced(folder: Path) -> Seen:
    """Weights that change after their key was made, and then those: each answers for itself."""
    weights = _copied(folder) / WEIGHTS
    first = _model(folder).loglikelihood([TEXT]).nats
    model = _model(folder)
    save_tiny(folder / "model", seed=1, chat=True)
    seen = doing(lambda: model.loglikelihood(["another"]))
    assert RowStore(folder / "store").count() == 2  # with a fingerprint
    later = _model(folder)
    assert later.loglikelihood([TEXT]).nats != first
    assert later.asked == 1
    assert weights.exists()
    return seen


def _converted(harm: Callable[[Path], object], folder: Path) -> Seen:
    """A converted model is converted again, and answers as before; what was kept of it stays."""
    file = save_gguf(folder / "tiny.gguf")
    store = RowStore(folder / "store")

    def model() -> Model:
        return load("tiny", catalogue_of(declared), store=store)

    declared = tiny_declaration({"tiny": file})
    first = model().loglikelihood([TEXT]).nats
    (converted,) = (folder / "store" / "models").glob("*/model.safetensors")
    harm(converted)
    seen = doing(lambda: model().loglikelihood([TEXT, "another"]))
    again = model().loglikelihood([TEXT]).nats
    assert again == first
    assert store.count() == (3 if seen.status == 0 else 2)  # with a fingerprint
    return seen


def _cut_gguf(folder: Path) -> Seen:
    file = save_gguf(folder / "tiny.gguf")
    file.write_bytes(_half(file.read_bytes()))
    store = RowStore(folder / "store")
    return doing(lambda: load("tiny", tiny_params({"tiny": file}), store=store).backend)


def _in_shards(place: str, folder: Path) -> Path:
    """Half of the weights under a name that an index gives; where that is."""
    weights = load_file(folder / WEIGHTS)
    (folder / WEIGHTS).unlink()
    shard = folder / place
    shard.parent.mkdir(exist_ok=True)
    names = sorted(weights)
    here, elsewhere = names[::2], names[1::2]
    for half, path in ((here, folder / "own.safetensors"), (elsewhere, shard)):
        save_file({name: weights[name] for name in half}, path, metadata={"format": "pt"})
    where = dict.fromkeys(here, "own.safetensors") | dict.fromkeys(elsewhere, place)
    index = {"metadata": {"total_size": 1}, "weight_map": where}
    (folder / f"{WEIGHTS}.index.json").write_text(json.dumps(index))
    return shard


def _linked(folder: Path) -> None:
    """Half of the weights in a folder elsewhere, which a link makes part of the model's."""
    (folder.parent / "elsewhere").mkdir()
    (folder / "part").symlink_to(folder.parent / "elsewhere")
    _in_shards("part/other.safetensors", folder)


def _more_tokens(folder: Path, **roles: str) -> None:
    """A tokenizer with one token that the model has no embedding of."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    tokenizer.add_tokens(["<new>"])
    for role, token in roles.items():
        setattr(tokenizer, role, token)
    tokenizer.save_pretrained(folder)


def _reads(text: str, harm: Callable[[Path], object], folder: Path) -> Seen:
    harm(_copied(folder))
    return doing(lambda: _model(folder).loglikelihood([text]))


def _zero_page(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:-8192] + bytes(4096) + content[-4096:])


FILES = ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json")
LOADS = ("does not load", "see its `source`")
OF_WEIGHTS = "take the configuration of these weights"
LACKS = ("does not load", "take a version of the model that asks for no such package")
BEYOND = ("number 267 ('<new>')", "resize")
PACKAGES = {
    "GPTQ": {"quantization_config": {"quant_method": "gptq", "bits": 4}},
    "flash attention": {"attn_implementation": "flash_attention_2"},
}
"""What a configuration asks for that is not installed, by name."""

PICKLE = ("does not load", "pickle of more than tensors")
CODE = ("does not load", "custom code")
OUTSIDE = "not among the weights"


def _two_links(folder: Path) -> None:
    _linked(folder)
    _configured(folder, transformers_weights="part/other.safetensors")


def _at_a_path_of_the_machine(folder: Path) -> None:
    _in_shards(str(folder.parent / "outside.safetensors"), folder)


def _no_such_user(folder: Path) -> Seen:
    return doing(lambda: tiny_params({"tiny": Path("~nobody-of-this-name/model")}))


HARMED: dict[str, tuple[Any, ...]] = {
    "half of the weights": (_half_of_weights, *LOADS),
    "half of the weights outside the folder": (
        partial(_in_shards, "../outside.safetensors"),
        "index.json",
        OUTSIDE,
        "outside.safetensors",
    ),
    "half of the weights at a path of the machine": (
        _at_a_path_of_the_machine,
        "index.json",
        OUTSIDE,
    ),
    "half of the weights behind a link": (_linked, OUTSIDE),
    "weights of another name behind a link": (_two_links, "config.json", OUTSIDE),
    "no weights": (lambda model: (model / WEIGHTS).unlink(), "no weights"),
    "config.json is nested without end": (
        lambda model: (model / FILES[0]).write_text("[" * 100_000),
        *LOADS,
    ),
    "no config.json": (lambda model: (model / FILES[0]).unlink(), "no config.json"),
    "no tokenizer": (lambda model: (model / FILES[1]).unlink(), "no tokenizer"),
    "a weight that is no number": (_not_a_number, "what is no number", "dtype"),
}
NAMES = {str(label): "a" for label in range(10**5)}
LAYERS = "num_hidden_layers is 10,000,000, and its files have 30 tensors of at most 267 rows"
TOO_LARGE: dict[str, dict[str, object]] = {
    "num_labels is 1,000,000,000": {"num_labels": 1_000_000_000},
    "id2label is 100,000": {"id2label": NAMES},
    LAYERS: {"num_hidden_layers": 10_000_000},
}
TOO_LARGE["n_layer is 20,000,000"] = {"text_config": {"n_layer": 20_000_000}}
"""Settings of a configuration that its weights do not allow, by what the line says."""

HARMED |= {
    f"a configuration in which {line}": (partial(_configured, **settings), line, OF_WEIGHTS)
    for line, settings in TOO_LARGE.items()
}
HARMED |= {
    f"{file} is a list": (lambda model, file=file: (model / file).write_text("[]"), *LOADS)
    for file in FILES
}
HARMED |= {
    f"a model that wants {name}": (partial(_configured, **wants), *LACKS)
    for name, wants in PACKAGES.items()
}

TIME, MEMORY = "more than 1 seconds", "MiB of memory"
TEMPLATES = {
    "without a system prompt": (
        "{{ raise_exception('no system role') }}",
        "no system role",
        "chat: false",
    ),
    "that is cut": ("{% if", "chat template", "chat: false"),
    "that reaches for classes": ("{{ ''.__class__.__mro__ }}", "unsafe", "chat: false"),
    "of loops in loops": (
        "{% for x in range(99999) %}{% for y in range(99999) %}{% endfor %}{% endfor %}",
        TIME,
        "chat: false",
    ),
    "that calls itself": (
        "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}"
        "{{ f(60) }}",
        TIME,
    ),
    "with a step that takes long": ("{{ (9 ** (9 ** 9)) > 1 }}", TIME),
    "with a text that takes memory": ("{{ 'a' * 10 ** 10 }}", MEMORY),
    "that pads without measure": ("{{ 'a' | center(10 ** 10) }}", MEMORY),
    "that writes without measure": (
        "{{ messages[0]['content'] * 1000000 }}",
        "more than 1,000,000 characters",
    ),
}

CASES = [
    Case(
        "a page of zeros in a converted GGUF", ASK, Outcome.RESUMED, partial(_converted, _zero_page)
    ),
    Case(
        "a converted GGUF without weights", ASK, Outcome.RESUMED, partial(_converted, Path.unlink)
    ),
    *refusals(
        ASK,
        {
            "a GGUF that is cut": (_cut_gguf, "corrupt", "get the file again"),
            "a text with a token that the model has not": (
                partial(_reads, "The <new> man", _more_tokens),
                *BEYOND,
            ),
            "a start token that the model has not": (
                partial(_reads, TEXT, partial(_more_tokens, bos_token="<new>")),
                *BEYOND,
            ),
            "a folder of somebody who is not there": (
                _no_such_user,
                "~nobody-of-this-name",
                "no such user",
            ),
            "weights that are a pickle of a command": (
                partial(_pickled, lambda trap, path: path.write_bytes(pickle.dumps(trap))),
                *PICKLE,
            ),
            "weights of PyTorch with a command in them": (
                partial(_pickled, lambda trap, path: torch.save({"a": trap}, path)),
                *PICKLE,
            ),
            "code of its own for an unknown model": (
                partial(_brings_code, FILES[0], {**_MODEL, "model_type": "own"}),
                *CODE,
            ),
            "code of its own for a tokenizer": (
                partial(_brings_code, FILES[2], _TOKENIZER),
                *CODE,
            ),
            "a longest text that is a word": (
                partial(_masks, partial(_settings, FILES[2], model_max_length="x")),
                *LOADS,
            ),
            "answers of the first run that are no object": (
                partial(_masks, partial(_configured, return_dict=False)),
                *LOADS,
            ),
            "no token for words that are unknown": (
                partial(_masks, _no_unknown_token),
                "Missing [UNK]",
                *LOADS,
            ),
            "other weights after the key was made": (
                _replaced,
                "changed while it was in use",
                "run again",
            ),
        }
        | {fault: (partial(_asks, harm), *says) for fault, (harm, *says) in HARMED.items()},
    ),
    Case(
        "another bit in a user's own weights", ASK, Outcome.UNHARMED, partial(_asks, _another_bit)
    ),
    Case(
        "a text without the token that the model has not",
        ASK,
        Outcome.UNHARMED,
        partial(_reads, TEXT, _more_tokens),
    ),
    Case(
        "code of its own for a known model",
        ASK,
        Outcome.UNHARMED,
        partial(_brings_code, FILES[0], _MODEL),
    ),
    *refusals(
        CHAT,
        {
            f"a chat template {fault}": (partial(_chats, template), *says)
            for fault, (template, *says) in TEMPLATES.items()
        },
    ),
]
