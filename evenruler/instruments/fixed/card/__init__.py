"""The card of a published benchmark."""

from evenruler.instruments import card as cards
from evenruler.instruments.card import Card, Paper, Published, Responsible, Validity
from evenruler.instruments.fixed.declare import SCORES, Settings, Source, headings
from evenruler.instruments.instrument import Declaration, Evidence, Plan, Tables
from evenruler.measurement.sentences import with_capital
from evenruler.tables.schemas import WHOLE

__all__ = ["card"]

COLUMNS = {
    "role": "`first`: the text that the score counts; `second`: its alternative; `third`: unrelated, or unknown",
    "unit": "the sampling unit, over which intervals are",
    "part": "the part of the benchmark, as its authors define it",
    "frequency": "mean log frequency of the words that its alternative lacks, nats",
}


def card(declaration: Declaration, tables: Tables, plan: Plan, evidence: Evidence) -> Card:
    """The card of a published benchmark; it publishes ids in place of texts where the licence allows no more."""
    source: Source = declaration.source
    settings: Settings = declaration.settings
    texts = tables["texts"]
    published = Published("texts", "one text of an item", COLUMNS, ["text"])
    if not source.passed_on:
        published = Published("ids", "one text of an item, by its checksum", COLUMNS, ["key"])
    files = "; ".join(f"{file.source} (sha256 {file.sha256})" for file in source.files.values())
    counted = f"{texts['item'].nunique():,} items in {texts['unit'].nunique():,} {source.units}"
    scored = "; ".join(f"`{name}`: {words}" for name, words in SCORES[source.score].items())
    limits = [
        f"Its items are samples of {source.units}: {counted}. Intervals are over {source.units}.",
        _placebos(evidence, source),
        "The effect of rewording its texts was not measured.",
    ]
    if source.score == "preference":
        limits.append(
            "Sentence pairs contain no task that a model could fail, so an incapable model also gets a score."
        )
    return Card(
        task_categories=["text-generation"],
        tags=["fairness", "bias", "evaluation"],
        reading=f"{source.published} {source.direction} Published figures: {scored}.",
        limits=[*limits, *source.limits],
        configs=[published],
        quality=headings(plan),
        parameters={"most": settings.most, "score": source.score, "layout": source.layout},
        papers=[Paper(source.source)],
        responsible=Responsible(
            uses="To measure a model by the published score, beside what length and word frequency alone predict.",
            biases=f"Those of its authors and their time ({source.source}); rows state stereotypes.",
            social_impact="A score describes one benchmark and says nothing about harm to people.",
            personal="Only what its authors published.",
            made=f"By its authors; read from {files}.",
            synthetic=False,
        ),
        validity=Validity(
            phenomenon=f"{with_capital(source.construct_)}, as its authors define it.",
            only_the_phenomenon="The lean is controlled for length and word frequency, and for nothing else.",
            representative=f"Not done: {counted}, as its authors drew them.",
            reuse=f"All rows are reused: {source.source}; licence {source.licence}.",
            contamination=cards.PUBLIC,
            statistics=cards.tested(evidence),
            errors=f"{len(tables['rejected']):,} texts were rejected with reasons; no reply was read.",
            construct=f"{cards.judged(evidence)} {cards.agrees(source.concept)}",
        ),
        withheld=None if source.passed_on else f"Its text may not be redistributed; get it from {files}.",
    )


def _placebos(evidence: Evidence, source: Source) -> str:
    """The limit on placebo sentences in words: share of items they turn, by model, or that none was asked."""
    share = {model: own["turned"] for model, own in evidence.get(WHOLE, {}).items() if "turned" in own}
    told = [f"{record['value']:.0%} on {model}" for model, record in share.items() if record["value"] is not None]
    if not told:
        return "The effect of another sentence before the texts was not measured."
    placebos = ", ".join(f'"{text}"' for text in source.placebos)
    listed = ", ".join(told)
    return (
        f"Another sentence before the texts changes the direction of some items: {listed}. The sentences: {placebos}."
    )
