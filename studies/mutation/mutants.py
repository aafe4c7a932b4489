"""Prints mutants of modules as JSON. Runs in the environment that holds mutmut (`__main__` makes
it).

The operators are those of mutmut, and a mean is taken as a median. Not made, since no test should
hold them:
- text: docstrings, whatever a `raise` says, and any string with a space in it;
- annotations, type variables, decorators, imports, `__all__`;
- `strict=` of `zip` and `validate=` of a merge, which are assertions of their own;
- a call without `sort=True`, which is what pandas does then.
"""

import json
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_arg_removal

MEDIAN = cst.parse_expression('__import__("studies.mutation.medians", fromlist=["median"]).median')

LEFT_OUT = (cst.Raise, cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom)
STATEMENT = cst.BaseSmallStatement | cst.BaseCompoundStatement
IS_TYPE_VARIABLE = m.Call(func=m.Name("TypeVar"))
IS_ALL = m.Assign(targets=[m.AssignTarget(target=m.Name("__all__"))])
IS_ASSERTION = m.Arg(keyword=m.Name("strict") | m.Name("validate"))
IS_DOCSTRING = m.Expr(value=m.SimpleString() | m.ConcatenatedString() | m.FormattedString())
IS_LEFT_OUT = IS_TYPE_VARIABLE | IS_ALL | IS_ASSERTION | IS_DOCSTRING
IS_MEAN_OF_NUMPY = m.Attribute(
    value=m.Name("np"),
    attr=m.Name("mean") | m.Name("nanmean"),
)
IS_MEAN = m.Call(
    func=m.Attribute(
        value=~m.Name("np"),
        attr=m.Name("mean"),
    )
)


class Place(NamedTuple):
    """A node that may be mutated."""

    node: cst.CSTNode
    function: str | None
    """In which it is; None outside."""
    statement: cst.CSTNode


class Places(cst.CSTVisitor):
    """Goes through a module and keeps the nodes that may be mutated."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        self.scopes: list[cst.ClassDef | cst.FunctionDef] = []
        self.statement: cst.CSTNode = cst.Pass()
        self.places: list[Place] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        is_text = isinstance(node, cst.SimpleString) and " " in node.value
        if is_text or isinstance(node, LEFT_OUT) or m.matches(node, IS_LEFT_OUT):
            return False
        if isinstance(node, STATEMENT):
            self.statement = node
        if isinstance(node, cst.ClassDef | cst.FunctionDef):
            self.scopes.append(node)
        self.places.append(Place(node, self._name_function(), self.statement))
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if self.scopes and self.scopes[-1] is original_node:
            self.scopes.pop()

    def _name_function(self) -> str | None:
        if not any(isinstance(scope, cst.FunctionDef) for scope in self.scopes):
            return None
        return ".".join(scope.name.value for scope in self.scopes)


def mutate_mean(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield a mean as a median: a method, a function of numpy, or an aggregate of pandas."""
    if m.matches(node, IS_MEAN_OF_NUMPY):
        mean = cst.ensure_type(node, cst.Attribute)
        yield mean.with_changes(attr=cst.Name(mean.attr.value.replace("mean", "median")))
    elif m.matches(node, IS_MEAN):
        call = cst.ensure_type(node, cst.Call)
        numbers = cst.Arg(cst.ensure_type(call.func, cst.Attribute).value)
        yield call.with_changes(func=MEDIAN, args=[numbers, *call.args])
    elif m.matches(node, m.SimpleString(value='"mean"')):
        yield cst.SimpleString('"median"')


def mutate_node(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield all that a node may become."""
    yield from mutate_mean(node)
    for kind, operator in mutation_operators:
        if isinstance(node, kind):
            for mutated in operator(node):
                is_removal = operator is operator_arg_removal
                if not is_removal or list_assertions(mutated) == list_assertions(node):
                    yield mutated


def list_assertions(call: Any) -> list[str]:
    """Return arguments that no test tells from none."""
    no_comma = cst.MaybeSentinel.DEFAULT
    args = [cst.Module([]).code_for_node(arg.with_changes(comma=no_comma)) for arg in call.args]
    return [arg for arg in args if arg == "sort=True" or arg.startswith(("strict=", "validate="))]


def find_difference(before: str, after: str) -> tuple[str, str]:
    """Return the lines that differ, each side as one line."""
    old, new = before.splitlines(), after.splitlines()
    while old and new and old[0] == new[0]:
        del old[0], new[0]
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    return " ".join(" ".join(old).split()), " ".join(" ".join(new).split())


class Module:
    """A module, and all that may be changed in it."""

    def __init__(self, path: str) -> None:
        self.source = Path(path).read_text(encoding="utf-8")
        self.wrapper = MetadataWrapper(cst.parse_module(self.source))
        places = Places()
        self.wrapper.visit(places)
        self.changes: list[tuple[Place, cst.CSTNode]] = []
        for place in places.places:
            self.changes += [(place, mutated) for mutated in mutate_node(place.node)]

    def list_in_functions(self) -> list[int]:
        """Return the numbers of changes inside functions."""
        return [i for i, (place, _) in enumerate(self.changes) if place.function is not None]

    def make_mutants(self, numbers: list[int]) -> Iterator[dict[str, Any]]:
        """Yield what compiles and differs from all before."""
        positions = self.wrapper.resolve(PositionProvider)
        seen = {self.source}
        for number in numbers:
            place, mutated = self.changes[number]
            text = self.wrapper.module.deep_replace(place.node, mutated).code
            if text in seen or not is_compilable(text):
                continue
            seen.add(text)
            parts = [part for part in (place.node, place.statement) if part in positions]
            spans = [positions[part] for part in parts]
            before, after = find_difference(self.source, text)
            yield {
                "function": place.function,
                "lines": [[span.start.line, span.end.line] for span in spans],
                "before": before,
                "after": after,
                "source": text,
            }


def is_compilable(text: str) -> bool:
    """Return whether a text is Python."""
    try:
        compile(text, "mutant", "exec")
    except SyntaxError:
        return False
    return True


def main(draw: int, seed: int, *paths: str) -> None:
    """Print by module all its mutants, or so many of the functions of all modules together."""
    modules = {path: Module(path) for path in paths}
    numbers = {path: list(range(len(module.changes))) for path, module in modules.items()}
    if draw:
        every = []
        for path, module in modules.items():
            every += [(path, number) for number in module.list_in_functions()]
        drawn = random.Random(seed).sample(
            every,
            min(draw, len(every)),
        )
        numbers = {path: [] for path in sorted({path for path, _ in drawn})}
        for path, number in sorted(drawn):
            numbers[path].append(number)
    mutants = {path: list(modules[path].make_mutants(chosen)) for path, chosen in numbers.items()}
    print(json.dumps(mutants))


if __name__ == "__main__":
    main(
        int(sys.argv[1]),
        int(sys.argv[2]),
        *sys.argv[3:],
    )
