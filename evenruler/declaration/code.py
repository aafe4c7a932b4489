"""Digests of each stage's code, by stage and family, on which stages depend.

A stage depends on its imports, also inside functions, and on files in the same folders: templates,
data, and modules that it copies. Comments, docstrings, names of locals and modules that only find
names or print (`HARMLESS`) do not change a digest. DVC compares digests like parameters: one line
of `dvc.lock` per stage, where listing code files took nine tenths of it.
"""

import ast
import hashlib
import json
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path

from evenruler.declaration import local_names
from evenruler.declaration.local_names import number_locals
from evenruler.files import read_json_file, write_text_atomically
from evenruler.instruments.registry import FAMILIES

KEPT = Path(".cache/modules.json")
"""Cache of parsed modules by file hash; parsing 400 modules takes two seconds. It has what a module
says alone: what its imports lead to depends on which other modules there are."""

RULES = b"".join(Path(module).read_bytes() for module in (__file__, local_names.__file__))
"""How a module is parsed, which its entry in the cache depends on."""

ROOMS = {
    "scrape": ("declare",),
    "evolve": ("declare", "evolve"),
    "rows": ("declare", "rows"),
    "ask": ("declare", "ask"),
    "diagnose": ("declare", "ask", "diagnose"),
    "agree": (),
    "card": ("declare", "card"),
    "report": ("declare", "card", "report"),
}
"""Rooms of a family that a stage uses; it looks them up by the family's name, so no import shows
them."""

OF_ONE_FAMILY = {"scrape": "saged", "evolve": "probes"}
OF_ALL = ("agree", "report")

HARMLESS = {
    "evenruler",
    "evenruler.instruments.registry",
    "evenruler.lazy",
    "evenruler.terminal",
    "stages",
}
"""Modules that affect only what is printed or how a name is found, never what is written."""


def code_digests(root: Path) -> dict[str, str | dict[str, str]]:
    """Code digest by stage; for stages of one family, by family."""
    code = Code(root)
    digests: dict[str, str | dict[str, str]] = {}
    for stage in ROOMS:
        if stage in OF_ALL:
            digests[stage] = code.digest(stage, FAMILIES)
        else:
            families = [OF_ONE_FAMILY[stage]] if stage in OF_ONE_FAMILY else list(FAMILIES)
            digests[stage] = {family: code.digest(stage, [family]) for family in families}
    code.keep()
    return digests


class Code:
    """The modules of `evenruler` and `stages` in a repository, with their digests and imports."""

    def __init__(self, root: Path) -> None:
        """List the modules in a repository's folder, and read the cache of those parsed before."""
        self._root = root
        self._paths: dict[str, Path] = {}
        for package in ("evenruler", "stages"):
            for path in sorted((root / package).rglob("*.py")):
                without_suffix = path.parent if path.name == "__init__.py" else path.with_suffix("")
                module = ".".join(without_suffix.relative_to(root).parts)
                self._paths[module] = path
        self._cached_facts = read_json_file(root / KEPT, dict)
        self._read: dict[str, dict[str, str | list[str]]] = {}

    def digest(self, stage: str, families: Iterable[str]) -> str:
        """Digest of everything that a stage imports for some families."""
        modules = sorted(self.closure(stage, families))
        lines = [f"{module} {self._facts(module)['says']}" for module in modules]
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:16]

    def closure(self, stage: str, families: Iterable[str]) -> set[str]:
        """The modules that a stage imports for some families, including itself."""
        rooms = (*ROOMS[stage], "schemas")
        waiting = [f"stages.{stage}"]
        for family in families:
            waiting += [f"{FAMILIES[family]}.{room}" for room in rooms]
        modules: set[str] = set()
        while waiting:
            module = waiting.pop()
            if module in modules or module not in self._paths:
                continue
            modules.add(module)
            depths = range(1, module.count(".") + 1)
            waiting += [module.rsplit(".", depth)[0] for depth in depths]
            for written in self._facts(module)["imports"]:
                waiting += self._resolve(written)
        return modules - HARMLESS

    def keep(self) -> None:
        """Write the cache of parsed modules."""
        facts_by_digest = {str(facts["bytes"]): facts for facts in self._read.values()}
        if facts_by_digest.keys() != self._cached_facts.keys():
            (self._root / KEPT).parent.mkdir(exist_ok=True)
            write_text_atomically(self._root / KEPT, json.dumps(facts_by_digest))

    def _facts(self, module: str) -> dict[str, str | list[str]]:
        """A module's digests, of its bytes (`bytes`) and of its code without docstrings (`says`),
        and its `imports`; parsed only where the cache has no such bytes.
        """
        if module not in self._read:
            path = self._paths[module]
            content = path.read_bytes()
            # Files in its folder that it names: templates, data, and modules that it copies into a
            # benchmark.
            data_files = sorted(
                file for file in path.parent.iterdir() if file.is_file() and file.suffix != ".pyc"
            )
            named_files = [file for file in data_files if f'"{file.name}"'.encode() in content]
            parts = [RULES, content, *(other.read_bytes() for other in named_files)]
            whole = hashlib.sha256(b"\0".join(parts)).hexdigest()
            facts = self._cached_facts.get(whole)
            if facts is None:
                tree = ast.parse(content)
                imports = sorted(_repository_imports(tree))
                digest = hashlib.sha256(repr(_normalise_tree(number_locals(tree))).encode())
                for other in named_files:
                    file_content = other.read_bytes()
                    if other.suffix == ".toml":  # without comments, which describe columns
                        file_content = repr(tomllib.loads(file_content.decode())).encode()
                    digest.update(file_content)
                facts = {"bytes": whole, "says": digest.hexdigest(), "imports": imports}
            self._read[module] = facts
        return self._read[module]

    def _resolve(self, written: str) -> list[str]:
        """The modules that an import leads to: a module, or `module:name`, where the name may be a
        module of it.
        """
        module, _, name = written.partition(":")
        if f"{module}.{name}" in self._paths:
            return [f"{module}.{name}"]
        path = self._paths.get(module)
        if (
            name
            and path is not None
            and path.name == "__init__.py"
            and b"lazy_getattr(" in path.read_bytes()
        ):
            return [module, *(other for other in self._paths if other.rpartition(".")[0] == module)]
        return [module]


def _repository_imports(tree: ast.AST) -> set[str]:
    """What a module imports of the repository, except under `if TYPE_CHECKING`: `module`, or
    `module:name`.
    """
    imports: set[str] = set()
    for node in _walk_runtime_nodes(tree):
        if isinstance(node, ast.Import):
            imports |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            imports |= {f"{node.module}:{alias.name}" for alias in node.names}
    return {
        written
        for written in imports
        if written.partition(":")[0].split(".")[0] in ("evenruler", "stages")
    }


def _walk_runtime_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes except those under `if TYPE_CHECKING`."""
    yield node
    for child in ast.iter_child_nodes(node):
        if (
            isinstance(child, ast.If)
            and isinstance(child.test, ast.Name)
            and child.test.id == "TYPE_CHECKING"
        ):
            for other in child.orelse:
                yield from _walk_runtime_nodes(other)
        else:
            yield from _walk_runtime_nodes(child)


def _normalise_tree(node: object) -> object:
    """A syntax tree without docstrings, positions and empty fields, equal across Python
    versions.
    """
    if isinstance(node, list):
        return [_normalise_tree(child) for child in node if not _is_docstring(child)]
    if not isinstance(node, ast.AST):
        return node
    fields: list[tuple[str, object]] = []
    for name, value in ast.iter_fields(node):
        if name not in ("ctx", "kind") and value is not None and value != []:
            fields.append((name, _normalise_tree(value)))
    return type(node).__name__, fields


def _is_docstring(node: object) -> bool:
    """Whether a syntax node is a statement that is only a string: a docstring, or the text below an
    attribute.
    """
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )
