"""The commands of probes: `evenruler evolve`, and `evenruler ratings` to make blind rating sheets
and read them.
"""

import json
import secrets
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from evenruler import repository
from evenruler.errors import UserError, suggest_nearest
from evenruler.strict import read_text
from evenruler.tables.records import read_text_table
from evenruler.terminal import say

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

    from evenruler.instruments.probes.declare.settings import Evolve, Settings
    from evenruler.instruments.probes.ratings import Construct
    from evenruler.models.declarations import Catalogue

Profile = Literal["quick", "paper"]
MEND = "check the name"

BUILT, SOURCES = Path("data/built/probes"), Path("data/sources/probes")

HUMAN = "human"
"""The set of templates that people wrote."""

SHOWN_WORDS = 5
"""Most words that raters are shown for {ATTRIBUTE}, and for {TARGET} from each group."""

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
ratings = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Have templates rated blind: make sheets, read them back.",
)
app.add_typer(ratings, name="ratings")


@app.command()
def evolve(
    name: Annotated[str, typer.Argument(help="An instrument of the family probes that evolves.")],
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="local|ray[=ADDRESS]|vllm[=N]",
            help="Where it computes; as EVENRULER_ENGINE says.",
        ),
    ] = None,
    profile: Annotated[
        Profile, typer.Option(help="The profile whose operator is asked.")
    ] = "quick",
    operator: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Who rewords: hub:ORG/NAME, endpoint:NAME, or as for `measure`; by default as in "
            "params.yaml.",
        ),
    ] = None,
    add: Annotated[
        bool,
        typer.Option(
            "--add", help="Keep the replies that the file has, e.g. to those of other weights."
        ),
    ] = False,
) -> None:
    """Ask the operator again how templates are reworded:
    data/sources/probes/replies/OPERATOR/NAME.jsonl, for repro.
    """
    from evenruler.declaration.params_file import ParamsFile
    from evenruler.declaration.profiles import choose_profile
    from evenruler.files import write_text_atomically
    from evenruler.instruments.instrument import Declaration
    from evenruler.instruments.probes.declare import load as load_source
    from evenruler.models.engines import set_engine

    set_engine(engine)
    choose_profile(profile)
    repository.enter_repository()
    params = ParamsFile(profile=profile)
    settings = params.settings(name, "probes")
    if settings.made_by != "evolve":
        raise UserError(
            f"{name!r} does not evolve",
            where=f"{params.path}: instruments.{name}",
            remedy="give `evolve`",
        )
    source = load_source(
        SOURCES / f"{settings.source_name(name)}.yaml", settings, SOURCES / "shared"
    )
    catalogue = params.catalogue
    if operator is not None:
        settings, catalogue = _with_operator(operator, settings, catalogue)
    settings.require_able(source, catalogue, partial(params.place, name))

    from evenruler.instruments.probes.evolve import merge_replies, record_operator_replies
    from evenruler.models.catalogue import (
        load_model,
    )  # takes seconds, so only after the checks of the user's input
    from evenruler.models.store import cache_root

    declaration = Declaration(name, "probes", settings, source)
    text, lines = record_operator_replies(
        declaration, partial(load_model, params=catalogue), cache_root() / "evolve"
    )
    path = SOURCES / settings.replies(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if add and path.exists():
        text = merge_replies(read_text(path), text)
    write_text_atomically(path, text)
    n_replies = text.count("\n")
    for line in (*lines, f"{path}: {n_replies:,} replies"):
        say(line)
    if operator is not None:
        for line in _declaring_lines(name, settings.evolve, catalogue, params.catalogue):
            say(line)


def _with_operator(
    reference: str, settings: "Settings", catalogue: "Catalogue"
) -> "tuple[Settings, Catalogue]":
    """Settings by which another model rewords, and the catalogue with it; UserError where there is
    no such model, or another one of its name.
    """
    from evenruler.evaluate.resolve_model import resolve_model
    from evenruler.models.store import RowStore

    resolved = resolve_model(reference, RowStore())
    entry = resolved.entry
    declared = catalogue.models.get(resolved.name, entry)
    if declared.locations != entry.locations:
        what = f"params.yaml has another model {resolved.name!r}"
        raise UserError(what, where=f"--operator {reference}", remedy="rename that one")
    assert settings.evolve is not None
    shots = settings.evolve.shots and entry.continues
    evolve = settings.evolve.model_copy(update={"operator": resolved.name, "shots": shots})
    models = {**catalogue.models, resolved.name: declared}
    return (
        settings.model_copy(update={"evolve": evolve}),
        catalogue.model_copy(update={"models": models}),
    )


def _declaring_lines(
    name: str, evolve: "Evolve", catalogue: "Catalogue", declared: "Catalogue"
) -> "Iterator[str]":
    """What to write into `params.yaml` so that `repro` replays the replies of an operator."""
    yield (
        f"to replay them, say in params.yaml under instruments.{name}.evolve: "
        f"operator: {evolve.operator}, shots: {str(evolve.shots).lower()}"
    )
    if evolve.operator not in declared.models:
        entry = catalogue.models[evolve.operator].model_dump(mode="json", exclude_defaults=True)
        yield f"and under models: {evolve.operator}: {json.dumps({**entry, 'profile': 'none'})}"


@ratings.command()
def sheet(
    domains: Annotated[
        list[str], typer.Argument(metavar="DOMAIN...", help="Folders under data/built/probes.")
    ],
    sets: Annotated[
        str | None, typer.Option(metavar="SET,SET", help="Sets of templates; all by default.")
    ] = None,
    human: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Templates that people wrote: one a line, or a CSV with the column text (and "
            "domain). Set human.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="By default data/ratings/DOMAIN.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another one gives another order.")] = 0,
) -> None:
    """Make a blind rating sheet: raters/sheet.csv and raters/instructions.txt to give out, key.csv
    to keep.

    A key that lies there already is used again, so that the same call gives the same sheet.
    """
    import pandas as pd

    from evenruler.files import write_text_atomically
    from evenruler.instruments.probes.ratings import as_sheet, blind_templates, rater_instructions
    from evenruler.tables.frames import for_spreadsheets, read_frame

    here = repository.enter_repository()
    human, out = (path and repository.resolve_user_path(path, here) for path in (human, out))
    names = [name.removeprefix("probes-") for name in domains]
    constructs = {name: _read_construct(name) for name in names}
    columns = ["set", "template", "text"]
    built = {
        name: read_frame(BUILT / name / "templates.parquet")[columns].assign(domain=name)
        for name in names
    }
    templates = _select_sets(pd.concat(built.values()), sets)
    if human is not None:
        templates = pd.concat([templates, _by_people(human, names, constructs)])
    templates = templates.assign(
        construct=templates["domain"].map({n: c.name for n, c in constructs.items()})
    )
    folder = out or Path("data/ratings") / names[0]
    path = folder / "key.csv"
    before = read_text(path) if path.exists() else None
    secret = secrets.token_hex(32)
    if before is not None:
        _, key_rows = read_text_table(path, MEND)
        secret = next((row.get("secret", "") for _, row in key_rows), "")
        if not secret:
            raise UserError(
                "no secret in it", where=str(path), remedy="give another --out, or move it away"
            )
    blinded = blind_templates(templates, secret, seed)
    key = for_spreadsheets(blinded.key).to_csv(index=False, lineterminator="\n")
    if before not in (None, key):
        raise UserError(
            "the key of another sheet",
            where=str(path),
            remedy="give another --out, or move it away",
        )
    distinct = list({construct.name: construct for construct in constructs.values()}.values())
    write_text_atomically(path, key)
    # Without a byte order mark, spreadsheets do not read a CSV as UTF-8.
    write_text_atomically(folder / "raters/sheet.csv", "\ufeff" + as_sheet(blinded.rows))
    write_text_atomically(folder / "raters/instructions.txt", rater_instructions(distinct))
    say(
        f"{len(blinded.rows)} probes of {templates['set'].nunique()} sets; for raters: "
        f"{folder / 'raters'}"
    )
    say(f"not for raters: {path}")


@ratings.command()
def read(
    sheets: Annotated[list[Path], typer.Argument(metavar="SHEET...", help="Filled sheets, CSV.")],
    key: Annotated[Path, typer.Option(metavar="FILE", help="The key that came with the sheet.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="By default that of the key.")
    ] = None,
) -> None:
    """Read filled sheets: ratings.csv, statistics.csv, and the statistics as tables."""
    from evenruler.declaration.params_file import ParamsFile
    from evenruler.files import write_text_atomically
    from evenruler.instruments.probes.ratings import (
        as_markdown,
        join_ratings,
        rating_statistics,
        read_key,
    )
    from evenruler.tables.frames import for_spreadsheets

    here = repository.enter_repository()
    key = repository.resolve_user_path(key, here)
    out = out and repository.resolve_user_path(out, here)
    sheets = [repository.resolve_user_path(path, here) for path in sheets]
    for path in sheets:
        if sheets.count(path) > 1:
            raise UserError("given twice", where=str(path), remedy="give each sheet once")
    sources = read_key(read_text(key, MEND), str(key))
    rated = join_ratings({str(path): read_text(path, MEND) for path in sheets}, sources)
    summary = rating_statistics(rated, sources, ParamsFile().resampling)
    folder = out or key.parent
    write_text_atomically(
        folder / "ratings.csv", for_spreadsheets(rated).to_csv(index=False, lineterminator="\n")
    )
    write_text_atomically(
        folder / "statistics.csv",
        summary.to_csv(index=False, lineterminator="\n", float_format="%.6g"),
    )
    say(as_markdown(summary, rated, sources), end="")


def _read_construct(domain: str) -> "Construct":
    """The construct of a domain, from its source; for an evolved domain, from the source it evolved
    from.
    """
    from evenruler.declaration.params_file import ParamsFile
    from evenruler.instruments.probes.declare.source import ProbeSource
    from evenruler.instruments.probes.ratings import Construct
    from evenruler.strict import read_yaml, validate

    path = SOURCES / f"{domain}.yaml"
    if not path.exists():
        path = SOURCES / f"{ParamsFile().settings(domain, 'probes').source_name(domain)}.yaml"
    source = validate(ProbeSource, read_yaml(path), path)
    attributes = list(source.attributes.values())[:SHOWN_WORDS]
    targets: list[str] = []
    for words in source.targets.values():
        targets += list(words.values())[:SHOWN_WORDS]
    return Construct(source.construct_, attributes, targets, source.warning)


def _select_sets(templates: "pd.DataFrame", sets: str | None) -> "pd.DataFrame":
    """The templates of the named sets, or of all sets if none is named."""
    if sets is None:
        return templates
    known_sets = templates["set"].unique()
    names = [name.strip() for name in sets.split(",")]
    for name in names:
        if name not in known_sets:
            raise UserError(
                f"no set {name!r}", where="--sets", remedy=suggest_nearest(name, known_sets)
            )
    return templates[templates["set"].isin(names)]


def _by_people(
    path: Path, domains: list[str], constructs: "dict[str, Construct]"
) -> "pd.DataFrame":
    """Read templates that people wrote, with the same checks as those of a source."""
    import pandas as pd

    from evenruler.instruments.probes.declare.source import TemplateEntry
    from evenruler.strict import validate

    construct_names = {construct.name for construct in constructs.values()}
    only = domains[0] if len(construct_names) == 1 else None
    rows: dict[tuple[str, str], dict[str, str]] = {}
    for number, written, named in _read_lines(path):
        where = Path(f"{path}: line {number}")
        domain = named or only
        if domain not in domains:
            problem = f"no domain {domain!r}" if domain else "no domain"
            remedy = f"give a CSV with the columns text and domain ({', '.join(domains)})"
            raise UserError(problem, where=str(where), remedy=remedy)
        text = " ".join(validate(TemplateEntry, {"text": written}, where).text.split())
        if (domain, text) in rows:
            raise UserError(f"{text!r} twice", where=str(where), remedy="keep one")
        rows[domain, text] = {
            "set": HUMAN,
            "template": f"line-{number}",
            "text": text,
            "domain": domain,
        }
    if not rows:
        raise UserError("no templates", where=str(path), remedy="write one a line")
    return pd.DataFrame(list(rows.values()))


def _read_lines(path: Path) -> list[tuple[int, str, str | None]]:
    """Number, text and domain of each line of a text file or row of a CSV; empty lines are
    skipped.
    """
    if path.suffix.lower() == ".csv":
        return [
            (n, row["text"], row.get("domain") or None)
            for n, row in read_text_table(path, MEND, ["text"])[1]
        ]
    return [
        (n, line, None)
        for n, line in enumerate(read_text(path, MEND).splitlines(), start=1)
        if line.strip()
    ]
