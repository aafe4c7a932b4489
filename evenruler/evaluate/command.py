"""`evenruler measure`, and `compare` and `export` of what was measured."""

import datetime
from pathlib import Path
from typing import Annotated, Literal

import typer

from evenruler.terminal import say, say_each

RESULTS = Path("results")
"""Where results go by default."""


def measure(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="hub:ORG/NAME[@REVISION], local:FOLDER, FILE.gguf, ./FOLDER (an adapter, too), package:MODULE/FILE, "
            "endpoint:NAME, ollama:NAME, recorded:FILE, or a name of params.yaml.",
        ),
    ],
    benchmarks: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="BENCHMARK",
            help="A name of `evenruler list` (crows-pairs is fixed-crows-pairs), a folder, USER/REPO[@TAG], FILE.yaml "
            "(a source of your own), or lm_eval:TASK. Without it, recorded answers say which they are to.",
        ),
    ] = None,
    unit: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="By which documents of lm_eval:TASK are of one unit.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where results go.")] = RESULTS,
    device: Annotated[str | None, typer.Option(metavar="cpu|cuda", help="A GPU where there is one by default.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="So many attributes, items ... at most, to try.")] = None,
    size: Annotated[
        Literal["trial", "standard", "paper"],
        typer.Option(help="How much to ask: a first look, what can find the stated effect, or all rows."),
    ] = "standard",
    form: Annotated[
        str | None, typer.Option(metavar="FORM", help="The only way to ask: likelihood, choice, mass, sampled ...")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What to call the model.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(metavar="KIND", help="causal, seq2seq, masked, nli; of an endpoint chat or completions."),
    ] = None,
    dtype: Annotated[str, typer.Option(metavar="float32|bfloat16", help="What a GPU computes in.")] = "float32",
    start: Annotated[
        str | None,
        typer.Option(metavar="TOKEN", help="Put before every text, of an endpoint that puts no start token there."),
    ] = None,
    thinking: Annotated[
        str | None, typer.Option(metavar="off|N", help="It must not think before it answers, or may in N tokens.")
    ] = None,
    effort: Annotated[
        str | None, typer.Option(metavar="WORD", help="How hard it thinks, as low; its own words.")
    ] = None,
    template: Annotated[
        list[str] | None, typer.Option(metavar="KEY=VALUE", help="An option of its chat template; repeatable.")
    ] = None,
    new_tokens: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Let each reply be as long, where a benchmark allows less.")
    ] = None,
    timeout: Annotated[
        int | None, typer.Option(min=1, metavar="SECONDS", help="An answer of an endpoint may take; 120 by default.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Print every figure, not the headlines alone.")] = False,
    output: Annotated[
        Literal["text", "json", "html"],
        typer.Option("--format", help="json: a line of JSON a benchmark, as result.json; html: one page of all."),
    ] = "text",
    max_requests: Annotated[
        int | None,
        typer.Option(min=0, help="Send an endpoint so many at most, repeated ones too. 0: only say how many."),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Send an endpoint all of it, without a question.")] = False,
    price: Annotated[
        str | None, typer.Option(metavar="IN,OUT", help="Dollars for a million tokens, to be told what it costs.")
    ] = None,
    max_cost: Annotated[float | None, typer.Option(min=0, help="Send nothing that may cost more dollars.")] = None,
    engine: Annotated[
        str | None, typer.Option(metavar="local|ray[=ADDRESS]", help="Where it computes; as EVENRULER_ENGINE says.")
    ] = None,
) -> None:
    """Measure a model with published benchmarks: figures with intervals, controls and verdicts, in minutes."""
    from evenruler.evaluate.cost import Price, Spending
    from evenruler.evaluate.measure import measure_each
    from evenruler.evaluate.subject import options_of
    from evenruler.models.engines import choose

    choose(engine)
    for line in measure_each(
        model,
        benchmarks or [],
        out,
        device=device,
        limit=limit,
        size=size,
        form=form,
        name=name,
        kind=kind,
        dtype=dtype,
        start=start,
        max_requests=max_requests,
        spending=Spending(Price.of(price), max_cost, yes),
        options=options_of(thinking, effort, template or [], new_tokens, timeout),
        unit=unit,
        show=output if output != "text" else "all" if everything else "answer",
    ):
        say(line)


results = typer.Typer(rich_markup_mode=None)

Places = Annotated[
    list[str], typer.Argument(metavar="PLACE...", help="A result's folder or result.json, or a folder above results.")
]


@results.command()
def compare(
    places: Places,
    output: Annotated[
        Literal["markdown", "json", "csv"], typer.Option("--format", help="How to show it.")
    ] = "markdown",
    page: Annotated[Path | None, typer.Option(metavar="FILE.html", help="Write one self-contained page too.")] = None,
) -> None:
    """Compare models by their results: figures, controls and verdicts side by side, and what each two differ in."""
    from evenruler.files import replace
    from evenruler.results import comparison, view
    from evenruler.results.store import load_results, read_all

    found = read_all(*places)
    comparisons = comparison.compare(found)
    compared = set(comparisons["benchmark"])
    for one in found:
        name = one.result.benchmark.name
        if name not in compared:
            say(f"{name}: only {one.result.model.name} has a result, nothing to compare it with", err=True)
    if page is not None:
        replace(page, view.render(found, comparisons))
        say(f"page: {page}", err=True)
    if output == "markdown":
        say(view.as_markdown(found, comparisons), end="")
    elif output == "json":
        say(view.as_json(load_results(*places), comparisons), end="")
    else:
        say(comparisons.to_csv(index=False, lineterminator="\n"), end="")


@results.command()
def gate(
    places: Places,
    fail_on: Annotated[
        list[str] | None, typer.Option(metavar="effect|'not specific'|worse", help="What fails; repeatable.")
    ] = None,
    most: Annotated[
        list[str] | None,
        typer.Option("--max", metavar="BENCHMARK:FIGURE=SIZE", help="Fails where the whole interval lies beyond."),
    ] = None,
    baseline: Annotated[
        Path | None, typer.Option(metavar="PLACE", help="Earlier results, which `worse` is held against.")
    ] = None,
) -> None:
    """Stop a pipeline by results: status 0 passed, 1 failed, 2 not measured, 3 inconclusive or invalid."""
    from evenruler.errors import UserError
    from evenruler.results import gate as gates
    from evenruler.results.store import read_all

    bounds = {}
    for given in most or []:
        name, _, size = given.rpartition("=")
        try:
            bounds[name] = float(size)
        except ValueError:
            raise UserError(f"found {given!r}", where="--max", remedy="say BENCHMARK:FIGURE=SIZE") from None
    found = gates.gate(read_all(*places), fail_on or ["effect"], bounds, read_all(str(baseline)) if baseline else [])
    say_each(found.lines)
    raise typer.Exit(found.status)


@results.command()
def export(
    places: Places,
    to: Annotated[Path, typer.Option(metavar="DIR", help="Records go below its folder data.")],
    model_ids: Annotated[
        list[str] | None,
        typer.Option("--id", metavar="NAME=ORG/MODEL", help="What a model that is not from the Hub is; repeatable."),
    ] = None,
    date: Annotated[
        datetime.datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="Of the records; by default when each result was written."),
    ] = None,
    relationship: Annotated[
        Literal["first_party", "third_party", "collaborative", "other"],
        typer.Option(help="Of you, who measured, to who made the model."),
    ] = "third_party",
) -> None:
    """Export results for Every Eval Ever, the shared store of evaluations: a JSON file each."""
    from evenruler.errors import UserError
    from evenruler.results import every_eval_ever
    from evenruler.results.store import read_all

    ids = {}
    for given in model_ids or []:
        name, sign, identity = given.partition("=")
        if not sign:
            raise UserError(f"found {given!r}", where="--id", remedy="say NAME=ORG/MODEL")
        ids[name] = identity
    day = date.date() if date else None
    for one in every_eval_ever.export(read_all(*places), to, ids=ids, date=day, relationship=relationship):
        say(f"{one.path}: {one.figures} figures")
        for line in one.left_out:
            say(f"  not exported: {line}")
