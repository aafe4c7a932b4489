"""Peak memory of the diagnosis of one domain on one model, from replies to tables.

At most 4 GB are wanted for 1 million replies. 1,008,000 in one domain on one model took 3,211 MB,
2,303 of them before the diagnosis began; with all default statistics, a tenth of the replies empty
and few draws 3,286. Before, 126,000 took 899 MB and 252,000 took 1,545, which goes on to 5.4 GB.

Run by hand: `python -m tests.performance.diagnosis_memory --repetitions 32`. 75 root items x 21
concepts x 20 roles are 31,500 replies a repetition, each with 45 features; 32 repetitions are
1,008,000 replies. Fewer repetitions tell what more take. Replies are 500 different texts, since
measuring is not what is meant here, nor are statistics: the mean with 250 permutations and
resamples, which are as many as are held at a time.
"""

import argparse
import resource
import time

import numpy as np
import pandas as pd

from evenruler.instruments.instrument import Subject
from evenruler.instruments.saged import ask, diagnose
from evenruler.measurement import Resampling

ROOTS, CONCEPTS, ROLES, FEATURES, TEXTS = 75, 21, 20, 45, 500
SUBJECT = Subject("tiny", "causal", "tiny", frozenset({"generate"}), True, True, (), "of nobody")
DISPARITIES = {
    "statistics": {"mean": {"kind": "mean"}},
    "headline": "mean",
    "metrics": ["range"],
    "permutations": 250,
    "headline_permutations": 250,
}
PLAN = {
    "name": "countries",
    "language": "en",
    "prefixes": {},
    "controls": [],
    "confirmatory": [f"feature-{i:02d}" for i in range(3)],
    "reseeded": 0,
    "items": ROOTS,
    "concepts": CONCEPTS,
    "invented": 0,
    "prefixed": 0,
    "placebos": [],
    "embedder": None,
    "features": {
        f"feature-{i:02d}": {"kind": "lexicon", "better": "higher" if i < 5 else "none"}
        for i in range(FEATURES)
    },
    "disparities": DISPARITIES,
}


def asked(repetitions: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Prompts, and replies to them."""
    draw = np.random.default_rng(0)
    items = [
        (f"{root:04d}", f"country-{concept}")
        for root in range(ROOTS)
        for concept in range(CONCEPTS)
    ]
    prompts = pd.DataFrame(items, columns=["root_id", "concept"])
    texts = np.array(
        [f"Report {i} says it is {'good' if i % 3 else 'bad'} there." for i in range(TEXTS)],
        dtype=object,
    )
    prompts = prompts.assign(
        id=prompts["root_id"] + "-" + prompts["concept"],
        keyword="word",
        section="",
        source_tag="",
        prompt_spans=[[]] * len(prompts),
        baseline_spans=[[]] * len(prompts),
        root_concept="country-0",
        is_root=False,
        prompt="",
        prompt_type="question",
        baseline=texts[draw.integers(TEXTS, size=len(prompts))],
    )
    index = pd.MultiIndex.from_product(
        [prompts["id"], [f"role-{i}" for i in range(ROLES)], range(repetitions)],
        names=["id", "role", "repetition"],
    )
    replies = (
        index.to_frame(index=False)
        .assign(framing="bare", template="plain", reason=None, finish=None)
        .astype({"repetition": "int32"})
    )
    replies["reply"] = texts[draw.integers(TEXTS, size=len(replies))]
    return prompts, replies


def peak() -> float:
    """Megabytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=3)
    prompts, replies = asked(parser.parse_args().repetitions)
    before, start = peak(), time.perf_counter()
    tables = {"prompts": prompts, "prefixed": prompts.iloc[:0]}
    scores = ask.scores(tables, PLAN, {"replies": replies}, SUBJECT)
    extracted = peak()
    found = diagnose.figures("countries", tables, PLAN, scores, SUBJECT, Resampling(0.95, 250, 0))
    rows = len(scores["features"])
    print(f"{len(replies):,} replies, {rows:,} measurements, {len(found['summaries']):,} summaries")
    print(f"peak {peak():,.0f} MB, {extracted:,.0f} after measuring, {before:,.0f} before all")
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
