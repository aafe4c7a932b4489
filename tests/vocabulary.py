"""How our code reads, in numbers that only fall: names that say nothing, lines and statements that
hold much.

`python -m tests.vocabulary` prints a table and ends with status 1 if a count is above its ceiling.
A landing that lowers a count lowers its ceiling here.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
CODE, TESTS = "evenruler, stages", "tests, studies"
FOLDERS = {CODE: ("evenruler", "stages"), TESTS: ("tests", "studies")}

VAGUE = {
    "own",
    "found",
    "said",
    "told",
    "given",
    "kept",
    "made",
    "asked",
    "known",
    "one",
    "others",
    "of",
    "at",
    "each",
    "beside",
    "those",
}
"""Names that say nothing of what they name."""
COUSINS = {"item", "entry", "data", "value", "result", "x", "i", "obj", "tmp", "info"}
"""Words that would take their place; as many as there are, and no more."""

WIDEST = 100
"""Characters of a line. The formatter breaks code; longer lines are text in quotes, or comments
behind code.
"""
MOST_IN_A_STATEMENT = 25
MOST_IN_A_LINE = 15

CEILINGS = {
    CODE: {
        "vague names": 17,
        "cousins per 1,000 names": 18,
        "lines over 15 nodes": 113,
        "statements over 25 nodes": 64,
        "nested comprehensions": 2,
        "nested conditionals": 0,
        "lists times a condition": 0,
        "walruses": 7,
        "functions of one word": 748,  # each family has 13: what `instruments.family` asks for
        "shared names of classes": 2,
        "lines over 100 characters": 17,
    },
    TESTS: {
        "vague names": 9,
        "cousins per 1,000 names": 9,
        "lines over 15 nodes": 332,
        "statements over 25 nodes": 239,
        "lines over 100 characters": 47,
    },
}
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass
class Vocabulary:
    """Counts over some files."""

    counts: Counter[str] = field(default_factory=Counter)
    classes: Counter[str] = field(default_factory=Counter)
    n_lines: int = 0
    n_nodes: int = 0
    n_names: int = 0

    def add_file(self, path: Path) -> None:
        """Count what is in a file."""
        text = path.read_text(encoding="utf-8")
        lines = [line for line in text.splitlines() if line.strip()]
        self.n_lines += len(lines)
        self.counts["lines over 100 characters"] += sum(len(line) > WIDEST for line in lines)
        nodes_by_line: Counter[int] = Counter()
        for node in ast.walk(ast.parse(text)):
            self._add_names(node)
            self._add_shape(node)
            if isinstance(node, ast.expr):
                nodes_by_line[node.lineno] += 1
        self.n_nodes += nodes_by_line.total()
        crowded = sum(n > MOST_IN_A_LINE for n in nodes_by_line.values())
        self.counts["lines over 15 nodes"] += crowded

    def _add_names(self, node: ast.AST) -> None:
        if isinstance(node, ast.ClassDef):
            self.classes[node.name] += 1
        if isinstance(node, ast.FunctionDef):
            is_short = "_" not in node.name.strip("_")
            self.counts["functions of one word"] += is_short and has_body(node)
        name = bound_name(node)
        if name is not None:
            self.n_names += 1
            self.counts["vague names"] += name in VAGUE
            self.counts["cousins"] += name in COUSINS

    def _add_shape(self, node: ast.AST) -> None:
        self.counts["walruses"] += isinstance(node, ast.NamedExpr)
        if isinstance(node, COMPREHENSIONS):
            inner = any(isinstance(n, COMPREHENSIONS) for n in ast.walk(node) if n is not node)
            self.counts["nested comprehensions"] += inner or len(node.generators) > 1
        if isinstance(node, ast.IfExp):
            inner = any(isinstance(n, ast.IfExp) for n in ast.walk(node) if n is not node)
            self.counts["nested conditionals"] += inner
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides = (node.left, node.right)
            is_list = any(isinstance(side, ast.List) for side in sides)
            self.counts["lists times a condition"] += is_list and any(map(is_condition, sides))
        if isinstance(node, ast.stmt) and not isinstance(node, ast.FunctionDef | ast.ClassDef):
            self.counts["statements over 25 nodes"] += (
                nodes_of_statement(node) > MOST_IN_A_STATEMENT
            )

    def finish(self) -> dict[str, int]:
        """Return the counts that have ceilings."""
        counts = dict(self.counts)
        counts["shared names of classes"] = sum(n > 1 for n in self.classes.values())
        counts["cousins per 1,000 names"] = round(1000 * counts.pop("cousins") / self.n_names)
        return counts


def has_body(node: ast.FunctionDef) -> bool:
    """Whether a function does something: those of protocols, and overloads, are only declared."""
    return not all(
        isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant) for part in node.body
    )


def bound_name(node: ast.AST) -> str | None:
    """Return the name that a node binds, without underscores around it."""
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
        return node.id.strip("_")
    if isinstance(node, ast.arg):
        return node.arg.strip("_")
    if isinstance(node, ast.FunctionDef):
        return node.name.strip("_")
    return None


def is_condition(node: ast.expr) -> bool:
    """Return whether an expression is a truth value by its form."""
    if isinstance(node, ast.Call):
        return isinstance(node.func, ast.Name) and node.func.id == "bool"
    is_not = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return is_not or isinstance(node, ast.Compare | ast.BoolOp)


def nodes_of_statement(statement: ast.stmt) -> int:
    """Return how many expressions a statement holds itself, without those of statements inside."""
    return sum(1 for _ in walk_expressions(statement))


def walk_expressions(node: ast.AST) -> Iterator[ast.expr]:
    """Yield the expressions below a node, but not below statements in it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.ExceptHandler | ast.match_case):
            continue
        if isinstance(child, ast.expr):
            yield child
        yield from walk_expressions(child)


def read_vocabulary(folders: tuple[str, ...]) -> Vocabulary:
    """Count all Python files below some folders of the repository."""
    vocabulary = Vocabulary()
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            vocabulary.add_file(path)
    return vocabulary


def main() -> None:
    """Print the table, and end with status 1 if a count is above its ceiling."""
    worse = []
    for name, folders in FOLDERS.items():
        vocabulary = read_vocabulary(folders)
        per_line = vocabulary.n_nodes / vocabulary.n_lines
        print(f"{name}: {vocabulary.n_nodes:,} expression nodes in {vocabulary.n_lines:,} lines")
        print(f"  {per_line:.2f} nodes a line")
        counts = vocabulary.finish()
        for what, ceiling in CEILINGS[name].items():
            count = counts.get(what, 0)
            print(f"  {what}: {count:,} of {ceiling:,}")
            if count > ceiling:
                worse.append(f"{name}: {count:,} {what}, at most {ceiling:,}")
    if worse:
        raise SystemExit("\n".join(worse))


if __name__ == "__main__":
    main()
