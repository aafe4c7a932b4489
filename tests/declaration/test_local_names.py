"""Locals as numbers: the same program, and whatever is a rename of a local alone is the same
tree."""

import ast
import dis
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from types import CodeType

import pytest

from evenruler.declaration.local_names import number_locals
from tests.text_tables import yaml_of_text

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "evenruler", ROOT / "stages")
MODULES = sorted(chain.from_iterable(folder.rglob("*.py") for folder in FOLDERS))
BY_NAME = {"MAKE_CELL", "COPY_FREE_VARS", "LOAD_CLOSURE", "PUSH_NULL"}
"""Instructions that CPython sorts by names of variables, or writes where a variable is called as an
import."""


def number(source: str) -> str:
    return ast.dump(number_locals(ast.parse(source)))


def list_instructions(code: CodeType) -> Iterator[tuple[str, object]]:
    """Yield a function's instructions, and those of functions inside, with names and constants that
    others see."""
    for step in dis.get_instructions(code):
        if step.opname in BY_NAME:
            continue
        has_value = step.opcode in dis.hasname or step.opcode in dis.hasconst
        name = "LOAD_ATTR" if step.opname == "LOAD_METHOD" else step.opname
        yield name, step.argval if has_value and not isinstance(step.argval, CodeType) else None
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from list_instructions(constant)


def list_without_qualified_names(tree: ast.Module) -> list[tuple[str, object]]:
    """Instructions; names of nested functions, which are constants there, hold the names of the
    functions around."""
    code = compile(tree, "module", "exec")
    return [
        (name, None if "<locals>" in str(value) else value)
        for name, value in list_instructions(code)
    ]


def test_every_module_compiles_to_the_same_instructions() -> None:
    different = []
    for path in MODULES:
        source = path.read_text()
        numbered = list_without_qualified_names(number_locals(ast.parse(source)))
        if numbered != list_without_qualified_names(ast.parse(source)):
            different.append(path.relative_to(ROOT).as_posix())
    assert different == []


SAME = yaml_of_text(r"""
a comprehension: ["x = [y for y in z if y]", "x = [v for v in z if v]"]
a function inside:
  - "def f():\n    def g():\n        return 1\n    return g"
  - "def f():\n    def h():\n        return 1\n    return h"
what a function inside reads:
  - "def f():\n    y = 1\n    return lambda: y"
  - "def f():\n    z = 1\n    return lambda: z"
what is beside the fields of something:
  - "def f(x):\n    y = vars(x)\n    return y"
  - "def f(x):\n    z = vars(x)\n    return z"
an error:
  - "def f():\n    try: g()\n    except E as e: h(e)"
  - "def f():\n    try: g()\n    except E as x: h(x)"
a walrus: ["def f():\n    if y := g():\n        h(y)", "def f():\n    if z := g():\n        h(z)"]
""")

DIFFERENT = yaml_of_text(r"""
a parameter: ["def f(x): return x", "def f(y): return y"]
a name of the module: ["x = 1", "y = 1"]
a global that is read:
  - "def f():\n    y = 1\n    return y + u"
  - "def f():\n    y = 1\n    return y + v"
an attribute: ["def f(x):\n    x.y = 1", "def f(x):\n    x.z = 1"]
an argument by name: ["def f(x):\n    return x(y=1)", "def f(x):\n    return x(z=1)"]
which of two locals:
  - "def f():\n    a = 1\n    b = 2\n    return a"
  - "def f():\n    a = 1\n    b = 2\n    return b"
a field of a class:
  - "def f():\n    class A:\n        x = 1"
  - "def f():\n    class A:\n        y = 1"
a global, which a class inside reads:
  - "def f():\n    x = 1\n    class A:\n        y = x"
  - "def f():\n    z = 1\n    class A:\n        y = x"
a global, which a method inside reads past its class:
  - "def f():\n    x = 1\n    class A:\n        x = 2\n        def g(self): return x"
  - "def f():\n    z = 1\n    class A:\n        x = 2\n        def g(self): return x"
a global, which a function inside writes:
  - "def f():\n    x = 1\n    def g():\n        global x\n        x = 2\n    return x"
  - "def f():\n    z = 1\n    def g():\n        global x\n        x = 2\n    return z"
which variable a function inside writes:
  - "def f():\n    x = 1\n    z = 2\n    def g():\n        nonlocal x\n        x = 3\n    return x"
  - "def f():\n    x = 1\n    z = 2\n    def g():\n        nonlocal z\n        z = 3\n    return x"
what a pattern binds:
  - "def f(v):\n    x = 1\n    match v:\n        case x: return x"
  - "def f(v):\n    z = 1\n    match v:\n        case x: return z"
what an import binds:
  - "def f():\n    x = 1\n    def g():\n        import x\n        return x"
  - "def f():\n    x = 1\n    def g():\n        import y\n        return x"
names that are read as text:
  - "def f():\n    x = 1\n    return locals()"
  - "def f():\n    y = 1\n    return locals()"
a printed name:
  - "def f():\n    x = 1\n    return f'{x=}'"
  - "def f():\n    y = 1\n    return f'{y=}'"
the sequence of a comprehension in a class:
  - "def f():\n    x = 1\n    class A:\n        x = []\n        y = [i for i in x]"
  - "def f():\n    z = 1\n    class A:\n        x = []\n        y = [i for i in z]"
""")


@pytest.mark.parametrize(("source", "renamed"), SAME.values(), ids=SAME)
def test_a_rename_is_the_same_tree(source: str, renamed: str) -> None:
    assert source != renamed
    assert number(source) == number(renamed)


@pytest.mark.parametrize(("source", "other"), DIFFERENT.values(), ids=DIFFERENT)
def test_another_program_is_another_tree(source: str, other: str) -> None:
    assert number(source) != number(other)
