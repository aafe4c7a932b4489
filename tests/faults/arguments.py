"""Wrong words after commands: for every argument, and every option that takes a value, some that it
refuses.

`tests/test_cli.py` compares `WRONG` with the program's own list.
"""

import shutil
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

from tests.faults.cases import Case, Outcome, Seen, evenruler
from tests.results.synthetic import gain_of, stored, synthetic
from tests.text_tables import yaml_of_text
from tests.tiny import save_tiny

ROOT = Path(__file__).parents[2]
PROBES, FRAMING = "benchmarks/probes-age-competence", "benchmarks/framing-age"
LONG, LONGER = "x" * 150, "x" * 300
"""Names that are longer than ours may be, and than a file system takes."""


@cache
def repository() -> Path:
    """A repository that no case may change, with a tiny model, once more under a long name, and a
    file."""
    folder = Path(mkdtemp())
    shutil.copy(ROOT / "params.yaml", folder)
    shutil.copytree(ROOT / "data/sources", folder / "data/sources")
    for name in (PROBES, FRAMING):
        shutil.copytree(ROOT / name, folder / name)
    save_tiny(folder / "tiny", chat=True, max_position_embeddings=1024)
    (folder / LONG).symlink_to("tiny")
    (folder / "file").write_text("no result")
    for name in ("one", "two"):
        stored(folder / "results", synthetic(name), gain_of(name, 1.0))
    return folder


def read_wrong() -> dict[str, Any]:
    """By command: its arguments as they would be `right`, `more` that it needs, and by argument or
    option what is `wrong`."""
    text = Path(__file__).with_suffix(".yaml").read_text()
    for word, long in {"<LONG>": LONG, "<LONGER>": LONGER, "<DIGITS>": "9" * 5000}.items():
        text = text.replace(word, long)
    return dict(yaml_of_text(text))


WRONG = read_wrong()

ANY = {"measure --effort", "release --message", "repro words"}
"""What takes every word: one in the language of a model, a sentence, the arguments of `dvc
repro`."""


def _tried(command: str, option: str, folder: Path) -> Seen:
    """All wrong values of an option: each ends with status 2 and one line, the last, which begins
    with "error"."""
    declared = WRONG[command]
    arguments, more = declared.get("right", {}), declared.get("more", "").split()
    env = {"EVENRULER_CACHE": str(folder / "cache")}
    for value in declared["wrong"][option]:
        words = [*({option: ""} | arguments | {option: value}).values(), *more]
        if option[0] == "-":
            words = [*arguments.values(), *more, option, value]
        seen = evenruler(*command.split(), *words, folder=repository(), env=env)
        assert (seen.status, "Traceback" in seen.errors) == (2, False), (words, seen)
        is_error = [line.startswith(("error: ", "Error: ")) for line in seen.errors.splitlines()]
        assert (
            is_error.count(True),
            is_error[-1],
        ) == (1, True), (words, seen)
    return Seen(2, seen.errors.replace("Error: ", "error: "))


CASES = []
for _command, _declared in WRONG.items():
    for _option in _declared["wrong"]:
        _act = partial(_tried, _command, _option)
        _fault = f"wrong words for {_option}"
        CASES.append(Case(_fault, f"evenruler {_command}", Outcome.REFUSED, _act))
