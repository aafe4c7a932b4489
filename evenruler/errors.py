"""The exception for errors that a user can fix."""

import difflib
import errno
import os
import re
import sys
from collections.abc import Callable, Iterable
from importlib import metadata
from urllib.parse import urlsplit

from evenruler.terminal import escape_unencodable, say

DISTRIBUTIONS = {
    "markdown_it": "markdown-it-py",
    "sklearn": "scikit-learn",
    "vl_convert": "vl-convert-python",
    "wikipediaapi": "wikipedia-api",
}
"""PyPI package of a module, where the names differ."""

EXTRAS = ("measure", "build")
"""Optional dependency groups of the package; each includes those before it."""

OF_THE_DISK = {
    errno.ENOSPC: "no space left on the device; free some and run again",
    errno.EDQUOT: "no space left for this user; free some and run again",
    errno.EROFS: "the disk can only be read; make it writable, or work on a copy",
    errno.EACCES: "no right to read or write it; give yourself that right",
    errno.EPERM: "no right to change it; give yourself that right",
    errno.ENOTDIR: "a file where a folder is expected; name another place",
    errno.EEXIST: "a file where a folder is expected; name another place",
    errno.ENAMETOOLONG: "a longer name than the file system takes; use a shorter one (`--name` of "
    "a model)",
}
"""File and disk errors that a user can fix, with remedies."""


OF_A_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EACCES)
"""Errors of a file that is not there, or cannot be read."""


CERTIFICATES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Environment variables that name certificates of their own."""

KEY_LOG = "SSLKEYLOGFILE"
"""Environment variable: a file into which the keys of connections are written."""

PROXIES = ("ALL_PROXY", "HTTPS_PROXY", "HTTP_PROXY")
"""Environment variables that name a proxy, in capitals or not."""


class UserError(Exception):
    """An error in what the user wrote or provides; printed as one line, exit status 2.

    `what`: the problem, with the value found; `where`: file and key, row id or path; `remedy`: how
    to fix it.
    """

    def __init__(self, what: str, *, where: str = "", remedy: str = "") -> None:
        """Set the parts of the message; `str` of the error joins them."""
        self.what, self.where, self.remedy = what, where, remedy
        super().__init__(what)

    def __str__(self) -> str:
        """The message in one line: "where: what; remedy", without the parts that are empty."""
        where = f"{self.where}: " if self.where else ""
        remedy = f"; {self.remedy}" if self.remedy else ""
        return " ".join(f"{where}{self.what}{remedy}".split())


class UnfinishedError(UserError):
    """A part of one instrument is not found, fetched or written yet; other instruments are
    unaffected.
    """


def network_setup_problem(error: BaseException) -> tuple[str, str, str] | None:
    """What of the environment keeps a client of HTTP from starting, where that is set, and a
    remedy; None where it is something else.
    """
    if isinstance(error, ImportError) and "socksio" in str(error):
        remedy = "pip install socksio, or unset it"
        variable = _find_proxy(lambda address: address.startswith("socks"))
        return "a SOCKS proxy needs the package socksio", f"environment: {variable}", remedy
    if isinstance(error, OSError):
        is_of_a_file = error.errno in OF_A_FILE or type(error).__module__ == "ssl"
        return _certificate_problem() if is_of_a_file else None
    if "proxy" in str(error) or type(error).__name__ == "InvalidURL":
        variable = _find_proxy(lambda address: not _is_proxy_address(address))
        remedy = "write it as in http://127.0.0.1:3128, or unset it"
        if variable:  # its address may hold a password
            return "no address of a proxy", f"environment: {variable}", remedy
    return None


def _find_proxy(is_wanted: Callable[[str], bool]) -> str:
    """The first environment variable of a proxy whose address is wanted; empty if there is
    none.
    """
    for name in PROXIES:
        for variable in (name, name.lower()):
            address = os.environ.get(variable, "")
            if address and is_wanted(address):
                return variable
    return ""


def _is_proxy_address(address: str) -> bool:
    """Whether an address is one of a proxy that clients of HTTP take."""
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        _ = parts.port  # raises if it is no number
    except ValueError:
        return False
    return parts.scheme in ("http", "https", "socks5", "socks5h")


def _certificate_problem() -> tuple[str, str, str] | None:
    """What is wrong with the files for certificates that the environment names, where, and a
    remedy; None where nothing is.
    """
    for name in CERTIFICATES:
        place = os.environ.get(name, "")
        if place and not os.path.exists(place):
            remedy = "put the certificates there, or unset it"
            return f"no such file or folder ({place})", f"environment: {name}", remedy
    place = os.environ.get(CERTIFICATES[0], "")
    if place:
        import ssl  # slow import

        try:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(place)
        except OSError:
            what = f"no certificates can be read there ({place})"
            remedy = "name a file of certificates (PEM), or unset it"
            return what, f"environment: {CERTIFICATES[0]}", remedy
    place = os.environ.get(KEY_LOG, "")
    if place and not os.access(os.path.dirname(place) or ".", os.W_OK):
        return f"no file can be written there ({place})", f"environment: {KEY_LOG}", "unset it"
    return None


def suggest_nearest(word: str, known_words: Iterable[str]) -> str:
    """A phrase that names the closest known word, or lists a few if none is close."""
    names = sorted(known_words)
    if not names:
        return "there is none"
    close = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    further = ", ..." if len(names) > 8 else ""
    return f"known: {', '.join(names[:8])}{further}"


def distribution_of(module: str) -> str:
    """The PyPI package that provides a module, normalised: lower case, hyphens."""
    return re.sub(r"[-_.]+", "-", DISTRIBUTIONS.get(module, module)).lower()


def extra_of(module: str) -> str | None:
    """The smallest extra of evenruler that installs a package such as `torch`; None if there is
    none.
    """
    wanted = distribution_of(module)
    package_extras: set[str] = set()
    for requirement in metadata.requires("evenruler") or ():
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"""extra == ["']([\w-]+)["']""", requirement)
        if name and extra and distribution_of(name[0]) == wanted:
            package_extras.add(extra[1])
    return next((extra for extra in EXTRAS if extra in package_extras), None)


def run_program(main: Callable[[], object]) -> None:
    """Run a program; user errors become one line on standard error and status 2, Ctrl-C status
    130.
    """
    escape_unencodable()
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except UserError as error:
        line = str(error)
    except ModuleNotFoundError as error:
        extra = extra_of(error.name or "")
        if extra is None:
            raise
        line = (
            f"this needs the package {distribution_of(error.name or '')}; run `pip install "
            f"'evenruler[{extra}]'`"
        )
    except Exception as error:
        problem = network_setup_problem(error)
        remedy = OF_THE_DISK.get(_number_of(error))
        if problem:
            what, where, remedy = problem
            line = str(UserError(what, where=where, remedy=remedy))
        elif remedy:
            line = f"{getattr(error, 'filename', None) or 'writing'}: {remedy}"
        else:
            raise
    else:
        return
    say(f"error: {line}", err=True)
    sys.exit(2)


def _number_of(error: Exception) -> int:
    """The system's error number, which libraries in Rust and C++ give in words alone; 0 if there is
    none.
    """
    if isinstance(error, OSError):
        return error.errno or 0
    if number_match := re.search(r"\(os error (\d+)\)", str(error)):
        return int(number_match[1])
    if re.search(r"unexpected pos \d+ vs", str(error)):  # PyTorch's file is too short
        return errno.ENOSPC
    return 0
