"""Prints the mutants of a module as JSON. Runs in the environment that holds mutmut (`__main__`
makes it).

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
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import libcst as cst
import libcst.matchers as m
from libcst.metadata import MetadataWrapper, PositionProvider
from mutmut.mutation.mutators import mutation_operators, operator_arg_removal

MEDIAN = cst.parse_expression('__import__("studies.mutation.medians", fromlist=["median"]).median')

LEFT_OUT = (cst.Raise, cst.Annotation, cst.Decorator, cst.Import, cst.ImportFrom)


class Places(cst.CSTVisitor):
    """Goes through a module and keeps the nodes that may be mutated, each with its function and its
    statement."""

    METADATA_DEPENDENCIES = (PositionProvider,)

    def __init__(self) -> None:
        self.names: list[str] = []
        self.functions = 0
        self.bodies = 0
        self.statement: cst.CSTNode | None = None
        self.found: list[tuple[cst.CSTNode, str | None, cst.CSTNode | None]] = []

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, LEFT_OUT) or is_text(node) or is_assertion(node) or is_all(node):
            return False
        if m.matches(node, m.Call(func=m.Name("TypeVar"))):
            return False
        if isinstance(node, cst.Expr) and isinstance(node.value, cst.BaseString):
            return False
        if isinstance(node, cst.BaseSmallStatement | cst.BaseCompoundStatement):
            self.statement = node
        if isinstance(node, cst.ClassDef | cst.FunctionDef) and not self.functions:
            self.names.append(node.name.value)
        if isinstance(node, cst.FunctionDef):
            self.functions += 1
        if isinstance(node, cst.IndentedBlock) and self.functions:
            self.bodies += 1
        self.found.append((node, ".".join(self.names) if self.bodies else None, self.statement))
        return True

    def on_leave(self, original_node: cst.CSTNode) -> None:
        if isinstance(original_node, cst.IndentedBlock) and self.functions:
            self.bodies -= 1
        if isinstance(original_node, cst.FunctionDef):
            self.functions -= 1
        if isinstance(original_node, cst.ClassDef | cst.FunctionDef) and not self.functions:
            self.names.pop()


def is_text(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.SimpleString) and " " in node.value


def is_all(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Assign) and m.matches(node.targets[0].target, m.Name("__all__"))


def is_assertion(node: cst.CSTNode) -> bool:
    return (
        isinstance(node, cst.Arg)
        and node.keyword is not None
        and node.keyword.value in ("strict", "validate")
    )


def medians(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A mean as a median: a method, a function of numpy, or the name of an aggregate of pandas."""
    if m.matches(node, m.Attribute(value=m.Name("np"), attr=m.Name("mean") | m.Name("nanmean"))):
        named = cst.ensure_type(node, cst.Attribute)
        yield named.with_changes(attr=cst.Name(named.attr.value.replace("mean", "median")))
    elif m.matches(node, m.Call(func=m.Attribute(value=~m.Name("np"), attr=m.Name("mean")))):
        call = cst.ensure_type(node, cst.Call)
        numbers = cst.Arg(cst.ensure_type(call.func, cst.Attribute).value)
        yield call.with_changes(func=MEDIAN, args=[numbers, *call.args])
    elif m.matches(node, m.SimpleString(value='"mean"')):
        yield cst.SimpleString('"median"')


def mutations(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    yield from medians(node)
    for kind, operator in mutation_operators:
        if not isinstance(node, kind):
            continue
        for mutated in operator(node):
            if operator is operator_arg_removal and said_anyhow(mutated) != said_anyhow(node):
                continue
            yield mutated


def said_anyhow(call: Any) -> list[str]:
    """Arguments that no test tells from none."""
    no_comma = cst.MaybeSentinel.DEFAULT
    args = [cst.Module([]).code_for_node(arg.with_changes(comma=no_comma)) for arg in call.args]
    return [arg for arg in args if arg == "sort=True" or arg.startswith(("strict=", "validate="))]


def changed(before: str, after: str) -> tuple[str, str]:
    """The lines that differ, each side as one line."""
    old, new = before.splitlines(), after.splitlines()
    while old and new and old[0] == new[0]:
        del old[0], new[0]
    while old and new and old[-1] == new[-1]:
        del old[-1], new[-1]
    return on_one_line(old), on_one_line(new)


def on_one_line(lines: Sequence[str]) -> str:
    return " ".join(" ".join(lines).split())


def changes(places: Places, inside: bool) -> list[tuple[Any, ...]]:
    """What may be changed, of functions alone if `inside`: node, function and statement, and the
    node in its place."""
    every: list[tuple[Any, ...]] = []
    for place in places.found:
        if place[1] is not None or not inside:
            every += [(*place, mutated) for mutated in mutations(place[0])]
    return every


def candidates(places: Places, sample: int | Collection[int] | None) -> Iterator[tuple[Any, ...]]:
    """Those of `changes` that are made.

    Of a sample, so many of those inside functions, evenly spaced, and every mean as a median; or
    those of some numbers.
    """
    every = changes(places, sample is not None)
    if isinstance(sample, Collection):
        yield from (every[number] for number in sorted(sample))
        return
    size = len(every) if sample is None else min(sample, len(every))
    chosen = {place * len(every) // size for place in range(size)}
    for place, (node, function, statement, mutated) in enumerate(every):
        if place in chosen or any(mutated.deep_equals(median) for median in medians(node)):
            yield node, function, statement, mutated


def mutants(source: str, sample: int | Collection[int] | None = None) -> Iterator[dict[str, Any]]:
    wrapper = MetadataWrapper(cst.parse_module(source))
    places = Places()
    wrapper.visit(places)
    where = wrapper.resolve(PositionProvider)
    seen = set()
    for node, function, statement, mutated in candidates(places, sample):
        text = wrapper.module.deep_replace(node, mutated).code
        if text == source or text in seen:
            continue
        seen.add(text)
        try:
            compile(text, "mutant", "exec")
        except SyntaxError:
            continue
        spans = [where[part] for part in (node, statement or node) if part in where]
        old, new = changed(source, text)
        yield {
            "function": function,
            "lines": [[span.start.line, span.end.line] for span in spans],
            "before": old,
            "after": new,
            "source": text,
        }


def drawn(paths: Sequence[str], number: int, seed: int) -> dict[str, list[dict[str, Any]]]:
    """By module, mutants inside functions: so many of all modules together, each as likely as
    another."""
    every = []
    for path in paths:
        places = Places()
        MetadataWrapper(cst.parse_module(Path(path).read_text(encoding="utf-8"))).visit(places)
        every += [(path, place) for place in range(len(changes(places, True)))]
    chosen: dict[str, set[int]] = {}
    for path, place in random.Random(seed).sample(every, min(number, len(every))):
        chosen.setdefault(path, set()).add(place)
    return {
        path: list(mutants(Path(path).read_text(encoding="utf-8"), chosen[path]))
        for path in sorted(chosen)
    }


if __name__ == "__main__":
    if sys.argv[1] == "draw":
        print(json.dumps(drawn(sys.argv[4:], *map(int, sys.argv[2:4]))))
    else:
        code = Path(sys.argv[1]).read_text(encoding="utf-8")
        print(json.dumps(list(mutants(code, *map(int, sys.argv[2:])))))
