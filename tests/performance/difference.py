"""Two benchmarks of a million rows compared: ours against an outer merge in pandas, in one run.

Run by hand: `python -m tests.performance.difference`. Prints a Markdown table: seconds, peak
memory, and the counts found beside the true ones. Of the rows 1% were added, 1% removed, and 1% say
something else. Making the folders and each contender run in processes of their own; importing
libraries is not timed.
"""

import argparse
import hashlib
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

CONFIG = "probes"
TEMPLATES = [
    "The {0} who works at the office across the street is a {1}.",
    "My {1} has always wanted to become a {0}, and now is one.",
    "Everyone in town knows that the new {0} is a {1} from here.",
    "It came as no surprise to us that the {0} was a {1} again.",
    "A {1} answered when I called and asked to see the {0}.",
]
TARGETS = ["man", "woman", "boy", "girl", "father", "mother", "uncle", "aunt", "brother", "sister"]


def make(folder: Path, n: int) -> None:
    """Two folders `old` and `new`, and the true counts."""
    import pyarrow as pa

    from evenruler.instruments.probes.schemas import PROBES
    from evenruler.publish.manifest import NAME, Manifest, as_json, columns_of, data_file
    from evenruler.tables import content_sha256, row_id, write_table

    each = n // 100
    kinds = np.random.default_rng(0).permutation(
        np.repeat(["added", "removed", "changed", "same"], [each, each, each, n - 2 * each])
    )
    sides: dict[str, list[dict[str, object]]] = {"old": [], "new": []}
    for i, kind in enumerate(kinds):
        template, target, attribute = (
            i % len(TEMPLATES),
            i // len(TEMPLATES) % len(TARGETS),
            i // 50,
        )
        text = TEMPLATES[template].format(f"worker {attribute}", TARGETS[target])
        identity = {
            "template": f"t{template}",
            "attribute": f"worker-{attribute}",
            "target": TARGETS[target],
        }
        row = {
            "id": row_id(
                family="probes",
                benchmark="occupation-gender",
                set="seed",
                variant="agree",
                **identity,
            ),
            "content_sha256": content_sha256(text, 1),
            "variant": "agree",
            "framing": "bare",
            "source": "Kapur and Kumar 2026, table 3",
            "licence": "cc-by-4.0",
            "set": "seed",
            "keying": 1,
            "group": ("men", "women")[target % 2],
            "pole": (1, -1)[target % 2],
            "control": False,
            "text": text,
            **identity,
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
            name="occupation-gender",
            version="1.0.0",
            location=".",
            content_sha256=digest,
            rows={CONFIG: len(rows)},
            rejected=0,
            columns={CONFIG: columns_of(PROBES)},
            sources=["Kapur and Kumar 2026, table 3"],
            licences=["cc-by-4.0"],
            parameters={},
            files={data_file(CONFIG): digest},
        )
        (folder / side / NAME).write_text(as_json(manifest.model_dump()), encoding="utf-8")
        (folder / side / "evidence.json").write_text("{}", encoding="utf-8")
    true = {"added": each, "removed": each, "changed": each}
    (folder / "true.json").write_text(json.dumps(true), encoding="utf-8")


def ours(old: Path, new: Path) -> tuple[dict[str, int], float]:
    from evenruler.publish.difference import compare

    start = time.perf_counter()
    (found,) = compare(old, new).configs
    seconds = time.perf_counter() - start
    return {"added": found.added, "removed": found.removed, "changed": found.changed}, seconds


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


def child(contender: str, folder: Path) -> None:
    import pandas  # noqa: F401  both import the same, so that their memory compares

    import evenruler.publish.difference  # noqa: F401

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    counts, seconds = CONTENDERS[contender](folder / "old", folder / "new")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    record = {
        "seconds": seconds,
        "peak_mb": peak / 1024,
        "before_mb": before / 1024,
        "counts": counts,
    }
    (folder / f"{contender}.json").write_text(json.dumps(record), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="?", type=int, default=1_000_000)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        what, folder = arguments.child
        make(Path(folder), arguments.rows) if what == "make" else child(what, Path(folder))
        return
    with tempfile.TemporaryDirectory() as folder:
        for what in (
            "make",
            *CONTENDERS,
        ):  # in processes of their own: a parent's peak would count as its child's
            command = [sys.executable, "-m", "tests.performance.difference", str(arguments.rows)]
            subprocess.run([*command, "--child", what, folder], check=True)
        true = json.loads(Path(folder, "true.json").read_text())
        megabytes = sum(path.stat().st_size for path in Path(folder).rglob("*.parquet")) / 2**20
        print(
            f"{arguments.rows:,} rows each, {megabytes:,.0f} MB of Parquet together; true: "
            f"{in_words(true)}\n"
        )
        print(
            "| | seconds | peak memory, MB | of that before, MB | found |\n| --- | --- | --- | --- "
            "| --- |"
        )
        for contender in CONTENDERS:
            record = json.loads(Path(folder, f"{contender}.json").read_text())
            row = [
                contender,
                f"{record['seconds']:.1f}",
                f"{record['peak_mb']:,.0f}",
                f"{record['before_mb']:,.0f}",
            ]
            print(
                f"| {' | '.join(row)} | "
                f"{in_words(record['counts'])}{'' if record['counts'] == true else ' WRONG'} |"
            )


def in_words(counts: dict[str, int]) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items())


if __name__ == "__main__":
    main()
