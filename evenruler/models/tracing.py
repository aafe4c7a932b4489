"""Which files are read while a model is loaded, so that none decides what it answers and is missing
from its key.

Python reports every file that it opens (PEP 578, event `open`). Libraries in Rust and C++ open
files by themselves: those that load models and tokenizers are made to report them in the same way
(`_report_native`).
"""

import fnmatch
import os
import sys
import sysconfig
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from evenruler.errors import UserError

_reads: ContextVar["list[str] | None"] = ContextVar("reads", default=None)

SYSTEM: Final = ("/proc", "/sys", "/dev", "/etc", "/usr", "/lib", "/lib64", "/opt/rocm", "/run")
CODE: Final = ("*.py", "*.pyc", "*.so", "*.pyd", "*.dylib", "*.dll", "*.zip")
KERNELS: Final = (
    ".triton",
    "triton",
    "torchinductor",
    "torch_extensions",
)  # folders of compiled code
CARDS: Final = ("README.md", "LICENSE*")  # what libraries read for model cards
OF_MODELS: Final = (
    "*.safetensors",
    "*.bin",
    "*.pt",
    "*.model",
    "*.spm",
    "*.jinja",
    "*.tiktoken",
    "*config*.json",
    "*.index.json",
    "tokenizer*",
    "vocab*",
    "merges*",
    "chat_template*",
    "special_tokens_map.json",
    "added_tokens.json",
    "modules.json",
)
"""Names of files that decide what a model answers, wherever they lie."""


@contextmanager
def traced_reads() -> Iterator[list[str]]:
    """Record the paths of files that this thread opens for reading; they may repeat. Contexts may
    be nested.
    """
    _install_audit_hooks()
    paths, around = list[str](), _reads.get()
    token = _reads.set(paths)
    try:
        yield paths
    finally:
        _reads.reset(token)
        if around is not None:
            around += paths


def require_hashed(
    name: str, reads: Iterable[str], hashed: Iterable[Path], folders: Iterable[Path]
) -> None:
    """UserError where a file was read that is not among the hashed ones and may decide what a model
    answers.

    `reads`: as traced while it was loaded; `hashed`: the files in its cache key; `folders`: those
    of its files.
    """
    hashed_files = {path.resolve() for path in hashed}
    places = [folder.resolve() for folder in folders]
    for path in dict.fromkeys(Path(read).absolute() for read in reads):
        file = path.resolve()
        if not file.is_file() or file in hashed_files:
            continue
        is_inside = any(
            file.is_relative_to(place) or path.is_relative_to(place) for place in places
        )
        if _matches_any_pattern(file, CARDS if is_inside else ()) or _matches_any_pattern(
            file, CODE
        ):
            continue
        if is_inside:
            what = (
                f"{name} was loaded with {path.name!r}, which is not among the files that are "
                "part of its key"
            )
            remedy = "take it out, or give it a usual name of a model's files"
        elif _matches_any_pattern(file, OF_MODELS) or not _is_of_system(file):
            what = f"{name} was loaded with a file outside its folder"
            remedy = "put that file into the model's folder, and name it there"
        else:
            continue
        raise UserError(what, where=str(path), remedy=remedy)


def _matches_any_pattern(file: Path, patterns: Iterable[str]) -> bool:
    """Whether a file's name, without its folder, fits a shell pattern such as "*.json"."""
    return any(fnmatch.fnmatch(file.name, pattern) for pattern in patterns)


def _is_of_system(file: Path) -> bool:
    """Whether a file belongs to Python, its libraries or the operating system, or is a setting in
    the user's home.
    """
    libraries = {
        sys.prefix,
        sys.base_prefix,
        *sysconfig.get_paths().values(),
        *SYSTEM,
        str(Path(__file__).parents[1]),
    }
    if any(file.is_relative_to(Path(place).resolve()) for place in libraries):
        return True
    if any(part.startswith(KERNELS) for part in file.parts):
        return True
    home = Path.home().resolve()
    if not file.is_relative_to(home):
        return False
    is_hidden = file.relative_to(home).parts[0].startswith(".")
    return is_hidden and file.suffix not in (".json", ".txt", ".vocab")


@cache
def _install_audit_hooks() -> None:
    """Have files reported from now on; a hook cannot be taken back, so it records only inside
    `traced_reads`.
    """
    sys.addaudithook(_record_read)
    _report_native()


def _record_read(event: str, arguments: tuple[Any, ...]) -> None:
    """Audit hook: adds the path of a file opened for reading to the innermost `traced_reads`, if
    any.
    """
    if event != "open":
        return
    reads = _reads.get()
    if reads is None:
        return
    path, mode, flags = arguments
    writes = (mode and not {"r", "+"} & set(mode)) or (
        isinstance(flags, int) and flags & (os.O_WRONLY | os.O_CREAT)
    )
    if isinstance(path, str | bytes) and not writes:
        reads.append(os.fsdecode(path))


def _report_native() -> None:
    """Have the openers of files in Rust and C++ report them as Python does."""
    import safetensors
    import tokenizers
    from tokenizers import models

    _wrap_with_audit(tokenizers.Tokenizer, "from_file", static=True)
    for kind in (models.BPE, models.WordPiece, models.WordLevel):
        for method in ("from_file", "read_file"):
            _wrap_with_audit(kind, method, static=True)
    # These classes have no `__init__` but that of `object`, and are called with paths among other
    # words.
    openers: list[Any] = [safetensors.safe_open, models.BPE, models.WordPiece, models.WordLevel]
    for opener in openers:
        opener.__init__ = lambda self, *arguments, **named: _audit_paths(
            [*arguments, *named.values()]
        )
    if find_spec("sentencepiece"):
        processor = import_module("sentencepiece").SentencePieceProcessor
        for method in ("Load", "LoadFromFile"):
            _wrap_with_audit(processor, method, static=False)


def _wrap_with_audit(kind: type, method: str, *, static: bool) -> None:
    """Replace a method of a class by one that first reports the files among its arguments;
    `static`: it is a static method.
    """
    call: Callable[..., object] = getattr(kind, method)

    @wraps(call)
    def reported(*arguments: object, **named: object) -> object:
        """Report the files among the arguments, and call the method."""
        _audit_paths([*arguments[0 if static else 1 :], *named.values()])
        return call(*arguments, **named)

    setattr(kind, method, staticmethod(reported) if static else reported)


def _audit_paths(arguments: Iterable[object]) -> None:
    """Report each argument that is the path of an existing file, as Python's `open` does."""
    for path in arguments:
        if isinstance(path, str | Path) and os.path.isfile(path):  # a word may be no path at all
            sys.audit("open", str(path), "r", 0)
