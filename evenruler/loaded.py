"""`evenruler.models.load`: a model by its name alone, of the catalogue in the `params.yaml` here."""

from evenruler.declared import Declared
from evenruler.models import catalogue
from evenruler.models.declared import Catalogue
from evenruler.models.model import Model
from evenruler.models.store import RowStore


def load(
    name: str,
    params: Catalogue | None = None,
    *,
    store: RowStore | None = None,
    device: str | None = None,
    where: str | None = None,
) -> Model:
    """A model of the catalogue, of whatever kind, answering through the row store.

    Args:
        name: In the catalogue.
        params: The catalogue; that of `params.yaml` here by default.
        store: Where answers are kept; the one under `cache_root()` by default.
        device: To compute on; a GPU where there is one by default.
        where: The model is declared, for errors; in `params.yaml` by default.

    Returns:
        A model; `Model.can` says what it can do. Its weights are loaded when the store misses something.

    Raises:
        UserError: No such model, no such device, or its files are missing or not what was declared.
    """
    return catalogue.load(name, params or Declared().catalogue, store=store, device=device, where=where)
