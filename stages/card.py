"""Put one benchmark together: built rows and figures -> `benchmarks/{family}-{instrument}/`."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from evenruler.declared import Declared
from evenruler.instruments.card import Validity
from evenruler.instruments.instrument import Column
from evenruler.instruments.registry import room
from evenruler.instruments.validity import PAPER, RECOMMENDATIONS
from evenruler.publish import Benchmark, Config, Quality, write_benchmark
from evenruler.versions import load_changelog
from stages.files import BENCHMARKS, DIAGNOSIS, EVIDENCE, SOURCES, built_tables, declaration, plan_of, read_json
from stages.running import run


def main(name: str) -> None:
    """Write the benchmark's folder, whole or not at all."""
    params = Declared()
    declared = declaration(params, name)
    family, source, benchmark = declared.family, declared.source, declared.benchmark
    declared = replace(declared, version=params.version(name))
    tables, plan = built_tables(family, name), plan_of(family, name)
    evidence = read_json(DIAGNOSIS / family / EVIDENCE / f"{name}.json")
    frames = {key: table.to_pandas() for key, table in tables.items()}
    card = room(family, "card").card(declared, frames, plan, evidence["figures"])
    write_benchmark(
        Benchmark(
            name=benchmark,
            title=source.title,
            version=declared.version,
            language=source.language,
            task_categories=list(card.task_categories),
            tags=list(card.tags),
            construct=source.construct_,
            warning=source.warning,
            reading=card.reading,
            limits=list(card.limits),
            citations=source.citations,
            configs=[Config(own.name, own.what, tables[own.name], own.described, own.first) for own in card.configs],
            n_rejected=tables["rejected"].num_rows,
            parameters=card.parameters,
            plan=plan,
            quality=_qualities(card.quality),
            listed=_qualities(card.listed),
            quality_of_any=_qualities(card.quality_of_any),
            compared=_qualities(card.compared),
            evidence=evidence["figures"],
            models=measured(evidence["models"], evidence["figures"]),
            command=f"dvc repro card{'-of-others' if declared.settings.of_others else ''}@{name}",
            harness=card.harness,
            harness_task=card.harness_task,
            changelog=load_changelog(SOURCES / "changelogs" / f"{benchmark}.yaml"),
            example=card.example,
            papers=card.papers,
            responsible=card.responsible,
            validity=in_words(card.validity),
            checklist=PAPER,
            withheld=card.withheld,
            of_others=declared.settings.of_others,
        ),
        BENCHMARKS / benchmark,
    )


def in_words(found: Validity | None) -> dict[str, str]:
    """What was done for each recommendation, by its heading in the paper."""
    return {heading: getattr(found, name) for name, heading in RECOMMENDATIONS.items()} if found else {}


def _qualities(columns: Iterable[Column]) -> list[Quality]:
    return [Quality(column.figure, column.heading, column.meaning) for column in columns]


def measured(origins: Mapping[str, str], evidence: Mapping[str, Mapping[str, object]]) -> dict[str, str]:
    """Where the models come from that there is a figure of, by what figures call them: "bert (mlm)" is asked by mlm."""
    known = {label for of_part in evidence.values() for label in of_part}
    return {
        label: origin
        for model, origin in origins.items()
        for label in sorted(known)
        if label == model or label.startswith(f"{model} (")
    }


if __name__ == "__main__":
    run(main)
