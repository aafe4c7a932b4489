"""What `make lint` refuses of our own words: turns of phrase that a stranger reads twice, with the
usual words."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).with_suffix(".txt")
OF_OTHERS = re.compile(
    r"evenruler/(text/.*|.*/prompts\.yaml|.*/translate/words\.yaml|instruments/(known_answers|writing)\.yaml)"
)
"""Files of words that models are asked, or that English is read by."""
OURS = "title|construct|direction|limits|warning|published|uses"
"""Keys of a source whose text we wrote about it; all else may be items, stimuli or quotations."""


def words() -> list[tuple[re.Pattern[str], str]]:
    """Each refused expression, with spaces that match line breaks, and the better word."""
    lines = [
        line
        for line in LIST.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    rules = []
    for line in lines:
        expression, better = line.split("\t")
        rules.append((re.compile(expression.replace(" ", r"\s+"), re.I), better))
    return rules


def texts() -> Iterator[tuple[Path, int, str]]:
    """Our own text: file, first line and the text of it."""
    files = [*ROOT.glob("evenruler/**/*.*"), *ROOT.glob("stages/**/*.py")]
    for path in sorted(files):
        if OF_OTHERS.fullmatch(path.relative_to(ROOT).as_posix()):
            continue
        if path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_bytes())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    yield path, node.lineno, node.value
        elif path.suffix in (".toml", ".yaml", ".j2"):
            yield path, 1, path.read_text(encoding="utf-8")
    for path in sorted((ROOT / "data/sources").rglob("*.yaml")):
        text = path.read_text(encoding="utf-8")
        for match in re.finditer(rf"^(?:{OURS}):(?:.*\n)(?:[ \t]+.*\n)*", text, re.M):
            line = text.count("\n", 0, match.start()) + 1
            yield path, line, match[0]
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]:
        yield path, 1, path.read_text(encoding="utf-8")


def main() -> None:
    """Print every place with the better word, and end with status 1 if there is any."""
    listed = words()
    faults = []
    for path, line, text in texts():
        for expression, better in listed:
            for match in expression.finditer(text):
                number = line + text.count("\n", 0, match.start())
                place = f"{path.relative_to(ROOT)}:{number}"
                faults.append(f"{place}: {match[0]!r}: say {better}")
    print("\n".join(faults) or f"words: none of the {len(listed)} that are listed")
    if faults:
        raise SystemExit(f"{len(faults)} to say in other words; tests/words.txt")


if __name__ == "__main__":
    main()
