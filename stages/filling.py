"""Fill the store with a model's answers, for `dvc repro` to find there; not a stage of DVC.

`python -m stages.filling ask MODEL FAMILY [FAMILY ...]` asks as `stages.ask` does, but writes answers to the store
only; `ask-model` instead of `ask` leaves out the tools; `stored` asks nobody, and a missing answer is an error.
`python -m stages.filling count FAMILY MODEL [FAMILY MODEL ...]` prints what the store lacks, in lines of JSON.
"""

import json
import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from evenruler.declaration.params_file import Declared
from evenruler.errors import UserError
from evenruler.instruments.asking import Answering, ask, lacking, subject_of, tools_of
from evenruler.instruments.instrument import formed
from evenruler.instruments.registry import room
from evenruler.models.cache import LackingError
from evenruler.models.declared import HOSTED, Catalogue
from evenruler.tables import grouped
from evenruler.terminal import progress
from stages.ask import adapted, asked_of
from stages.files import BUILT
from stages.running import run

if TYPE_CHECKING:
    from evenruler.models.model import Model


def main(what: str, *words: str) -> None:
    """Ask, or count."""
    if what == "count":
        count(list(zip(words[::2], words[1::2], strict=True)))
    else:
        fill(*words, before_tools=what != "ask", stored=what == "stored")


def fill(name: str, *families: str, before_tools: bool, stored: bool) -> None:
    """Ask the model, and unless `before_tools` the tools of the instruments, for all answers that the store lacks."""
    params = Declared()
    asked, subject = {family: asked_of(params, family, name) for family in families}, subject_of(name, params.catalogue)

    from evenruler.models.catalogue import load  # slow import: after checks of what users write

    model = load(name, params.catalogue)
    if stored:
        model = model.stored()
    for family in families:
        tools = tools_of([plan for _, plan in asked[family].values()], BUILT / family)
        before = model.asked
        answering = Answering(model, tools, adapted(params.catalogue, name))
        try:
            door = room(family, "ask")
            ask(asked[family], door.requests, formed(door.FORMS, subject), answering, before_tools=before_tools)
        except LackingError as error:
            raise UserError(str(error), where=family, remedy="ask it first") from None
        finally:
            _keep_rates(params, family, answering)
            model.spent.clear()
        print(f"{family}: {answering.asked - before:,} answers asked of models")


def _keep_rates(params: Declared, family: str, answering: Answering) -> None:
    """Store the speed of each operation of each model."""
    from evenruler.models.engines import Rate, keep_rates, machine
    from evenruler.models.store import cache_root

    taken = grouped(((spent.model, spent.operation), spent) for spent in answering.spent)
    on, found = machine(), []
    for (model, operation), own in taken.items():
        if tokens := sum(spent.amount.tokens for spent in own):
            questions, seconds = sum(spent.amount.questions for spent in own), sum(spent.seconds for spent in own)
            of = (family, model, operation, on.device, parameters_of(model, params.catalogue))
            found.append(Rate(*of, tokens, questions, seconds * on.together))
    keep_rates(found, cache_root())


def count(pairs: list[tuple[str, str]]) -> None:
    """Print in lines of JSON the machine, what the store lacks for each pair, and the models; nothing is asked."""
    from evenruler.models.engines import machine

    params = Declared()
    models = AtHand(params.catalogue)
    _say(asdict(machine()))
    with progress(len(pairs), "counting", "model") as bar:  # a large one takes a minute
        for family, name in pairs:
            wrong, lacks = "", list[dict[str, Any]]()
            try:
                asked = asked_of(params, family, name, built=True)  # a dry run asks no operator
                subject = subject_of(name, params.catalogue)
                own = models.model(name)
                answering = Answering(own, models.model, adapted(params.catalogue, name, own))
                door = room(family, "ask")
                found = lacking(asked, door.requests, formed(door.FORMS, subject), answering)
                lacks = [{"model": one.model, "operation": one.operation, **asdict(one.amount)} for one in found]
            except UserError as error:
                wrong = str(error)
            _say({"family": family, "model": name, "wrong": wrong, "lacks": lacks})
            bar.update()
    parameters = {name: parameters_of(name, params.catalogue) for name in models.found if name not in models.absent}
    _say({"absent": models.absent, "parameters": parameters})


def _say(content: object) -> None:
    print(json.dumps(content), flush=True)


class AtHand:
    """Models that answer from the store only, including those whose files are not on this machine."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self.found: dict[str, Model] = {}
        self.absent: dict[str, str] = {}
        """By model, why its files are unavailable."""

    def model(self, name: str) -> "Model":
        """One of these models; one whose files are missing finds no answer in the store."""
        from evenruler.models.catalogue import load
        from evenruler.models.model import Model
        from evenruler.models.store import RowStore

        if name not in self.found:
            try:
                found = load(name, self._catalogue)
            except UserError as error:
                self.absent[name] = str(error)
                entry, kind = self._catalogue.models[name], self._catalogue.kind(name)
                found = Model(name, entry, kind, RowStore(), lambda: f"{name} is not here", lambda: None)
            self.found[name] = found.stored()
        return self.found[name]


def parameters_of(name: str, catalogue: Catalogue) -> int | None:
    """Number of parameters of a model; None where it is on a server, or its weights cannot be read as tensors."""
    from safetensors import SafetensorError, safe_open

    from evenruler.models.sources import locate
    from evenruler.models.store import RowStore

    entry = catalogue.models[name]
    if entry.kind in HOSTED:
        return None
    folder = locate(name, entry, RowStore(), catalogue.models)
    total = 0
    try:
        for path in folder.glob("*.safetensors"):
            with safe_open(path, "np") as file:  # the header has the shapes
                total += sum(math.prod(file.get_slice(key).get_shape()) for key in file.keys())  # noqa: SIM118  # no mapping
    except (OSError, SafetensorError):  # a broken file: loading it reports the error
        return None
    return total or None


if __name__ == "__main__":
    run(main)
