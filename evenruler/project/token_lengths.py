"""How many tokens models make of words, as far as their tokenizers are at hand: nothing is fetched or converted."""

import json
from collections.abc import Sequence
from pathlib import Path

from evenruler.files import replace
from evenruler.models.declared import ModelEntry
from evenruler.models.store import cache_root
from evenruler.tables.ids import content_sha256

KEPT = "token-lengths.json"
"""In the cache: what was counted, since a tokenizer takes a second to load."""

FILE = "tokenizer.json"


def tokenizer_of(root: Path, name: str, entry: ModelEntry) -> Path | None:
    """The tokenizer of a model, if it is here.

    Args:
        root: The repository.
        name: Of the model.
        entry: In the catalogue.
    """
    place = entry.locations[0][1]
    if entry.scheme == "local":
        found = [root / place / FILE]
    elif entry.scheme == "package":
        found = sorted((cache_root() / "models").glob(f"{name}-*/{FILE}"))
    elif entry.scheme == "hub":
        from huggingface_hub import try_to_load_from_cache

        known = try_to_load_from_cache(place, FILE, revision=entry.revision)
        found = [Path(known)] if isinstance(known, str) else []
    else:
        found = []
    return next((path for path in found if path.is_file()), None)


def lengths(tokenizer: Path, words: Sequence[str]) -> list[int]:
    """Tokens of each word as it stands within a sentence, after a space.

    Args:
        tokenizer: `tokenizer.json` of a model.
        words: n words.
    """
    state = tokenizer.stat()
    key = content_sha256(str(tokenizer), state.st_mtime_ns, state.st_size, list(words))
    path = cache_root() / KEPT
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        known = {}
    if key not in known:
        from tokenizers import Tokenizer

        encoded = Tokenizer.from_file(str(tokenizer)).encode_batch([f" {word}" for word in words], False)
        known[key] = [len(one.ids) for one in encoded]
        path.parent.mkdir(parents=True, exist_ok=True)
        replace(path, json.dumps(known))
    found: list[int] = known[key]
    return found
