"""Random edits of texts and of structures in them."""

import io
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ruamel.yaml import YAML

from studies.faults.hostile_values import BOMB, MARK_BYTES, NAMES, VALUES


def edit_yaml(text: bytes, draws: random.Random) -> bytes | None:
    """Change one to three values; None where the text is no YAML, or is none afterwards."""
    with suppress(Exception):
        content = YAML(typ="safe").load(text.decode())
        if not is_filled(content):
            return None
        for _ in range(draws.choice((1, 1, 1, 2, 3))):
            change_value(content, draws)
        out = io.BytesIO()
        YAML(typ="safe", pure=True).dump(content, out)
        return out.getvalue()
    return None


def is_filled(content: Any) -> bool:
    """Return whether there is something in a mapping or a list."""
    return isinstance(content, dict | list) and bool(content)


def change_value(content: Any, draws: random.Random) -> None:
    """Change one value somewhere in a structure."""
    above = holder = content
    while True:
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        if not keys:
            return
        key = draws.choice(keys)
        inner = holder[key]
        if not is_filled(inner) or draws.random() < 0.15:
            break
        above, holder = holder, inner
    act = draws.randrange(8)
    is_mapping = isinstance(holder, dict)
    if act == 0:
        del holder[key]
    elif act in (1, 2):
        holder[key] = draws.choice(VALUES)
    elif act == 3 and is_mapping:
        holder[draws.choice(NAMES)] = holder.pop(key)
    elif act == 4:
        holder[key] = draws.choice(
            (
                [inner],
                {"a": inner},
                [inner] * 3,
                str(inner),
                [inner, above],
            )
        )
    elif act == 5:
        holder[key] = draws.choice((content, above, holder))
    elif act == 6 and is_mapping:
        holder[draws.choice(NAMES)] = draws.choice((inner, draws.choice(VALUES)))
    elif is_mapping:
        other = draws.choice(keys)
        holder[key], holder[other] = holder[other], holder[key]
    else:
        place = draws.randrange(len(holder) + 1)
        holder.insert(
            place,
            draws.choice((inner, draws.choice(VALUES))),
        )


Edit = Callable[[bytes, int, int, random.Random], bytes]
"""Of a text, with the begin and the end of a part of it."""


def replace_byte(text: bytes, start: int, end: int, draws: random.Random) -> bytes:
    """Put any byte in the place of one."""
    return text[:start] + draws.randbytes(1) + text[start + 1 :]


def insert_mark(text: bytes, start: int, end: int, draws: random.Random) -> bytes:
    """Put in what means something in YAML."""
    return text[:start] + draws.choice(MARK_BYTES) + text[start:]


def recode_text(text: bytes, start: int, end: int, draws: random.Random) -> bytes:
    """Write the same in another encoding, or with other ends of lines."""
    decoded = text.decode(errors="replace")
    recoded = [decoded.encode(name) for name in ("utf-16", "utf-32", "utf-8-sig")]
    recoded.append(decoded.encode("latin-1", "replace") + b"\xe9")
    recoded += [text.replace(b"\n", line_end) for line_end in (b"\r\n", b"\r", b"\x00")]
    return draws.choice(recoded)


def change_indents(text: bytes, start: int, end: int, draws: random.Random) -> bytes:
    """Take spaces out, or, one time in ten, mix the lines."""
    if draws.random() >= 0.1:
        return text.replace(b"  ", b" ", draws.randrange(1, 50))
    lines = text.splitlines(keepends=True)
    draws.shuffle(lines)
    return b"".join(lines)


def exchange_words(text: bytes, start: int, end: int, draws: random.Random) -> bytes:
    """Put one word in the place of another."""
    words = text.split(b" ")
    word = draws.choice(words) or b"a"
    return text.replace(
        word,
        draws.choice(words),
        draws.randrange(1, 9),
    )


def replace_all(text: bytes, start: int, end: int, draws: random.Random) -> bytes:
    """Put a bomb beside the text, or something else in its place."""
    bomb = BOMB.encode()
    return draws.choice(
        (
            text + bomb,
            bomb + text,
            b"",
            b"\n",
            b"- a\n",
            b"a\n",
            bomb,
        )
    )


EDITS: tuple[Edit, ...] = (
    replace_byte,
    lambda text, start, end, _: text[:start] + text[end:],
    lambda text, start, end, _: text[:end] + text[start:],
    *[insert_mark] * 4,
    lambda text, start, end, _: text[:start],
    *(recode_text, change_indents, exchange_words, replace_all),
)


def edit_bytes(text: bytes, draws: random.Random) -> bytes:
    """Change a text in one to three ways."""
    for _ in range(draws.choice((1, 1, 2, 3))):
        start = draws.randrange(len(text) + 1)
        length = draws.choice((1, 1, 3, 20, 200, 2000))
        text = draws.choice(EDITS)(text, start, start + length, draws)
    return text
