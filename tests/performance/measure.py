"""`evenruler measure` against `lm_eval` with the benchmark's own tasks: one model, one benchmark,
by command line.

Run by hand on an idle machine: `python -m tests.performance.measure`. Each is a command of its own
with nothing in the cache but the converted model; start, imports and loading are timed, since users
wait for them. `lm_eval` takes the batch that did best on a sample. Prints a Markdown table of wall
time, CPU seconds, and what each finds.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from evenruler import repository
from evenruler.models import load

BENCHMARK = "probes-occupation-gender"
BATCHES = (8, 16, 32)
BIN = Path(sys.executable).parent


def timed(command: list[str], folder: Path, **env: str) -> tuple[float, float, str]:
    """Seconds by the clock, seconds of processors, and what was printed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command, cwd=folder, env=os.environ | env, capture_output=True, text=True, check=False
    )
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr[-2000:]
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu, done.stdout


def ours(model: str, folder: Path, *more: str) -> tuple[float, float, dict[str, float]]:
    """By `evenruler measure` with an empty store."""
    cache = Path(tempfile.mkdtemp(dir=folder))
    (cache / "models").symlink_to((Path.cwd() / ".cache/models").resolve())
    command = [
        str(BIN / "evenruler"),
        "measure",
        model,
        "--with",
        BENCHMARK,
        "--out",
        str(cache / "results"),
        *more,
    ]
    seconds, cpu, _ = timed(command, Path.cwd(), EVENRULER_CACHE=str(cache))
    (path,) = (cache / "results").rglob("result.json")
    (own,) = json.loads(path.read_text())["figures"]["validation"].values()
    return seconds, cpu, {figure: own[figure]["value"] for figure in ("spread", "r")}


def theirs(
    weights: Path, folder: Path, batch: int, *more: str
) -> tuple[float, float, dict[str, float]]:
    """By `lm_eval` with the tasks that lie in the benchmark's folder."""
    tasks = repository.shipped_benchmarks() / BENCHMARK / "lm_eval"
    command = [str(BIN / "lm_eval"), "--model", "hf", "--model_args", f"pretrained={weights}"]
    command += [
        "--include_path",
        str(tasks),
        "--tasks",
        BENCHMARK.replace("-", "_"),
        "--batch_size",
        str(batch),
        *more,
    ]
    seconds, cpu, said = timed(command, folder, HF_HUB_OFFLINE="1")
    found = {}
    for metric, figure in (("spread", "spread"), ("validity", "r")):
        pattern = rf"__validation\s*\|.*?\|\s*{metric}\s*\|[^|]*\|\s*([-\d.]+)"
        row = re.search(pattern, said.replace("\n", " "))
        found[figure] = float(row[1]) if row else float("nan")
    return seconds, cpu, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="smollm2-135m-instruct")
    model = parser.parse_args().model
    weights = load(model)._folder.resolve()  # type: ignore[attr-defined]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        samples = {batch: theirs(weights, folder, batch, "--limit", "200")[0] for batch in BATCHES}
        best = min(samples, key=samples.__getitem__)
        rows = [
            ("evenruler measure", ours(model, folder)),
            ("evenruler measure --quick", ours(model, folder, "--size", "trial")),
            (f"lm_eval, batches of {best}", theirs(weights, folder, best)),
        ]
    print("| | seconds | of processors | spread | r |\n| --- | --- | --- | --- | --- |")
    for what, (seconds, cpu, found) in rows:
        print(f"| {what} | {seconds:.0f} | {cpu:.0f} | {found['spread']:.3f} | {found['r']:.3f} |")


if __name__ == "__main__":
    main()
