"""What a stage does without a network, and without room on the disk."""

import math
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.stages.conftest import NO_NETWORK, Clone, allowed

BENCHMARKS = ["framing-age", "probes-occupation-gender", "questionnaires-gad-7", "saged-fruit"]
SMALL_DISK = ("unshare", "--map-root-user", "--mount")
PAGE = 4096


@pytest.mark.skipif(
    not NO_NETWORK, reason="this machine lets nobody take the network away from a process"
)
def test_the_whole_pipeline_was_built_without_a_network(built: Clone) -> None:
    """The fixture runs `dvc repro` so; here is that this means what it says."""
    connect = "import socket; socket.create_connection(('127.0.0.1', 9), timeout=2)"
    done = subprocess.run(
        [*NO_NETWORK, "python", "-c", connect], env=built.env, capture_output=True, text=True
    )
    assert "Network is unreachable" in done.stderr
    if built.warm:  # which its stages were forked off
        assert os.readlink(f"/proc/{built.warm.pid}/ns/net") != os.readlink("/proc/self/ns/net")
    assert (built.folder / "data/report/index.html").exists()


def _in_pages(folder: Path) -> int:
    """Bytes of a folder's files where each takes whole pages."""
    sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
    return sum(math.ceil(size / PAGE) * PAGE for size in sizes)


@pytest.mark.skipif(
    not allowed(*SMALL_DISK, "mount", "-t", "tmpfs", "none", "/mnt"),
    reason="this machine lets nobody mount a disk",
)
def test_a_full_disk_leaves_the_old_benchmark_and_one_line(built: Clone, tmp_path: Path) -> None:
    saved = tmp_path / "kept"
    shutil.copytree(built.folder / "benchmarks", saved)
    # Room for what is there (files take whole pages) and half of the new benchmark.
    room = _in_pages(saved) + _in_pages(saved / "probes-occupation-gender") // 2
    script = f"""
mount -t tmpfs -o size={room} none benchmarks && cp -r {saved}/. benchmarks/
python -m stages.card occupation-gender; status=$?
diff -r {saved} benchmarks && ls -A benchmarks && exit $status
"""
    output = built.run(
        *SMALL_DISK,
        "sh",
        "-c",
        script,
        status=2,
        cold=True,
    )
    assert output.splitlines() == [
        "error: writing: no space left on the device; free some and run again",
        *BENCHMARKS,
    ]
    built.run("python", "-m", "stages.card", "occupation-gender")
    assert built.run("git", "status", "--short") == ""
