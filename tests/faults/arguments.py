"""Wrong words after commands: for every argument, and every option that takes a value, some that it
refuses.

`tests/test_cli.py` compares `WRONG` with the program's own list.
"""

import shutil
from functools import cache, partial
from pathlib import Path
from tempfile import mkdtemp

from tests.faults.cases import Case, Outcome, Seen, evenruler
from tests.results.synthetic import gain_of, stored, synthetic
from tests.tiny import save_tiny

ROOT = Path(__file__).parents[2]
PROBES, FRAMING = "benchmarks/probes-age-competence", "benchmarks/framing-age"
LONG, LONGER, ESC = "x" * 150, "x" * 300, "\x1b[2J"
"""Names that are longer than ours may be, and than a file system takes; what steers a terminal."""


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


NAMES = ("nobody", "", "Capitals", "../x", ESC, LONGER)
PLACES = ("nowhere", "", "file", ESC, LONGER, "HEAD:benchmarks/none", "none@v1.0.0")
RESULTS = ("nowhere", "tiny", "file", ESC, LONGER)
FILES = ("none", "tiny", ESC, LONGER)
ENGINE, WORD = ("spark", ""), ("none", "")
COUNT, NUMBER = ("0", "-1", "1.5", "many", ""), ("-1", "much", "")
MODELS = (
    *(
        "",
        "nobody",
        "hub:",
        "local:",
        "local:none",
        "local:~nobody/x",
        "local:file",
        f"local:{LONG}",
        f"local:{LONGER}",
    ),
    *(
        "x:y",
        "endpoint:",
        f"endpoint:{LONG}",
        "recorded:",
        "recorded:none",
        "package:",
        "package:none/x",
        "none.gguf",
    ),
    *(ESC, "planted:a", "planted:smollm2-135m-instruct/none/1/1"),
)

# By command: its arguments as they would be right, more that it needs, and by argument or option
# what is wrong.
WRONG: dict[str, tuple[dict[str, str], str, dict[str, tuple[str, ...]]]] = {
    "measure": (
        {"model": "local:tiny"},
        f"--with {PROBES} --size trial --limit 3 --out out",
        {
            "model": MODELS,
            "--with": (
                "nowhere",
                "",
                "none.yaml",
                "file",
                ESC,
                LONGER,
                "HEAD:benchmarks/none",
                "a/b/c",
            ),
            "--unit": ("subject", ""),
            "--out": ("file", "file/x", LONGER, "/dev/null/x"),
            "--device": ("gpu", "cuda:99", ""),
            "--limit": COUNT,
            "--size": WORD,
            "--form": (*WORD, ESC),
            "--name": ("A B", LONG, LONGER, "", "-", ESC),
            "--kind": (*WORD, "chat"),
            "--dtype": ("float64", ""),
            "--start": ("<start>", ""),
            "--thinking": ("on", "-1", "1.5", "", "9" * 5000),
            "--template": ("x", "=1", ""),
            "--new-tokens": COUNT,
            "--timeout": COUNT,
            "--answers-as": ("x",),
            "--format": WORD,
            "--max-requests": NUMBER,
            "--price": ("1", "a,b", "-1,2", "1,2,3", "nan,1", "1,inf", ""),
            "--max-cost": (*NUMBER, "nan"),
            "--engine": ENGINE,
        },
    ),
    "profile": ({"name": "paper"}, "", {"name": NAMES}),
    "new": ({"family": "probes", "name": "mine"}, "", {"family": NAMES, "name": NAMES[1:]}),
    "finetune": ({"name": "mpnet-nli"}, "", {"name": NAMES}),
    "plant": (
        {"name": "occupation-gender"},
        "",
        {
            "name": NAMES,
            "--base": NAMES,
            "--dose": ("nan", "inf", "much", ""),
            "--seed": COUNT,
            "--at-once": COUNT,
        },
    ),
    "weigh": (
        {"benchmarks": PROBES},
        "--limit 3",
        {
            "benchmarks": (*PLACES, "none.yaml"),
            "--plant": NAMES,
            "--base": NAMES,
            "--size": WORD,
            "--limit": COUNT,
            "--form": (*WORD, ESC),
            "--at-once": COUNT,
        },
    ),
    "publish": (
        {"name": "probes-age-competence"},
        "--to you/it --dry-run",
        {"name": NAMES, "--to": ("", "x", "a b/c", "a/b/c", ESC)},
    ),
    "list": ({}, "", {"name": PLACES, "--format": WORD}),
    "verify": ({"place": PROBES}, "", {"place": PLACES, "--with": PLACES, "--ask": MODELS}),
    "diff": (
        {"old": PROBES, "new": PROBES},
        "",
        {
            "old": PLACES,
            "new": (*PLACES, FRAMING),
            "--format": WORD,
            "--tolerance": (*NUMBER, "nan"),
        },
    ),
    "release": ({"name": "probes-age-competence"}, "--dry-run", {"name": NAMES}),
    "compare": (
        {"places": "results"},
        "",
        {
            "places": RESULTS,
            "--format": WORD,
            "--page": ("", "file/x", LONGER, "tiny", "/dev/null/x"),
        },
    ),
    "gate": (
        {"places": "results"},
        "",
        {
            "places": RESULTS,
            "--fail-on": (*WORD, ESC),
            "--max": ("x", "a=b", "=1", "a=", "probes-made-up:spread=nan", "none:x=1"),
            "--baseline": RESULTS,
        },
    ),
    "export": (
        {"places": "results"},
        "--to exported",
        {
            "places": RESULTS,
            "--to": ("file", "file/x", LONGER),
            "--id": ("x", "=y", "nobody=a/b", "one="),
            "--date": ("x", "2026-13-01", "", "20260101"),
            "--relationship": WORD,
        },
    ),
    "repro": ({}, "", {"--profile": WORD}),
    "answers export": (
        {"model": "smollm2-135m-instruct"},
        "",
        {"model": NAMES, "--out": ("", "file", "tiny"), "--profile": WORD},
    ),
    "answers record": ({"release": "2026-11-26"}, "", {"release": NAMES}),
    "evolve": (
        {"name": "age-competence"},
        "",
        {"name": NAMES, "--engine": ENGINE, "--profile": WORD},
    ),
    "ratings sheet": (
        {"domains": "age-competence"},
        "",
        {
            "domains": NAMES,
            "--sets": WORD,
            "--human": FILES,
            "--out": ("file", LONGER),
            "--seed": ("x", "", "1.5"),
        },
    ),
    "ratings read": (
        {"sheets": "file"},
        "--key file",
        {"sheets": FILES, "--key": FILES, "--out": ("file", LONGER)},
    ),
    "translate": ({"scale": "file"}, "", {"scale": FILES, "--model": NAMES}),
    "refresh": ({"domain": "fruit"}, "", {"domain": NAMES}),
    "find": ({"domain": "fruit"}, "", {"domain": NAMES}),
    "plan": (
        {"domain": "fruit"},
        "",
        {"domain": NAMES, "--difference": ("nan", "-1", "0", "much", "")},
    ),
}

ANY = {"measure --effort", "release --message", "repro words"}
"""What takes every word: one in the language of a model, a sentence, the arguments of `dvc
repro`."""


def _tried(command: str, option: str, folder: Path) -> Seen:
    """All wrong values of an option: each ends with status 2 and one line, the last, which begins
    with "error"."""
    given, more, wrong = WRONG[command]
    for value in wrong[option]:
        words = [
            value if name == option else right
            for name, right in ({option: ""} | given).items()
            if name[0] != "-"
        ]
        words = [
            *command.split(),
            *words,
            *more.split(),
            *([option, value] if option[0] == "-" else []),
        ]
        seen = evenruler(
            *words, folder=repository(), env={"EVENRULER_CACHE": str(folder / "cache")}
        )
        assert (seen.status, "Traceback" in seen.errors) == (2, False), (words, seen)
        lines = [line.startswith(("error: ", "Error: ")) for line in seen.errors.splitlines()]
        assert (lines.count(True), lines[-1]) == (1, True), (words, seen)
    return Seen(2, seen.errors.replace("Error: ", "error: "))


CASES = [
    Case(
        f"wrong words for {option}",
        f"evenruler {command}",
        Outcome.REFUSED,
        partial(_tried, command, option),
    )
    for command, (_, _, wrong) in WRONG.items()
    for option in wrong
]
