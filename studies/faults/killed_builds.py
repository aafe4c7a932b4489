"""Builds of a tiny pipeline that are killed: `evenruler repro`.

The stages are those of this project; the model is that of `tests.tiny`. All was built of another
declaration before; a round begins where some stages have been built of this one. The last build
must leave the files, byte for byte, that a build leaves which nobody killed.
"""

import hashlib
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from studies.faults.commands import Command, Left, copy_anew
from studies.faults.store_log import LOG, read_keys, write_hook
from tests.stages.conftest import FRUIT, Clone, clone_into, entry, shorten
from tests.tiny import save_tiny

STAGES = (
    *("declared", "scrape@fruit", "rows@occupation-gender", "rows@fruit"),
    *("ask@probes-tiny", "ask@saged-tiny", "diagnose@probes", "diagnose@saged"),
    *("card@occupation-gender", "card@fruit"),
)
"""All but the last, in an order in which they can run."""

MADE_BY_THE_WAY = ("/.git/", "/.dvc/", "/.cache/", "/__pycache__/", "/dvc.lock")
SOURCE = "data/sources/probes/occupation-gender.yaml"
ENCODER = "all-minilm-l6-v2"


class Repro(Command):
    """`evenruler repro`; what is half done is `dvc.lock`, once a stage has been built."""

    name = "repro"
    words = ("repro",)
    signals = ("SIGKILL", "SIGTERM", "SIGINT")
    kills_below = True
    ends_before_the_next = True

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.home = folder / "repro"
        self.clone = Clone(self.home / "now/clone", self.home / "now/cache")
        self.log = self.home / "log"
        paths = [
            str(self.home / "hook"),
            str(self.clone.folder),
        ]
        self.environment = self.clone.env | {
            LOG: str(self.log),
            "PYTHONPATH": os.pathsep.join(paths),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        self.n_begun = 0

    def begin(self) -> Path:
        """Be where some stages have been built, more each time, and log answers from here on."""
        if not (self.home / "built-9").exists():
            self._build_stages()
        begun = self.home / f"built-{self.n_begun * 3 % len(STAGES)}"
        self.n_begun += 1
        copy_anew(begun, self.home / "now")
        self.log.write_bytes(b"".join(sorted(self._read_stored())))
        self.lock_at_first = self._read_lock()
        return self.clone.folder

    def is_half_done(self, root: Path) -> bool:
        return self._read_lock() != self.lock_at_first

    def read_left(self, root: Path) -> Left:
        """Return the checksum of every file; of `dvc.lock` what it says, whose order is that of
        the runs."""
        left: dict[str, Any] = {}
        for path in sorted(root.rglob("*")):
            name = f"/{path.relative_to(root).as_posix()}"
            if path.is_file() and not any(word in name for word in MADE_BY_THE_WAY):
                left[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        lock = YAML(typ="safe").load(self._read_lock())
        left["/dvc.lock"] = json.dumps(lock, sort_keys=True)
        keys, stored = read_keys(self.log), self._read_stored()
        return left | {
            "(status)": self.clone.run("git", "status", "--porcelain"),
            "(answers)": len(stored),
            "(again)": len(keys) - len(set(keys)),
            "(lost)": len(set(keys) - stored),
        }

    def remove_locks(self, root: Path, message: str) -> bool:
        """Take the committed `dvc.lock` where DVC was killed while it wrote its own."""
        if "git checkout dvc.lock" in message:
            self.clone.run("git", "checkout", "dvc.lock")
            return True
        return super().remove_locks(root, message)

    def _read_lock(self) -> bytes:
        path = self.clone.folder / "dvc.lock"
        return path.read_bytes() if path.exists() else b""

    def _read_stored(self) -> set[bytes]:
        """Return the keys in the store."""
        path = self.home / "now/cache/rows.sqlite"
        if not path.exists():
            return set()
        with closing(sqlite3.connect(path)) as connection:
            return {key for (key,) in connection.execute("SELECT key FROM kept")}

    def _build_stages(self) -> None:
        """Build one declaration, then another, and keep what each stage of this one left."""
        shutil.rmtree(self.home, ignore_errors=True)
        write_hook(self.home / "hook")
        now = self.home / "now"
        clone_into(self.clone.folder, now / "cache")
        save_tiny(self.home / "tiny", kind="llama")
        self._declare(resamples=100, items=6, new_tokens=4)
        self.clone.edit(SOURCE, shorten(12, ("validation",)))
        self.clone.run("evenruler", "repro")
        self.clone.commit("built")
        self._declare(resamples=101, items=7, new_tokens=5)
        self.clone.edit(SOURCE, shorten(11, ("validation",)))
        self.clone.run("evenruler", "check")
        # No answer, and no result that DVC could take in place of a run.
        for path in (now / "cache").glob("rows.sqlite*"):
            path.unlink()
        shutil.rmtree(self.clone.folder / ".dvc/cache/runs", ignore_errors=True)
        for number, stage in enumerate(STAGES):
            copy_anew(now, self.home / f"built-{number}")
            self.clone.run("dvc", "repro", "--single-item", stage)

    def _declare(self, resamples: int, **sizes: int) -> None:
        """Declare two instruments of a tiny model."""

        def change_params(params: dict[str, Any]) -> None:
            models = {
                "tiny": entry(self.home / "tiny"),
                ENCODER: params["models"][ENCODER],
            }
            params["models"] = models
            params["diagnosis"]["resamples"] = resamples
            params["instruments"] = {
                "occupation-gender": {"family": "probes"},
                "fruit": {"family": "saged", **FRUIT, **sizes},
            }
            params["families"]["saged"]["features"] = {"vader": {"kind": "lexicon"}}

        self.clone.edit("params.yaml", change_params)
