"""The real clients of the Hub, each in a process of its own: they read where the Hub is when they
are imported."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.loopback_hub import WRITE_TOKEN, LoopbackHub
from tests.warm import Warm

ROOT = Path(__file__).parents[1]


class Client:
    """Runs commands in a folder against a loopback hub, with a cache of their own."""

    def __init__(
        self, hub: LoopbackHub, folder: Path, home: Path, warm: Warm | None = None
    ) -> None:
        self.hub, self.folder, self.home, self.warm = hub, folder, home, warm

    def run(
        self,
        *command: str,
        token: str = WRITE_TOKEN,
        status: int = 0,
        typed: str | None = None,
        **env: str,
    ) -> str:
        """What a command printed; fails unless it ends with the given status.

        `typed`: what it reads from standard input. Where there is a warm process, which has
        imported nothing that reads where the Hub is, `evenruler` is forked off it.
        """
        done = subprocess.run(
            command,
            cwd=self.folder,
            env=self.env(token) | env,
            input=typed,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stdout
        return done.stdout

    def python(self, code: str, **env: str) -> str:
        """What a piece of Python printed, without any token."""
        return self.run(sys.executable, "-c", code, token="", **env)

    def forget(self) -> None:
        """Begin with an empty cache, as another person would."""
        shutil.rmtree(self.home, ignore_errors=True)

    def env(self, token: str) -> dict[str, str]:
        names = [name for name in os.environ if not name.startswith("HF_")]
        env = {name: os.environ[name] for name in names}
        folders = [str(Path(sys.executable).parent), os.environ["PATH"]]
        if self.warm:
            folders.insert(0, str(self.warm.bin))
        env |= {
            "PATH": os.pathsep.join(folders),
            "HF_ENDPOINT": self.hub.endpoint,
            "HF_HOME": str(self.home),
            "HF_HUB_DISABLE_XET": "1",
            "HF_HUB_DISABLE_PROGRESS_BARS": "1",
            "HF_HUB_DISABLE_TELEMETRY": "1",
        }
        if token:
            env["HF_TOKEN"] = token
        return env
