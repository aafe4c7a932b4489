"""The paper's run diagnosed end to end: seconds and peak memory, to be at most 5 minutes and 3 GB
on two cores.

Run by hand: `python -m tests.performance.diagnosis`. 75 root items x 21 concepts x 20
configurations x 45 features are 1,417,500 measurements, a tenth of them null, half of the features
without a baseline of their own as clusters and distances are, unless `--all-baselines` gives every
feature one; `--features` asks for fewer. The default statistics and metrics; 1,000 permutations and
resamples, for the headline statistic too unless `--headline` asks for more. Making the table is not
timed.
"""

import argparse
import resource
import time

import numpy as np
import pandas as pd

from evenruler.instruments.saged import schemas
from evenruler.instruments.saged.declare.settings import Disparities
from evenruler.instruments.saged.diagnose import diagnose
from evenruler.instruments.saged.diagnose.group_statistics import adjust_p
from evenruler.measurement import Resampling

ROOTS, CONCEPTS, MODELS, ROLES, FEATURES = 75, 21, 4, 5, 45


def tables(many: int, all_baselines: bool) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]:
    """Features, replies and prompts."""
    draw = np.random.default_rng(0)
    items = pd.MultiIndex.from_product(
        [range(ROOTS), range(CONCEPTS)], names=["root", "of"]
    ).to_frame(index=False)
    prompts = pd.DataFrame(
        {
            "id": [
                f"{root:04d}-{concept:04d}"
                for root, concept in zip(items["root"], items["of"], strict=True)
            ],
            "concept": [f"country-{concept}" for concept in items["of"]],
            "keyword": "word",
            "section": "",
            "source_tag": "",
            "root_id": [f"{root:04d}" for root in items["root"]],
        }
    )
    replies = pd.MultiIndex.from_product(
        [prompts["id"], [f"model-{i}" for i in range(MODELS)], [f"role-{i}" for i in range(ROLES)]],
        names=["id", "model", "role"],
    ).to_frame(index=False)
    replies = replies.assign(framing="bare", lineage="any", template="plain", repetition=0)
    replies = replies.assign(
        generation="",
        refusal=draw.random(len(replies)) < 0.02,
        empty=False,
        other_language=False,
        cut=False,
    )
    replies["reason"] = None
    parts = []
    texts = ["id", "framing", "model", "lineage", "role", "template"]
    coded = replies.astype(dict.fromkeys(texts, "category"))
    for i in range(many):
        baseline = draw.normal(0.5, 0.2, len(prompts)).repeat(MODELS * ROLES)
        value = baseline + draw.normal(0, 0.2, len(replies))
        value[draw.random(len(replies)) < 0.1] = np.nan
        part = coded.drop(columns=["generation", "refusal", "empty", "reason"]).assign(
            value=value, feature=i, domain=0
        )
        parts.append(part.assign(baseline=baseline if all_baselines or i % 2 else np.nan))
    features = pd.concat(parts, ignore_index=True)
    features["feature"] = pd.Categorical.from_codes(
        features["feature"], [f"feature-{i:02d}" for i in range(many)]
    )
    features["domain"] = pd.Categorical.from_codes(features["domain"], ["countries"])
    return features, replies, prompts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--headline", type=int, default=1000)
    parser.add_argument("--features", type=int, default=FEATURES)
    parser.add_argument("--all-baselines", action="store_true")
    arguments = parser.parse_args()
    features, replies, prompts = tables(arguments.features, arguments.all_baselines)
    settings = Disparities(permutations=1000, headline_permutations=arguments.headline)
    again, said = (
        pd.DataFrame(columns=schema.names) for schema in (schemas.FRAMED, schemas.BASELINES)
    )
    own = {
        "features": features,
        "baselines": said,
        "generations": replies,
        "prompts": prompts,
        "again": again,
    }
    none: dict[str, list[str]] = {
        name: [] for name in ("confirmatory", "controls", "prefixes", "placebos")
    }
    plan = {**none, "features": {}, "disparities": settings.model_dump()}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    start = time.perf_counter(), time.process_time()
    found = diagnose("countries", own, plan, Resampling(0.95, 1000, 0))
    disparities = adjust_p(found["compared"])
    seconds, own = time.perf_counter() - start[0], time.process_time() - start[1]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{len(features):,} measurements, {len(found['summaries']):,} summaries, "
        f"{len(disparities):,} disparities, "
        f"{arguments.headline:,} headline permutations"
    )
    print(f"{seconds:.1f} s, {own:.1f} s of processors, peak {peak:,.0f} MB, {before:,.0f} before")


if __name__ == "__main__":
    main()
