"""Names that only a function itself sees, numbered in a syntax tree: a rename of them changes no
digest of code.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

Function = ast.FunctionDef | ast.AsyncFunctionDef
Comprehension = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp

READS_NAMES = {"eval", "exec", "locals"}
"""Functions of Python that find a local by its name; so does `vars` without an argument."""


def number_locals(tree: ast.Module) -> ast.Module:
    """Replace each local name, in place, by "depth.number": the depth of its scope, and its place
    among the scope's names in order of first binding.

    Parameters, names of imports and of patterns, and what a class binds keep their names: others
    see them, or the tree holds them as plain text.
    """
    _LocalNumbering().visit(tree)
    return tree


@dataclass(frozen=True)
class _Scope:
    """What a function, comprehension or class binds, with what takes its place."""

    names: dict[str, str]
    is_class: bool = False


class _LocalNumbering(ast.NodeTransformer):
    """Walks down a tree with the scopes around a node, the innermost last."""

    def __init__(self) -> None:
        """Start outside all scopes, at the top of a module."""
        self._scopes: list[_Scope] = []

    def visit_FunctionDef(self, node: Function) -> Function:
        """Number a function's name in the scope around it, then the locals in its body; decorators,
        defaults and annotations belong to the scope around it.
        """
        node.name = self._replacement(node.name)
        for expression in (*node.decorator_list, node.returns, *_evaluated_outside(node.args)):
            if expression is not None:
                self.visit(expression)
        self._visit_function(node.args, node.body)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> Function:
        """As for a function that is not asynchronous."""
        return self.visit_FunctionDef(node)

    def visit_Lambda(self, node: ast.Lambda) -> ast.Lambda:
        """Number the locals in a lambda's body; its parameters stay, its defaults belong to the
        scope around it.
        """
        for default in _evaluated_outside(node.args):
            self.visit(default)
        self._visit_function(node.args, [node.body])
        return node

    def visit_ListComp(self, node: Comprehension) -> Comprehension:
        """Number the loop variables of a comprehension, in their scope; the first iterable
        belongs to the scope around it.
        """
        first, *later_generators = node.generators
        self.visit(first.iter)  # which Python evaluates outside
        names = _list_bound_names(generator.target for generator in node.generators)
        inside: list[ast.AST] = [first.target, *first.ifs, *later_generators]
        inside += [value for name, value in ast.iter_fields(node) if name != "generators"]
        self._visit_inside(_Scope(self._numbers(names)), inside)
        return node

    def visit_SetComp(self, node: ast.SetComp) -> Comprehension:
        """As for a list comprehension."""
        return self.visit_ListComp(node)

    def visit_DictComp(self, node: ast.DictComp) -> Comprehension:
        """As for a list comprehension."""
        return self.visit_ListComp(node)

    def visit_GeneratorExp(self, node: ast.GeneratorExp) -> Comprehension:
        """As for a list comprehension."""
        return self.visit_ListComp(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        """Number the locals inside a class's methods; names that the class binds stay."""
        for expression in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(expression)
        bound = _list_bound_names(node.body)
        self._visit_inside(_Scope({name: name for name in bound}, is_class=True), node.body)
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.ExceptHandler:
        """Number the name that an `except ... as name` binds, and all names below it."""
        if node.name:
            node.name = self._replacement(node.name)
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.Name:
        """Put the number of a local in place of its name; a name of no function stays."""
        node.id = self._replacement(node.id)
        return node

    def _visit_function(self, arguments: ast.arguments, body: Iterable[ast.AST]) -> None:
        """Number names in the body of a function; parameters, names held as text, and all names if
        the body can look them up by text (`locals()`), stay.
        """
        nodes = list(chain.from_iterable(map(ast.walk, body)))
        bound = _list_bound_names(body)
        named_in_text = chain.from_iterable(map(_named_in_text, nodes))
        fixed = {*_parameter_names(arguments), *named_in_text}
        if any(map(_reads_names, nodes)):
            fixed |= set(bound)
        numbers = self._numbers(name for name in bound if name not in fixed)
        self._visit_inside(_Scope(numbers | {name: name for name in fixed}), body)

    def _visit_inside(self, scope: _Scope, nodes: Iterable[ast.AST]) -> None:
        """Visit nodes with one more scope, the innermost, in force."""
        self._scopes.append(scope)
        for node in nodes:
            self.visit(node)
        self._scopes.pop()

    def _numbers(self, names: Iterable[str]) -> dict[str, str]:
        """By name, its replacement in a new scope: "depth.number", numbered in order of first
        appearance.
        """
        return {
            name: f"{len(self._scopes)}.{number}"
            for number, name in enumerate(dict.fromkeys(names))
        }

    def _replacement(self, name: str) -> str:
        """Return what the innermost scope that binds a name calls it; functions look past classes
        around them.
        """
        for scope in reversed(self._scopes):
            if name in scope.names and (scope is self._scopes[-1] or not scope.is_class):
                return scope.names[name]
        return name


def _parameter_names(arguments: ast.arguments) -> list[str]:
    """Names of all parameters, of every kind, in a function's signature."""
    return [node.arg for node in ast.walk(arguments) if isinstance(node, ast.arg)]


def _evaluated_outside(arguments: ast.arguments) -> Iterator[ast.expr]:
    """Yield defaults and annotations, which belong to the scope around a function."""
    for node in ast.walk(arguments):
        if isinstance(node, ast.arg) and node.annotation is not None:
            yield node.annotation
    yield from arguments.defaults
    yield from (default for default in arguments.kw_defaults if default is not None)


def _reads_names(node: ast.AST) -> bool:
    """Whether a node reads locals by their name as text: `eval`, `exec`, `locals`, or `vars()`."""
    if isinstance(node, ast.Name):
        return node.id in READS_NAMES
    if isinstance(node, ast.Call):
        return ast.unparse(node) == "vars()"
    return False


def _named_in_text(node: ast.AST) -> Iterator[str]:
    """Yield names that a node holds as text, not as a name that can be numbered (imports, patterns,
    `global`), and names of classes, which others see.
    """
    if isinstance(node, ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
    elif isinstance(node, ast.MatchAs | ast.MatchStar) and node.name:
        yield node.name
    elif isinstance(node, ast.MatchMapping) and node.rest:
        yield node.rest


def _list_bound_names(nodes: Iterable[ast.AST]) -> list[str]:
    """Names that nodes bind in their scope, in order, with repetitions."""
    return list(chain.from_iterable(map(_bound_in, nodes)))


def _bound_in(node: ast.AST) -> Iterator[str]:
    """Yield names that a node binds in its scope, in order."""
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, Function | ast.ClassDef | ast.ExceptHandler) and node.name:
        yield node.name
    if isinstance(node, Comprehension):
        assigned = (inner.target for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr))
        yield from (target.id for target in assigned)
    elif not isinstance(node, Function | ast.ClassDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _bound_in(child)
