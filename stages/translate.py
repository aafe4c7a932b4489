"""Translate a questionnaire: `data/sources/questionnaires/{q}.yaml` -> `data/built/questionnaires/{q}/`."""

from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.build import translate
from evenruler.instruments.questionnaires.source import load_questionnaire
from evenruler.tables import write_table
from stages.running import BUILT, SOURCES, run


def main(name: str) -> None:
    """Write every prompt of the questionnaire, bare and framed, its items, its terms, and what was rejected."""
    source, scale = load_questionnaire(SOURCES / "questionnaires" / f"{name}.yaml", SOURCES / "scales")
    built = translate(name, source, scale)
    folder = BUILT / "questionnaires" / name
    write_table(built.prompts, schemas.PROMPTS, folder / "prompts.parquet")
    write_table(built.framed, schemas.FRAMED, folder / "framed.parquet")
    write_table(built.items, schemas.ITEMS, folder / "items.parquet")
    write_table(built.terms, schemas.TERMS, folder / "terms.parquet")
    write_table(built.rejected, schemas.REJECTED, folder / "rejected.parquet")
    print(f"{name}: {len(built.prompts):,} prompts, {len(built.rejected):,} rejected")


if __name__ == "__main__":
    run(main)
