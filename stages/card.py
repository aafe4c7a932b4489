"""Assemble one benchmark: built rows and figures -> `benchmarks/{family}-{instrument}/`."""

from collections.abc import Mapping
from dataclasses import replace

from evenruler.declaration.digests import labels_of
from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.instrument import Evidence
from evenruler.instruments.registry import family_module
from evenruler.measurement.figures import model_label, with_labels
from evenruler.publish.folder import BenchmarkFolder, Config, write_benchmark
from evenruler.tables import read_table
from evenruler.versions import load_changelog
from stages import files
from stages.held import keep_held
from stages.running import run


def main(name: str) -> None:
    """Write the benchmark's folder atomically."""
    params = ParamsFile()
    declared = replace(files.read_declaration(params, name), version=params.version(name))
    family, source, folder = declared.family, declared.source, files.BENCHMARKS / declared.benchmark
    tables = {
        path.stem: read_table(path)
        for path in sorted((files.BUILT / family / name).glob("*.parquet"))
    }
    plan, evidence = files.plan_of(family, name), files.evidence_of(family, name)
    release = files.read_release_metadata()
    also = f"; its answers are recorded, release {release['release']}"
    origins = {
        name: f"{origin}{also if name in release['models'] else ''}"
        for name, origin in evidence["models"].items()
    }
    frames = {key: table.to_pandas() for key, table in tables.items()}
    labels = labels_of(origins, params.catalogue)
    facts = with_labels(evidence["figures"], labels)
    card = family_module(family, "card").card(declared, frames, plan, facts)
    configs = [Config(**vars(config), table=tables[config.name]) for config in card.configs]
    stage = "card-third-party" if declared.settings.third_party else "card"
    changelog_path = files.SOURCES / "changelogs" / f"{declared.benchmark}.yaml"
    benchmark = BenchmarkFolder(
        **{**vars(card), "configs": configs},
        name=declared.benchmark,
        title=source.title,
        version=declared.version,
        language=source.language,
        construct=source.construct_,
        warning=source.warning,
        citations=source.citations,
        n_rejected=tables["rejected"].num_rows,
        plan=plan,
        evidence=evidence["figures"],
        models=label_origins(origins, evidence["figures"]),
        labels=labels,
        command=f"dvc repro {stage}@{name}",
        changelog=load_changelog(changelog_path),
        third_party=declared.settings.third_party,
        planted=files.read_planted_results(declared.benchmark),
    )
    write_benchmark(benchmark, folder)
    keep_held(folder)


def label_origins(origins: Mapping[str, str], evidence: Evidence) -> dict[str, str]:
    """Origins of the models that have a figure, by their labels in figures; "bert (mlm)" is bert,
    asked by mlm.
    """
    model_by_label = {model_label(row): row["model"] for row in evidence if row["model"]}
    origin_by_label: dict[str, str] = {}
    for model, origin in origins.items():
        labels = sorted(label for label in model_by_label if model_by_label[label] == model)
        origin_by_label |= dict.fromkeys(labels, origin)
    return origin_by_label


if __name__ == "__main__":
    run(main)
