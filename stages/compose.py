"""Compose one contrast of framings: `data/sources/contrasts/{c}.yaml` -> `data/built/framing/{c}/`."""

from evenruler.declared import Declared
from evenruler.instruments.framing import schemas
from evenruler.instruments.framing.build import compose
from evenruler.instruments.framing.settings import ContrastSettings
from evenruler.instruments.framing.source import load_contrast
from evenruler.tables import write_table
from stages.running import BUILT, SOURCES, run


def main(contrast: str) -> None:
    """Write every prompt of the contrast, its outcome classes, its stimuli, and what was rejected."""
    settings = Declared().entry("contrasts", contrast, ContrastSettings)
    source = load_contrast(SOURCES / "contrasts" / f"{contrast}.yaml", settings)
    composed = compose(contrast, source, settings)
    folder = BUILT / "framing" / contrast
    write_table(composed.prompts, schemas.PROMPTS, folder / "prompts.parquet")
    write_table(composed.outcomes, schemas.OUTCOMES, folder / "outcomes.parquet")
    write_table(composed.stimuli, schemas.STIMULI, folder / "stimuli.parquet")
    write_table(composed.rejected, schemas.REJECTED, folder / "rejected.parquet")
    print(f"{contrast}: {len(composed.prompts):,} prompts, {len(composed.rejected):,} rejected")


if __name__ == "__main__":
    run(main)
