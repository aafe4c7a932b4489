"""Values, names and marks that break readers of YAML and JSON."""

from typing import Any

BAR = "¦"
"""Between the words of a list; no word has it."""

NUMBERS = [
    0,
    -1,
    1,
    3,
    2**31,
    2**63,
    10**40,
    -0.5,
    -0.0,
    0.5,
    1e308,
]
NO_NUMBERS = [float("inf"), float("nan")]
STRINGS = (
    "¦ ¦x¦é¦none¦../x¦../../etc/passwd¦/etc/passwd¦.¦a.b¦a/b¦a**¦**/*¦*¦%¦[¦{¦}¦{}¦{word}¦{0}"
    "¦{0.__class__}¦{{ 7 * 7 }}¦${¦${active}¦!!python/name:os.system¦a an¦the the¦1e5¦2024-02-30"
    "¦package:x/y¦local:¦gguf:¦hub:x¦\0¦\n¦\x1b[2J¦\u202e¦\ud800"
).split(BAR)
LONG_STRINGS = [
    "x" * 300,
    "a-" * 5000 + "a",
    "*" * 60 + "x",
]
LISTS: list[Any] = [
    [],
    [None],
    [[]],
    [{}],
    [1, "x", None],
    [*range(2000)],
]
MAPPINGS: list[Any] = [
    {},
    {"": 1},
    {None: 1},
    {"value": "x"},
    {"value": None},
    {"a": {"b": {}}},
]
VALUES: list[Any] = [
    *(None, True, False),
    *NUMBERS,
    *NO_NUMBERS,
    *STRINGS,
    *LONG_STRINGS,
    *LISTS,
    *MAPPINGS,
]

WORDS = (
    "¦ ¦a¦A¦a.b¦a/b¦..¦../x¦é¦\0¦size¦true¦null¦1¦${a}¦a: b¦\n¦<<¦-¦a-¦-a¦a--b¦con¦family¦scale"
    "¦kind¦title¦id¦value"
).split(BAR)
NAMES: list[Any] = [
    *WORDS,
    "x" * 300,
    1,
    1.5,
    True,
    None,
]
"""Keys of a mapping; those that are no text are keys of YAML alone."""

MARKS = (
    "\0¦\ufeff¦\t¦\r¦\u2028¦\x1b[31m¦<<<<<<< HEAD\n¦\n=======\n¦\n>>>>>>> other\n¦&a ¦*a ¦&a [*a]"
    "¦<<: *a\n¦!!binary ¦!!python/object:os.system ¦!!set ¦!!omap ¦!!timestamp ¦!x ¦%YAML 1.1\n"
    '¦---\n¦...\n¦? ¦: ¦- ¦\'¦"¦"\\ud800"¦"\\x00"¦|\n¦>\n¦,¦]¦}¦#¦1_000¦.inf¦.nan¦2024-02-30¦~'
    "¦1:2:3"
).split(BAR)
NO_UTF8 = [b"\xff", b"\xff\xfe", b"\x85", b"\xed\xa0\x80"]
LONG_MARKS = [
    b"[" * 2000,
    b"{a: " * 500,
    b"- " * 400,
    b"9" * 5000,
    b"0x" + b"f" * 5000,
]
MARK_BYTES = [*map(str.encode, MARKS), *NO_UTF8, *LONG_MARKS]

BOMB = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
"""A short text of YAML whose aliases stand for 9 to the power of 12 words."""
for _number in range(1, 12):
    _aliases = ", ".join([f"*a{_number - 1}"] * 9)
    BOMB += f"a{_number}: &a{_number} [{_aliases}]\n"
