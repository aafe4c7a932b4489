"""A repository with instruments of framing and of a fifth family whose settings say of themselves
what others' do."""

from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import pytest

from docs.example_family.pairs import declare
from evenruler.instruments.instrument import ToolUse
from evenruler.instruments.registry import FAMILIES
from evenruler.strict import Slug

PACKAGE = "docs.example_family.pairs"

PARAMS = """\
# The declaration of a test.

# Whom we ask.
models: # the catalogue
  tiny: {kind: causal, source: "local:weights/tiny", licence: mit, origin: of our own, profile: quick}
  big: {kind: causal, source: "local:weights/big", licence: mit, origin: of our own, profile: paper}
  shared:
    kind: causal # at every profile
    source: local:weights/shared
    licence: mit
    origin: of our own
  writer: {kind: chat, source: "endpoint:writer", licence: none, origin: of a server}
  head: {kind: nli, source: "local:weights/head", licence: mit, origin: of our own}
  parked: {kind: nli, source: "local:weights/parked", licence: mit, origin: of our own, profile: none}

instruments: # what is built
  doctors: {family: pairs} # the first
  nurses: {family: pairs, others: true}
  found: {family: pairs, made: scrape}
  bred: {family: pairs, made: evolve, source_of: doctors, judge: parked}
  hair: {family: framing}
  later: {family: pairs, profile: paper}

families:
  pairs: {most: 3}
diagnosis: {resamples: 100}
versions: {pairs-doctors: 1.2.0} # by hand
"""

PIPELINE = """\
vars: [active.yaml]
stages:
  rows:
    foreach: ${active.instruments}
    do:
      cmd: python -m stages.rows ${key}
      params:
        - data/declared.json: ["code.rows.${item.family}", "settings.${key}", "tools.${key}"]
      outs: ["data/built/${item.family}/${key}"]
"""


class Settings(declare.Settings):
    """Of pairs that say what is particular about them."""

    others: bool = False
    made: Literal["scrape", "evolve"] | None = None
    judge: Slug | None = None
    also: Slug | None = None

    @property
    def third_party(self) -> bool:
        """As it was said."""
        return self.others

    @property
    def made_by(self) -> Literal["scrape", "evolve"] | None:
        """As it was said."""
        return self.made

    def uses(self, source: Any) -> list[ToolUse]:
        """A judge and another."""
        named = {"judge": self.judge, "also": self.also}
        return [ToolUse(model, "entail", key) for key, model in named.items() if model is not None]


def register(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the house know the family, with these settings."""
    monkeypatch.setitem(FAMILIES, "pairs", PACKAGE)
    monkeypatch.setattr(declare, "Settings", Settings)


def put(root: Path, *changes: tuple[str, str]) -> Path:
    """The repository, each (old, new) replaced once in `PARAMS`; returns params.yaml."""
    text = PARAMS
    for old, new in changes:
        assert text.count(old) == 1, (
            f"{old!r} stands {text.count(old)} times in the text of the test"
        )
        text = text.replace(old, new)
    path = root / "params.yaml"
    path.write_text(text, encoding="utf-8")
    (root / "dvc.yaml").write_text(PIPELINE, encoding="utf-8")
    for family, names in {
        "pairs": ["doctors", "nurses", "found", "later"],
        "framing": ["hair"],
    }.items():
        starter = files(FAMILIES[family]).joinpath("starter/NAME.yaml").read_text(encoding="utf-8")
        for name in names:
            source = root / "data/sources" / family / f"{name}.yaml"
            source.parent.mkdir(parents=True, exist_ok=True)
            # Without a headline or marks, so that nobody is warned: no verdict, texts of the
            # starter.
            source_text = (
                starter.replace("NAME", name)
                .replace("\nfocal_outcome: ", "\n# ")
                .replace("\nheadlines: ", "\n# ")
                .replace(" # FILL", "")
            )
            source.write_text(source_text, encoding="utf-8")
    for name in ("tiny", "big", "shared", "head", "parked"):
        (root / "weights" / name).mkdir(parents=True, exist_ok=True)
    return path
