"""A real MediaWiki on loopback, as a user's private wiki would be, and a proxy before it that makes
faults on demand.

Debian's MediaWiki with SQLite, served by PHP's own server: up in about three seconds, its data in a
folder of the test. Needs mediawiki, php-cli, php-sqlite3, php-intl, php-mbstring and php-xml. The
clients are the real ones.
"""

import json
import os
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Self
from urllib.parse import parse_qs, quote, urlsplit

from tests.loopback import LoopbackServer

INSTALLED = Path("/usr/share/mediawiki")
MAINTENANCE = INSTALLED / "maintenance"


def lacking() -> str:
    """Why no wiki can be had here; empty where one can."""
    if shutil.which("php") is None:
        return "php is not installed"
    if not (MAINTENANCE / "install.php").exists():
        return "Debian's mediawiki is not installed"
    modules = (
        subprocess.run(["php", "-m"], capture_output=True, text=True, check=True)
        .stdout.lower()
        .split()
    )
    absent = {"pdo_sqlite", "intl", "mbstring", "xml"} - set(modules)
    return f"php lacks {', '.join(sorted(absent))}" if absent else ""


class LocalWiki:
    """The wiki.

    Args:
        folder: For its settings and data.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._environment = {**os.environ, "MW_CONFIG_FILE": str(folder / "LocalSettings.php")}
        self._server: subprocess.Popen[bytes] | None = None

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}/api.php"

    def __enter__(self) -> Self:
        (self.folder / "data").mkdir(parents=True)
        address = ["--server", f"http://127.0.0.1:{self.port}", "--scriptpath", ""]
        database = ["--dbtype", "sqlite", "--dbname", "wiki", "--dbpath", str(self.folder / "data")]
        place = ["--confpath", str(self.folder), "--pass", "a-long-local-password"]
        self._maintain("install.php", *address, *database, *place, "Wiki", "admin")
        with (self.folder / "LocalSettings.php").open("a") as settings:
            settings.write("wfLoadExtension( 'TextExtracts' );\nwfLoadExtension( 'Cite' );\n")
        with (self.folder / "server.log").open("w") as log:
            command = ["php", "-S", f"127.0.0.1:{self.port}", "-t", str(INSTALLED)]
            self._server = subprocess.Popen(command, env=self._environment, stdout=log, stderr=log)
        for _ in range(200):
            with socket.socket() as door:
                if door.connect_ex(("127.0.0.1", self.port)) == 0:
                    return self
            time.sleep(0.05)
        self.__exit__()
        raise RuntimeError((self.folder / "server.log").read_text())

    def __exit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.terminate()
            self._server.wait()

    def write(self, pages: Mapping[str, str]) -> None:
        """Make or change pages, by title, in wikitext."""
        folder = self.folder / "pages"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for title, text in pages.items():
            (folder / f"{title}.txt").write_text(text, encoding="utf-8")
        self._maintain(
            "importTextFiles.php", "--overwrite", *(str(file) for file in sorted(folder.iterdir()))
        )
        self._maintain("runJobs.php")

    def revision(self, title: str) -> int:
        """The number of a page's latest revision."""
        with urllib.request.urlopen(
            f"{self.api}?action=parse&page={quote(title)}&prop=revid&format=json"
        ) as answer:
            return int(json.load(answer)["parse"]["revid"])

    def _maintain(self, script: str, *arguments: str) -> None:
        command = ["php", str(MAINTENANCE / script), *arguments]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True)
        if done.returncode:
            last_lines = done.stdout[-1000:] + done.stderr[-1000:]
            raise RuntimeError(f"{script}: {last_lines}")


Fault = Callable[["_Passing"], bool]
"""What the proxy does with a request instead of passing it on; false: it passes it on after all."""


class FaultyProxy:
    """Passes requests on to a wiki's API, but for planned faults; keeps the titles or revisions
    that are asked for."""

    def __init__(self, api: str) -> None:
        self.target = api
        self.asked: list[str] = []
        self.agents: set[str] = set()
        self.parameters: list[dict[str, list[str]]] = []
        self._faults: dict[str, list[Fault]] = {}
        self._server = LoopbackServer(("127.0.0.1", 0), type("Bound", (_Passing,), {"proxy": self}))

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/w/api.php"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def plan(self, title: str, *faults: Fault) -> None:
        """The next requests for a title meet these faults, one each."""
        self._faults.setdefault(title, []).extend(faults)

    def next_fault(self, title: str) -> Fault | None:
        planned = self._faults.get(title)
        return planned.pop(0) if planned else None


class _Passing(BaseHTTPRequestHandler):
    """A request to the proxy."""

    proxy: FaultyProxy

    def do_GET(self) -> None:
        parameters = parse_qs(urlsplit(self.path).query)
        title = next(
            (parameters[key][0] for key in ("titles", "bltitle", "oldid") if key in parameters), ""
        )
        self.proxy.asked.append(title)
        self.proxy.parameters.append(parameters)
        self.proxy.agents.add(self.headers["User-Agent"])
        fault = self.proxy.next_fault(title)
        if fault is not None and fault(self):
            return
        with urllib.request.urlopen(f"{self.proxy.target}?{urlsplit(self.path).query}") as answer:
            self.answer(200, answer.read())

    def do_CONNECT(self) -> None:
        """Somebody takes this for a proxy to the world, which it is not."""
        self.proxy.asked.append(self.path)
        self.answer(502)

    def answer(
        self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: what was asked is in the proxy."""


def answering(status: int, body: bytes = b"", headers: Mapping[str, str] | None = None) -> Fault:
    """The answer is this one."""

    def fault(request: _Passing) -> bool:
        request.answer(status, body, headers)
        return True

    return fault


def cut(request: _Passing) -> bool:
    """The connection ends in the middle of the answer."""
    request.send_response(200)
    request.send_header("Content-Length", "1000")
    request.end_headers()
    request.wfile.write(b'{"query": ')
    return True
