"""`evenruler measure`."""

from pathlib import Path
from typing import Annotated

import typer

from evenruler.terminal import say

RESULTS = Path("results")
"""Where results go by default."""


def measure(
    model: Annotated[
        str,
        typer.Argument(
            metavar="MODEL",
            help="hub:ORG/NAME[@REVISION], local:FOLDER, package:MODULE/FILE, endpoint:NAME, or a name of params.yaml.",
        ),
    ],
    benchmarks: Annotated[
        list[str],
        typer.Option("--with", metavar="BENCHMARK", help="A name of `evenruler list`, a folder, or USER/REPO[@TAG]."),
    ],
    out: Annotated[Path, typer.Option(help="Where results go.")] = RESULTS,
    device: Annotated[str | None, typer.Option(metavar="cpu|cuda", help="A GPU where there is one by default.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="So many attributes, items ... at most, to try.")] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Ask nothing after prefixes.")] = False,
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
    max_requests: Annotated[
        int | None,
        typer.Option(min=0, help="Send an endpoint so many at most, repeated ones too. 0: only say how many."),
    ] = None,
    engine: Annotated[
        str | None, typer.Option(metavar="local|ray[=ADDRESS]", help="Where it computes; as EVENRULER_ENGINE says.")
    ] = None,
) -> None:
    """Measure a model with published benchmarks: figures with intervals, controls and verdicts, in minutes."""
    from evenruler.evaluate.measure import measure_each
    from evenruler.models.engines.choice import choose

    choose(engine)
    for line in measure_each(
        model,
        benchmarks,
        out,
        device=device,
        limit=limit,
        prefixes=not quick,
        name=name,
        kind=kind,
        dtype=dtype,
        start=start,
        max_requests=max_requests,
    ):
        say(line)
