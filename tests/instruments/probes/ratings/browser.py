"""A headless Chromium that is asked over a pipe: no socket, no package."""

import fcntl
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SECONDS = 60
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
MORE_FLAGS = ("--disable-component-update", "--disable-sync", "--remote-debugging-pipe")

# Chromium reads at 3 and writes at 4.
START = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
)


class Tab:
    """The one tab of a browser; what goes wrong in the page is an error here."""

    def __init__(self, write_to: int, read_from: int, downloads: Path) -> None:
        self._write_to, self._read_from, self._asked, self._unread = write_to, read_from, 0, b""
        self._events: list[dict[str, Any]] = []  # told before anybody waited for them
        self._session: dict[str, str] = {}
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask(
            "Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads.absolute()), eventsEnabled=True
        )
        self._session = {"sessionId": session}
        self.ask("Page.enable")

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        self._asked += 1
        message = {"id": self._asked, "method": method, "params": params, **self._session}
        os.write(self._write_to, json.dumps(message).encode() + b"\0")
        while (answer := self._hear()).get("id") != self._asked:
            self._events.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, address: str) -> None:
        self._load("Page.navigate", url=address)

    def reload(self) -> None:
        self._load("Page.reload")

    def _load(self, method: str, **params: Any) -> None:
        self._events.clear()
        self.ask(method, **params)
        self._wait_for("Page.loadEventFired")

    def run(self, script: str) -> Any:
        answer = self.ask("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def type(self, text: str) -> None:
        self.ask("Input.insertText", text=text)

    def press(self, key: str, code: int) -> None:
        for kind in ("keyDown", "keyUp"):
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def downloaded(self) -> None:
        """Waits until a download is there; it may be there already."""
        while self._wait_for("Browser.downloadProgress")["params"]["state"] != "completed":
            pass

    def _wait_for(self, method: str) -> dict[str, Any]:
        while True:
            event = self._events.pop(0) if self._events else self._hear()
            if event.get("method") == method:
                return event

    def _hear(self) -> dict[str, Any]:
        while b"\0" not in self._unread:
            ready, _, _ = select.select([self._read_from], [], [], SECONDS)
            assert ready, "the browser does not answer"
            part = os.read(self._read_from, 1 << 16)
            assert part, "the browser has ended"
            self._unread += part
        message, _, self._unread = self._unread.partition(b"\0")
        heard: dict[str, Any] = json.loads(message)
        return heard


@contextmanager
def tab(chromium: str, profile: Path, downloads: Path) -> Iterator[Tab]:
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    high = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]
    command = [
        sys.executable,
        "-c",
        START,
        *map(str, high),
        chromium,
        *FLAGS,
        *MORE_FLAGS,
        f"--user-data-dir={profile}",
    ]
    process = subprocess.Popen(command, pass_fds=high, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for end in (theirs_in, theirs_out, *high):
        os.close(end)
    try:
        opened = Tab(ours_out, ours_in, downloads)
        yield opened
    finally:
        os.close(ours_out)  # it ends when nobody can ask it any more
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        os.close(ours_in)
