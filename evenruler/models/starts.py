"""The start of a plain text: the token that stands before it, which models do not agree on.

A tokenizer names its start token, or none (Qwen). Then the configuration may name one, and where it
does not, tools take the end token. Which of them stands before a text changes its likelihood, and
sometimes which of two texts is the likelier; so the start is named in results, can be declared, and
its effect is a figure (`start_flips`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from evenruler.errors import UserError
from evenruler.files import read_json_file

if TYPE_CHECKING:  # which takes seconds to import
    from transformers import PreTrainedConfig, PreTrainedTokenizerBase

DECLARED: Final = "as declared"
OF_TOKENIZER: Final = "the tokenizer's start token"
OF_CONFIGURATION: Final = "the start token of its configuration"
END_TOKEN: Final = "the tokenizer's end token"
TOKENIZER_FILE: Final = "tokenizer_config.json"


@dataclass(frozen=True)
class Start:
    """A token that stands before plain texts."""

    token: str
    source: str
    """Where it comes from, in words: `DECLARED`, `OF_TOKENIZER`, `OF_CONFIGURATION` or
    `END_TOKEN`."""


def usual_starts(tokenizer: "PreTrainedTokenizerBase", config: "PreTrainedConfig") -> list[Start]:
    """The distinct tokens that are usual as a start, the one to take first.

    The tokenizer's start token; that of the model's configuration, if the tokenizer has it; the
    tokenizer's end token. `config`: of a transformers model, of its text part if it has several.
    """
    candidates = {
        OF_TOKENIZER: tokenizer.bos_token_id,
        OF_CONFIGURATION: getattr(config, "bos_token_id", None),
        END_TOKEN: tokenizer.eos_token_id,
    }
    starts: dict[str, Start] = {}
    for source, number in candidates.items():
        token = None if number is None else tokenizer.convert_ids_to_tokens(int(number))
        if isinstance(token, str):
            starts.setdefault(token, Start(token, source))
    return list(starts.values())


def choose_start(
    name: str, declared: str | None, usual: Sequence[Start], tokenizer: "PreTrainedTokenizerBase"
) -> Start:
    """The start of plain texts: the declared one, else the first of the usual ones.

    `name`: the model's, for errors. UserError if the declared one is no single token of the
    tokenizer, or nothing is declared and there is no usual one.
    """
    if declared is None:
        if not usual:
            what = f"the tokenizer of {name} has no start and no end token"
            raise UserError(
                what, where=name, remedy="say `start: TOKEN` in its entry, or --start TOKEN"
            )
        return usual[0]
    if declared not in tokenizer.get_vocab():
        usual_tokens = ", ".join(start.token for start in usual) or "none"
        remedy = f"name one token as its vocabulary writes it; usual here: {usual_tokens}"
        raise UserError(f"{declared!r} is no token of {name}", where="start", remedy=remedy)
    return Start(declared, DECLARED)


def other_start(start: Start, usual: Sequence[Start]) -> Start | None:
    """The first usual start that is another token than `start`; None if there is none."""
    return next((candidate for candidate in usual if candidate.token != start.token), None)


def read_start(name: str, folder: Path, declared: str | None = None) -> Start | None:
    """The start that a causal model in a folder will have, read from its files; None where these do
    not tell.

    Most files of tokenizers name the start token. Where they do not, the tokenizer is loaded, which
    takes seconds.
    """
    if declared is not None:
        return Start(declared, DECLARED)
    token = _start_in(folder / TOKENIZER_FILE)
    if token:
        return Start(token, OF_TOKENIZER)
    from transformers import AutoConfig, AutoTokenizer

    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
        return choose_start(
            name, None, usual_starts(tokenizer, config.get_text_config()), tokenizer
        )
    except Exception:  # the error recurs when the model is loaded
        return None


def start_in_key(name: str, folder: Path, declared: str | None) -> dict[str, str]:
    """What an engine string says of the start: nothing where the tokenizer's start or end token is
    taken.

    These follow from files that the string covers. A declared start does not, and answers from
    before the configuration's was taken are to another start.
    """
    names_start = _start_in(folder / TOKENIZER_FILE) is not None
    configured = read_json_file(folder / "config.json", dict)
    numbers = (
        configured.get("bos_token_id"),
        (configured.get("text_config") or {}).get("bos_token_id"),
    )
    if declared is None and (names_start or numbers == (None, None)):
        return {}
    start = read_start(name, folder, declared)
    return {"start": start.token} if start and start.source in (DECLARED, OF_CONFIGURATION) else {}


def _start_in(path: Path) -> str | None:
    """The start token that a tokenizer's file names; None if there is no such file or token."""
    token = read_json_file(path, dict).get("bos_token") if path.exists() else None
    token = token.get("content") if isinstance(token, dict) else token
    return token if isinstance(token, str) else None
