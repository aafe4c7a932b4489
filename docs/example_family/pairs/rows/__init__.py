"""Pairs as rows."""

from evenruler.instruments.instrument import BuiltInstrument, Declaration
from evenruler.models.declarations import Catalogue
from evenruler.tables import content_sha256, row_id, table_of

from .. import schemas
from ..declare import PairsPlan, Settings, Source


def build(declaration: Declaration[Settings, Source], catalogue: Catalogue) -> BuiltInstrument:
    """A row a pair; two sentences that are the same are rejected."""
    rows, rejected, source = [], [], declaration.source
    for slug, (more, less) in source.pairs.items():
        key = row_id(family="pairs", benchmark=declaration.name, pair=slug)
        row = {
            "id": key,
            "content_sha256": content_sha256(more, less),
            "variant": "written",
            "framing": "bare",
        }
        row |= {
            "source": source.source,
            "licence": source.licence,
            "pair": slug,
            "more": more,
            "less": less,
        }
        (rejected if more == less else rows).append(
            row if more != less else {**row, "reason": "both are the same"}
        )
    tables = {
        "pairs": table_of(rows, schemas.PAIRS),
        "rejected": table_of(rejected, schemas.REJECTED),
    }
    plan: PairsPlan = {"most": declaration.settings.most}
    return BuiltInstrument(tables, plan, [f"{declaration.name}: {len(rows)} pairs"])
