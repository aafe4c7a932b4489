"""How far DVC carries: stages, size of `dvc.lock`, time of `dvc status` and of `dvc repro` without
anything to do.

For each number of instruments a
folder is made with the repository's own `dvc.yaml`, small files in place of all that stages read
and write, and a `dvc.lock` that fits; ten models in five families are asked. Times are of one run
each after a first one: of the processor, and in brackets wall.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import chdir
from pathlib import Path
from typing import Any

import typer
from ruamel.yaml import YAML

from evenruler.declaration.params_file import Active, ActiveFamily, AskEntry, InstrumentEntry
from evenruler.instruments.registry import FAMILIES
from studies.tables import print_head, print_row

ROOT = Path(__file__).parents[2]
N_MODELS = 10
yaml = YAML()
yaml.width = 10_000


def make_active(n_instruments: int) -> Active:
    """What is in use: instruments in turn of each family, and all models asked for each."""
    families = list(FAMILIES)
    active = Active(profile="quick")
    models = [f"model-{number}" for number in range(N_MODELS)]
    for number in range(n_instruments):
        family = families[number % len(families)]
        name = f"instrument-{number}"
        entry = InstrumentEntry(family=family, source=f"data/sources/{family}/{name}.yaml")
        active.instruments[name] = active.card[name] = entry
        active.families.setdefault(
            family, ActiveFamily(instruments=[], models=models)
        ).instruments.append(name)
    for family, entry_of_family in active.families.items():
        for model in models:
            active.ask[f"{family}-{model}"] = AskEntry(
                family=family, model=model, instruments=entry_of_family.instruments
            )
    return active


def write_inputs(root: Path, active: Active) -> None:
    """Write everything that stages read but outputs of stages."""
    pipeline = yaml.load((ROOT / "dvc.yaml").read_text())
    yaml.dump(
        {key: pipeline[key] for key in ("vars", "stages")},
        root / "dvc.yaml",
    )
    content = {"active": active.model_dump(mode="json"), "root": "", "enter_root": ""}
    yaml.dump(content, root / "active.yaml")
    (root / "params.yaml").write_text("diagnosis: {seed: 1}\n")
    of_instruments = dict.fromkeys(active.instruments, "0123456789ab")
    by_stage = ("scrape", "evolve", "rows", "ask", "diagnose", "card")
    declared: dict[str, Any] = {
        "code": {stage: dict.fromkeys(FAMILIES, "0123456789ab") for stage in by_stage},
        "models": dict.fromkeys(active.models, "0123456789ab"),
        "declared": "0123456789ab",
        "labels": {},
        **dict.fromkeys(("settings", "tools", "versions"), of_instruments),
    }
    declared["code"] |= {"agree": "0123456789ab", "report": "0123456789ab"}
    (root / "data").mkdir()
    (root / "data/declared.json").write_text(json.dumps(declared))
    folders = [f"data/sources/{family}/shared" for family in FAMILIES]
    for folder in ("data/adapters", "data/sources/changelogs", "evenruler", "stages", *folders):
        (root / folder).mkdir(parents=True)
        (root / folder / "file").write_text(folder)
    for path in [entry.source for entry in active.instruments.values()]:
        (root / path).write_text(path)
    for path in ("data/recorded/release.json", "data/weights/figures.csv"):
        (root / path).parent.mkdir(parents=True)
        (root / path).write_text(path)


def write_outputs_and_lock(root: Path) -> int:
    """Write a file for each output, and the lock of all stages at once; returns the number of
    stages."""
    from dvc.repo import Repo
    from dvc.stage.serialize import to_single_stage_lockfile

    repo = Repo(str(root))
    stages = list(repo.index.stages)
    for stage in stages:
        # What is read of a folder that another stage writes is a file in it.
        for path in (Path(other.fs_path) for other in (*stage.outs, *stage.deps) if other.fs_path):
            if path.suffix == "":
                path.mkdir(parents=True, exist_ok=True)
                path /= "file"
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                path.write_text(f"{path} " * 20)
    lock: dict[str, Any] = {"schema": "2.0", "stages": {}}
    with repo.lock:
        for stage in stages:
            stage.save()
            stage.commit()
            lock["stages"][stage.name] = to_single_stage_lockfile(stage)
    plain = YAML()
    plain.dump(lock, root / "dvc.lock")
    return len(stages)


def time_command(root: Path, *words: str) -> tuple[float, float]:
    """Wall and processor seconds of a command of DVC, which must find everything up to date."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "dvc", *words], cwd=root, capture_output=True, text=True, check=True
    )
    took, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert "Running" not in done.stdout, done.stdout
    assert "modified" not in done.stdout, done.stdout
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def time_lock(root: Path) -> float:
    """Processor seconds in which DVC writes an entry of the lock."""
    from dvc.utils.serialize import modify_yaml

    began = time.process_time()
    with modify_yaml(str(root / "dvc.lock")) as lock:
        lock["stages"]["report"] = dict(lock["stages"]["report"])
    return time.process_time() - began


CONFIG = """[core]
    no_scm = true
    analytics = false
['remote "private"']
    url = private
"""


def print_times(n_instruments: int) -> None:
    """Print the row of a number of instruments."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        root = Path(folder)
        (root / ".dvc").mkdir()
        (root / ".dvc/config").write_text(CONFIG)
        write_inputs(root, make_active(n_instruments))
        n_stages = write_outputs_and_lock(root)
        size = (root / "dvc.lock").stat().st_size
        _, seconds = time_lock(root), time_lock(root)
        time_command(root, "status")
        times = [time_command(root, "status"), time_command(root, "repro")]
        cells = [f"{cpu:.1f} s ({wall:.1f})" for wall, cpu in times]
        sizes = f"{n_stages:,}", f"{size / 1e3:,.0f} kB"
        print_row(
            n_instruments,
            *sizes,
            f"{seconds:.1f} s",
            *cells,
        )


def main(instruments: list[int]) -> None:
    """Print a row for each number of instruments."""
    print_head("instruments", "stages", "`dvc.lock`", "one entry", "`dvc status`", "`dvc repro`")
    for n_instruments in instruments:
        print_times(n_instruments)


if __name__ == "__main__":
    typer.run(main)
