"""Two benchmarks of a million rows compared: ours against an outer merge in pandas, in one run.

Run by hand: `python -m studies.speed.difference [ROWS]`. Prints a Markdown table: seconds,
and the counts found. Of the rows 1% were added, 1% removed, and 1% say
something else. Making the folders and each contender run in processes of their own; importing
libraries is not timed.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from studies.tables import print_head, print_row

CONFIG = "probes"
TEMPLATES = [
    "The {0} who works at the office across the street is a {1}.",
    "My {1} has always wanted to become a {0}, and now is one.",
    "Everyone in town knows that the new {0} is a {1} from here.",
    "It came as no surprise to us that the {0} was a {1} again.",
    "A {1} answered when I called and asked to see the {0}.",
]
SAME: dict[str, Any] = {
    "variant": "agree",
    "framing": "bare",
    "source": "Kapur and Kumar 2026, table 3",
    "licence": "cc-by-4.0",
    "set": "seed",
    "keying": 1,
    "control": False,
}
"""Columns that say the same in every row."""
NAME_OF_BENCHMARK = "occupation-gender"
TARGETS = ["man", "woman", "boy", "girl", "father", "mother", "uncle", "aunt", "brother", "sister"]


def make(folder: Path, n: int) -> None:
    """Two folders `old` and `new`, and the true counts."""
    import pyarrow as pa

    from evenruler.instruments.probes.schemas import PROBES
    from evenruler.publish.manifest import NAME, Manifest, as_json, columns_of, data_file
    from evenruler.tables import content_sha256, row_id, write_table

    n_of_kind = n // 100
    kinds = np.random.default_rng(0).permutation(
        np.repeat(["added", "removed", "changed", "same"], [*[n_of_kind] * 3, n - 2 * n_of_kind])
    )
    sides: dict[str, list[dict[str, object]]] = {"old": [], "new": []}
    for i, kind in enumerate(kinds):
        template, target, attribute = i % 5, i // 5 % 10, i // 50
        text = TEMPLATES[template].format(f"worker {attribute}", TARGETS[target])
        identity = {
            "template": f"t{template}",
            "attribute": f"worker-{attribute}",
            "target": TARGETS[target],
        }
        row_hash = row_id(
            family="probes", benchmark=NAME_OF_BENCHMARK, set="seed", variant="agree", **identity
        )
        row = {
            **SAME,
            **identity,
            "id": row_hash,
            "content_sha256": content_sha256(text, 1),
            "group": ("men", "women")[target % 2],
            "pole": (1, -1)[target % 2],
            "text": text,
        }
        if kind != "added":
            sides["old"].append(row)
        if kind == "changed":
            text = text.replace("worker", "expert")
            row = row | {"text": text, "content_sha256": content_sha256(text, 1)}
        if kind != "removed":
            sides["new"].append(row)
    for side, rows in sides.items():
        path = folder / side / data_file(CONFIG)
        write_table(pa.Table.from_pylist(rows, schema=PROBES).to_pandas(), PROBES, path)
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        manifest = Manifest(
            name=NAME_OF_BENCHMARK,
            version="1.0.0",
            location=".",
            content_sha256=digest,
            rows={CONFIG: len(rows)},
            rejected=0,
            columns={CONFIG: columns_of(PROBES)},
            sources=[SAME["source"]],
            licences=[SAME["licence"]],
            parameters={},
            files={data_file(CONFIG): digest},
        )
        (folder / side / NAME).write_text(as_json(manifest.model_dump()), encoding="utf-8")
        (folder / side / "evidence.json").write_text("{}", encoding="utf-8")
    true = dict.fromkeys(("added", "removed", "changed"), n_of_kind)
    (folder / "true.json").write_text(json.dumps(true), encoding="utf-8")


def ours(old: Path, new: Path) -> tuple[dict[str, int], float]:
    from evenruler.publish.difference import compare

    start = time.perf_counter()
    (diff,) = compare(old, new).configs
    seconds = time.perf_counter() - start
    return {"added": diff.added, "removed": diff.removed, "changed": diff.changed}, seconds


def outer_merge(old: Path, new: Path) -> tuple[dict[str, int], float]:
    import pandas as pd

    from evenruler.publish.manifest import data_file

    start = time.perf_counter()
    before, after = (pd.read_parquet(folder / data_file(CONFIG)) for folder in (old, new))
    merged = before.merge(after, on="id", how="outer", suffixes=("", "_new"), indicator=True)
    both = merged[merged["_merge"] == "both"]
    changed = np.zeros(len(both), dtype=bool)
    for column in before.columns.drop("id"):
        changed |= (both[column] != both[f"{column}_new"]).to_numpy(dtype=bool)
    counts = merged["_merge"].value_counts()
    seconds = time.perf_counter() - start
    return {
        "added": int(counts["right_only"]),
        "removed": int(counts["left_only"]),
        "changed": int(changed.sum()),
    }, seconds


CONTENDERS = {"ours": ours, "pandas": outer_merge}


def run_contender(contender: str, folder: Path) -> None:
    """Write what a contender counts, and how long it took."""
    import pandas  # noqa: F401  both import the same

    import evenruler.publish.difference  # noqa: F401

    counts, seconds = CONTENDERS[contender](folder / "old", folder / "new")
    record = {"seconds": seconds, "counts": counts}
    (folder / f"{contender}.json").write_text(json.dumps(record), encoding="utf-8")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        what, folder = arguments.child
        if what == "make":
            make(Path(folder), arguments.rows)
        else:
            run_contender(what, Path(folder))
        return
    with tempfile.TemporaryDirectory() as folder:
        for what in ("make", *CONTENDERS):
            command = [sys.executable, "-m", "studies.speed.difference", str(arguments.rows)]
            subprocess.run([*command, "--child", what, folder], check=True)
        true = json.loads(Path(folder, "true.json").read_text())
        print(f"{arguments.rows:,} rows each; true: {true}\n")
        print_head("", "seconds", "found")
        for contender in CONTENDERS:
            record = json.loads(Path(folder, f"{contender}.json").read_text())
            counts = record["counts"]
            wrong = "" if counts == true else " WRONG"
            print_row(contender, f"{record['seconds']:.1f}", f"{counts}{wrong}")


if __name__ == "__main__":
    main()
