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
NAME, PLACE, AMOUNT = ("nobody", "../x"), ("nowhere",), ("0",)
"""Some of these, after commands that read them with the function of another command."""
COUNT, NUMBER = ("0", "-1", "1.5", "many", ""), ("-1", "much", "")
MODELS = (
    "",
    "nobody",
    "hub:",
    "local:",
    "local:none",
    "local:~nobody/x",
    "local:file",
    f"local:{LONG}",
    f"local:{LONGER}",
    "x:y",
    "endpoint:",
    f"endpoint:{LONG}",
    "recorded:",
    "recorded:none",
    "package:",
    "package:none/x",
    "none.gguf",
    ESC,
    "planted:a",
    "planted:smollm2-135m-instruct/none/1/1",
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
            "--method": (*WORD, ESC),
            "--name": (LONG, LONGER, "", "-", ESC),
            "--asked": ("none.jsonl", "file"),
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
    "profile": ({"name": "paper"}, "", {"name": NAME}),
    "new": (
        {"family": "probes", "name": "mine"},
        "",
        {"family": NAME, "name": NAME[1:], "--layout": WORD},
    ),
    "finetune": ({"name": "mpnet-nli"}, "", {"name": NAME}),
    "planted make": (
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
    "planted test": (
        {"benchmarks": PROBES},
        "--limit 3",
        {
            "benchmarks": (*PLACE, "none.yaml"),
            "--plant": NAME,
            "--base": NAME,
            "--size": WORD,
            "--limit": AMOUNT,
            "--method": (*WORD, ESC),
            "--at-once": AMOUNT,
        },
    ),
    "publish": (
        {"name": "probes-age-competence"},
        "--to you/it --dry-run",
        {"name": NAME, "--to": ("", "x", "a b/c", "a/b/c", ESC)},
    ),
    "list": ({}, "", {"name": PLACE, "--format": WORD}),
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
    "release": ({"name": "probes-age-competence"}, "--dry-run", {"name": NAME}),
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
            "--bound": (
                *("x", "a=b", "=1", "a=", "none:x=1"),
                *("probes-made-up:spread=nan", "probes-made-up:spread:set=seed"),
            ),
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
        {"model": NAME, "--out": ("", "file", "tiny"), "--profile": WORD},
    ),
    "answers record": ({"release": "2026-11-26"}, "", {"release": NAME}),
    "evolve": (
        {"name": "age-competence"},
        "",
        {"name": NAME, "--engine": ENGINE, "--profile": WORD},
    ),
    "ratings sheet": (
        {"domains": "age-competence"},
        "",
        {
            "domains": NAME,
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
    "translate": ({"scale": "file"}, "", {"scale": FILES}),
    "refresh": ({"domain": "fruit"}, "", {"domain": NAME}),
    "find": ({"domain": "fruit"}, "", {"domain": NAME}),
    "power": (
        {"domain": "fruit"},
        "",
        {"domain": NAME, "--difference": ("nan", "-1", "0", "much", "")},
    ),
}

ANY = {"measure --effort", "release --message", "repro words"}
"""What takes every word: one in the language of a model, a sentence, the arguments of `dvc
repro`."""


def _tried(command: str, option: str, folder: Path) -> Seen:
    """All wrong values of an option: each ends with status 2 and one line, the last, which begins
    with "error"."""
    arguments, more, wrong = WRONG[command]
    env = {"EVENRULER_CACHE": str(folder / "cache")}
    for value in wrong[option]:
        if option[0] == "-":
            words = [
                *arguments.values(),
                *more.split(),
                option,
                value,
            ]
        else:
            words = [
                *({option: ""} | arguments | {option: value}).values(),
                *more.split(),
            ]
        seen = evenruler(
            *command.split(),
            *words,
            folder=repository(),
            env=env,
        )
        assert (seen.status, "Traceback" in seen.errors) == (2, False), (words, seen)
        is_error = [line.startswith(("error: ", "Error: ")) for line in seen.errors.splitlines()]
        assert (
            is_error.count(True),
            is_error[-1],
        ) == (1, True), (words, seen)
    return Seen(2, seen.errors.replace("Error: ", "error: "))


CASES = []
for _command, (_, _, _wrong) in WRONG.items():
    for _option in _wrong:
        _act = partial(_tried, _command, _option)
        _fault = f"wrong words for {_option}"
        CASES.append(Case(_fault, f"evenruler {_command}", Outcome.REFUSED, _act))
