"""The `evenruler` command."""

import datetime
import json
from contextlib import nullcontext
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

from evenruler import repository
from evenruler.errors import UserError, run_program, suggest_nearest
from evenruler.evaluate.command import ci, measure, results
from evenruler.instruments.registry import COMMANDS, FAMILIES, family_module
from evenruler.terminal import say, say_each

if TYPE_CHECKING:
    from typer._click.core import Command, Context

Profile = Literal["quick", "paper"]

PLACE = (
    "A folder, a NAME of `evenruler list`, USER/REPO@TAG, a git tag, or REVISION:benchmarks/NAME."
)


class FamilyCommand(TyperCommand):
    """A command defined by a family (`registry.COMMANDS`); its module is imported when the command
    is called.
    """

    def __init__(self, family: str, name: str) -> None:
        """Make a command with the help text that `registry.COMMANDS` has for it; imports nothing of
        the family.
        """
        super().__init__(name, help=COMMANDS[family][name], rich_markup_mode=None)
        self._family = family

    def resolve_command(self) -> "Command":
        """The actual command or group of commands."""
        assert self.name is not None
        return get_group(family_module(self._family, "commands").app).commands[self.name]

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: "Context | None" = None,
        **extra: object,
    ) -> "Context":
        """Delegate parsing to the actual command."""
        return self.resolve_command().make_context(info_name, args, parent, **extra)


class _WithFamilies(TyperGroup):
    def __init__(self, **group_options: Any) -> None:
        """Make the group and add the commands of all families to it."""
        super().__init__(**group_options)
        for family, family_commands in COMMANDS.items():
            for name in family_commands:
                self.commands[name] = FamilyCommand(family, name)


app = typer.Typer(
    cls=_WithFamilies,
    no_args_is_help=True,
    rich_markup_mode=None,  # rich would parse [@REVISION] as markup
    pretty_exceptions_enable=False,
    help="Declare, build, score and check bias benchmarks for language models.",
)

answers = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Export, or record, the answers of models."
)
app.add_typer(results)
app.add_typer(answers, name="answers")
app.add_typer(ci, name="ci")
app.command()(measure)


def _say_version(is_requested: bool) -> None:
    """Callback of `--version`: print the version and end the command, if the option is set."""
    if is_requested:
        say(f"evenruler {metadata.version('evenruler')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Take what goes before a command."""


@app.command()
def check(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Instruments; default: everything."),
    ] = None,
) -> None:
    """Check params.yaml and everything under data/sources, and remove what is no longer
    declared.

    With names, only their sources are checked, whatever is wrong with others, and nothing is
    written.
    """
    from evenruler.project.check import check as bring_in_step
    from evenruler.project.check import check_instruments

    repository.enter_repository()
    say_each(check_instruments(Path(), names) if names else bring_in_step(Path()))


@app.command(context_settings={"ignore_unknown_options": True})
def repro(
    words: Annotated[
        list[str] | None,
        typer.Argument(metavar="[STAGE]...", help="Arguments of `dvc repro`: stages, --force ..."),
    ] = None,
    profile: Annotated[Profile, typer.Option(help="Build the pipeline of this profile.")] = "quick",
) -> None:
    """Check, then build what is out of date by `dvc repro`, rows and models several at once.

    Answers that the repository holds (data/recorded) are replayed; some of them are asked again and
    compared.
    """
    from evenruler.project.repro import repro as build

    here = repository.enter_repository()
    # An argument with a slash is a path; any other may be a stage.
    paths = {word for word in words or [] if "/" in word and not word.startswith("-")}
    targets = [
        str(repository.resolve_user_path(Path(word), here)) if word in paths else word
        for word in words or []
    ]
    raise typer.Exit(build(Path(), targets, profile))


@answers.command("export")
def export_answers(
    model: Annotated[str, typer.Argument(help="A model of params.yaml.")],
    out: Annotated[
        Path | None, typer.Option(help="Output folder; default: results/answers/MODEL.")
    ] = None,
    profile: Annotated[
        Profile, typer.Option(help="The profile at which the model is asked.")
    ] = "quick",
) -> None:
    """Write the pipeline's questions to a model and its answers as a data set that
    `recorded:FOLDER` reads.
    """
    from evenruler.declaration.profiles import choose_profile
    from evenruler.project.answers import write_export

    choose_profile(profile)
    here = repository.enter_repository()
    say_each(
        write_export(
            Path(),
            model,
            repository.resolve_user_path(out, here) if out else Path("results/answers") / model,
        )
    )


@answers.command("record")
def record_answers(
    release: Annotated[str, typer.Argument(help="Name of the release, e.g. 2026-11-26.")],
) -> None:
    """Write the answers in the journal (EVENRULER_JOURNAL; `make answers`) as those that `repro`
    replays.
    """
    from evenruler.declaration.params import load_params
    from evenruler.models.replay import FOLDER
    from evenruler.models.store import cache_root
    from evenruler.project.answers import write_release

    repository.enter_repository()
    licences = {name: entry.licence for name, entry in load_params().models.items()}
    say_each(write_release(cache_root() / "journal", FOLDER, release, licences))


@app.command()
def profile(name: Annotated[str, typer.Argument(metavar="paper")]) -> None:
    """Make profiles/NAME, the pipeline of another profile, and build nothing: paper has other
    models, and as many items as the papers.
    """
    from evenruler.project.check import make_profile

    repository.enter_repository()
    say_each(make_profile(Path(), name))


Confirmed = Annotated[bool, typer.Option("--yes", help="Write without asking.")]


def _write_confirmed(path: Path, before: str, after: str, yes: bool) -> None:
    """Show what changes in a file, and write it where the user says yes; else status 1."""
    from evenruler.project.editing import render_diff, write_as_it_was
    from evenruler.strict import read_text

    say(render_diff(str(path), before, after), end="")
    try:
        confirmed = yes or typer.confirm("Write this?")
    except typer.Abort:  # nobody is there to answer
        confirmed = False
    if not confirmed:
        say(f"{path} is unchanged; `--yes` writes without asking", err=True)
        raise typer.Exit(1)
    if read_text(path) != before:
        raise UserError("it was changed meanwhile", where=str(path), remedy="run this again")
    write_as_it_was(path, after)


@app.command("pin")
def pin_models(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Models, or data sets under `training`."),
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All that are not pinned.")] = False,
    yes: Confirmed = False,
) -> None:
    """Look up the commit and licence of models on the Hub, and write them into params.yaml.

    What is pinned stays; to pin it anew, take its `revision` out first. A repository that is
    missing, gated or renamed is a line, and status 2; the others are pinned all the same.
    """
    from evenruler.declaration.params import load_params
    from evenruler.project.pin import choose_entries, find_commits, write_commits
    from evenruler.strict import read_text

    if bool(names) == every:
        raise UserError("nothing to pin", where="evenruler pin", remedy="name models, or say --all")
    repository.enter_repository()
    path = Path(repository.DECLARATION)
    entries = choose_entries(load_params(path), names or ())
    unpinned = [entry for entry in entries if entry.lacks_commit]
    if not unpinned:
        say(f"{path}: nothing is left to pin")
        return
    before = read_text(path)
    commits, problems = find_commits(unpinned)
    if commits:
        _write_confirmed(path, before, write_commits(before, path, commits), yes)
        say(f"{path}: pinned {', '.join(entry.name for entry in commits)}")
    for problem in problems:
        say(f"error: {problem}", err=True)
    raise typer.Exit(2 if problems else 0)


@app.command("add")
def add_model(
    source: Annotated[str, typer.Argument(metavar="hub:ORG/NAME[@REVISION]")],
    families: Annotated[
        list[str] | None,
        typer.Option("--family", help="A family that asks it; repeatable; default: all that can."),
    ] = None,
    profile: Annotated[
        Literal["quick", "paper", "none"],
        typer.Option(help="The profile at which it is asked; none: only where it is named."),
    ] = "paper",
    name: Annotated[
        str | None, typer.Option(help="Its name; default: that of the repository.")
    ] = None,
    kind: Annotated[
        Literal["causal", "seq2seq", "masked", "nli", "classifier", "embedder"] | None,
        typer.Option(help="Its kind; default: as its class says."),
    ] = None,
    yes: Confirmed = False,
) -> None:
    """Write an entry for a model on the Hub into params.yaml, from its card and its files."""
    from evenruler.declaration.params import load_params
    from evenruler.project import add
    from evenruler.strict import read_text

    repository.enter_repository()
    path = Path(repository.DECLARATION)
    before, params = read_text(path), load_params(path)
    name = name if name is not None else add.name_of(source)
    add.require_fitting_words(params, name, families or ())
    fields = add.describe_model(source, kind)
    fields |= add.choose_settings(fields["kind"], families or (), profile)
    after = add.add_models(before, path, params, {name: fields})
    _write_confirmed(path, before, after, yes)
    say(f"{path}: models now holds {name}; next: `evenruler check`")


@app.command("population")
def write_population(
    _kind: Annotated[
        Literal["nli"],
        typer.Argument(metavar="nli", help="Classifiers of entailment, ready or to be fitted."),
    ],
    most: Annotated[int, typer.Option(min=1, help="Most models, those declared included.")] = 100,
    accuracy: Annotated[
        float | None,
        typer.Option(
            "--min-accuracy",
            min=0,
            max=1,
            help="Accuracy that a model must reach to count; default: that of questionnaires.",
        ),
    ] = None,
    yes: Confirmed = False,
) -> None:
    """Write entries for the most downloaded models of the Hub that tell entailment into
    params.yaml, and for encoders that `evenruler finetune --all` makes one of.

    What is there stays. A model that is gated, missing, without safetensors or of other labels is
    a line, and the next one takes its place.
    """
    from evenruler.declaration.params import load_params
    from evenruler.project import population
    from evenruler.strict import read_text

    repository.enter_repository()
    path = Path(repository.DECLARATION)
    before, params = read_text(path), load_params(path)
    least = population.accuracy_in_force(params) if accuracy is None else accuracy
    chosen = population.choose_models(params, most, least)
    for problem in chosen.problems:
        say(f"left out: {problem}", err=True)
    after = population.write_population(before, path, params, chosen, least)
    if after != before:
        _write_confirmed(path, before, after, yes)
    say(f"{path}: {chosen.describe_news()}")
    if chosen.failure is not None:
        raise chosen.failure


@app.command()
def new(
    family: Annotated[
        str, typer.Argument(metavar="|".join(FAMILIES), help="May be left out with --from.")
    ],
    name: Annotated[
        str | None, typer.Argument(help="Lower-case letters, digits, single hyphens.")
    ] = None,
    layout: Annotated[
        str | None,
        typer.Option(help="Of external: pairs-with-key, keyed or ranking; default: pairs."),
    ] = None,
    file: Annotated[
        Path | None,
        typer.Option(
            "--from",
            metavar="FILE",
            help="Make it from a file: word lists, pairs, questions, prompts, templates, a scale "
            "or logged samples, as a table, JSON or Parquet.",
        ),
    ] = None,
    language: Annotated[
        str | None, typer.Option(help="Of the file's texts, as en; default: as they are.")
    ] = None,
    part: Annotated[
        str | None, typer.Option(metavar="SCALE", help="Which scale of a file with several.")
    ] = None,
    column: Annotated[
        list[str] | None,
        typer.Option(metavar="ROLE=COLUMN", help="What a column of the file is; repeatable."),
    ] = None,
) -> None:
    """Start an instrument of your own: write a commented source that passes the checks, and its
    line in params.yaml.

    With --from, of what people have; outside a clone, into this folder.
    """
    from evenruler.project.new import create_instrument

    if file is not None and (name is not None or family not in FAMILIES):
        _start_from_file(file, family, name, layout, (language, part, column or []))
        return
    if name is None:
        remedy = "say `evenruler new FAMILY NAME`, or `evenruler new NAME --from FILE`"
        raise UserError("no name", where="evenruler new", remedy=remedy)
    if language is not None or part is not None or column:
        remedy = "name a file with --from, or leave them out"
        raise UserError(
            "--language, --part and --column are about a file", where="evenruler new", remedy=remedy
        )
    repository.enter_repository()
    say_each(create_instrument(Path(), family, name, layout))


def _start_from_file(
    file: Path,
    family: str,
    name: str | None,
    layout: str | None,
    options: tuple[str | None, str | None, list[str]],
) -> None:
    """Make a source of a file; where there is one word alone, it is the name."""
    from evenruler.project.from_file import FileOptions, create_from_file

    if layout is not None:
        remedy = "leave one of them out"
        raise UserError("both --from and --layout", where="evenruler new", remedy=remedy)
    language, part, named_columns = options
    columns: dict[str, str] = {}
    for named in named_columns:
        role, equals, column = named.partition("=")
        if not equals or not column:
            remedy = "write it as --column first=COLUMN"
            raise UserError(f"found {named!r}", where="evenruler new: --column", remedy=remedy)
        columns[role] = column
    chosen_family = None if name is None else family
    root: Path | None = None
    here = Path.cwd()
    if repository.find_repository_root() is not None:
        repository.enter_repository()
        root = Path()
    path = repository.resolve_user_path(file, here)
    file_options = FileOptions(language, part, columns)
    say_each(create_from_file(root, path, chosen_family, name or family, file_options))


@app.command()
def finetune(
    name: Annotated[
        str | None,
        typer.Argument(help="An entry of kind encoder under `models` in params.yaml."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="All that no head was fitted on, one after the other.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Fit again even if the adapter exists.")
    ] = False,
) -> None:
    """Fit an adapter and a head on an encoder: data/adapters/NAME. An interrupted run resumes at
    its last epoch.
    """
    from evenruler.declaration.params import load_params
    from evenruler.training.fit import finetune as fit
    from evenruler.training.fit import list_unfitted

    if (name is not None) == every or (every and again):
        remedy = "name an encoder, or say --all without --again"
        raise UserError("nothing to fit", where="evenruler finetune", remedy=remedy)
    repository.enter_repository()
    params = load_params()
    problems: list[UserError] = []
    for encoder in list_unfitted(params) if name is None else [name]:
        try:
            record = fit(encoder, params, again=again)
        except UserError as problem:
            if not every:
                raise
            say(f"error: {problem}", err=True)
            problems.append(problem)
            continue
        place = "below" if record.below_bar else "not below"
        accuracy = f"accuracy {record.accuracy:.3f} on {record.n_held_out:,} held-out rows"
        bar = f"{place} the bar of {record.recipe['bar']:.2f}"
        say(f"{encoder}: {accuracy}, {bar}; data/adapters/{encoder}")
    raise typer.Exit(2 if problems else 0)


Base = Annotated[
    str, typer.Option(metavar="MODEL", help="Base model: a causal model of params.yaml.")
]
BASE = "smollm2-135m-instruct"
AtOnce = Annotated[
    int, typer.Option(min=1, metavar="N", help="Reference weights at once, a process each.")
]


planted = typer.Typer(no_args_is_help=True, rich_markup_mode=None)
app.add_typer(planted, name="planted", help="Models with a planted association: make, test.")


@planted.command("make")
def make_planted(
    name: Annotated[str, typer.Argument(help="A file in data/sources/plants, without extension.")],
    base: Base = BASE,
    dose: Annotated[
        float | None,
        typer.Option(min=-100, max=100, help="Nats: make this weight only; default: all."),
    ] = None,
    seed: Annotated[int, typer.Option(min=1, help="The seed, with --dose.")] = 1,
    at_once: AtOnce = 1,
) -> None:
    """Make reference weights: models with a planted association of known size; print how much each
    learned.
    """
    from evenruler.evaluate.weigh import measure_planted_models as read
    from evenruler.training import plants

    repository.enter_repository()
    plants.load_plant(name)
    weights = (
        plants.weights_of(base, name)
        if dose is None
        else [plants.PlantedModel(base, name, dose, seed)]
    )
    say(
        f"{len(weights)} weights; per seed three fits take some minutes, then each dose one minute",
        err=True,
    )
    for weight, check, _ in read({weight: {} for weight in weights}, {}, at_once):
        own_nats, held_out_nats = check[["own", "held_out"]].iloc[0]
        message = "it learned less than the dose"
        if held_out_nats is not None:
            message = f"{held_out_nats:.2f} nats in held-out sentences, {own_nats:.2f} in its own"
        say(f"{weight.source}: {message}")


@planted.command("test")
def run_planted_test(
    benchmarks: Annotated[
        list[str] | None,
        typer.Argument(metavar="[BENCHMARK]...", help="As for `measure --with`; also FILE.yaml."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option("--plant", metavar="NAME", help="A plant; repeatable; default: all."),
    ] = None,
    base: Base = BASE,
    size: Annotated[
        Literal["trial", "standard", "full"], typer.Option(help="How much to ask of each.")
    ] = "trial",
    limit: Annotated[
        int | None, typer.Option(min=1, help="Use at most N units: a trial run.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(metavar="METHOD", help="Ask by this method only.")
    ] = None,
    curve: Annotated[
        bool,
        typer.Option("--curve", help="Weights of doses 0 to 8 by three seeds, none negative."),
    ] = False,
    at_once: AtOnce = 1,
    record: Annotated[
        bool, typer.Option("--record", help="Record the results in data/weights.")
    ] = False,
) -> None:
    """Test benchmarks on reference weights: do they detect a planted association? Without names,
    show the record.
    """
    from evenruler.evaluate import weigh as weighing

    here = repository.enter_repository()
    places = [
        str(here / benchmark) if (here / benchmark).exists() else benchmark
        for benchmark in benchmarks or []
    ]
    lock = here / ".cache/weigh.lock"
    with (
        repository.exclusive_lock("planted test --record", lock, weighing.FOLDER)
        if record
        else nullcontext()
    ):
        say_each(
            weighing.weigh(
                places,
                only or (),
                base=base,
                at_once=at_once,
                record=record,
                on_curve=curve,
                size=size,
                limit=limit,
                method=method,
            )
        )


@app.command()
def publish(
    name: Annotated[
        str, typer.Argument(help="A folder under benchmarks/, or of `evenruler answers export`.")
    ],
    to: Annotated[str, typer.Option(metavar="USER/REPO", help="The data set on the Hub.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would happen; change nothing.")
    ] = False,
    private: Annotated[
        bool, typer.Option("--private", help="Make a new data set private.")
    ] = False,
) -> None:
    """Publish a benchmark, or a model's answers, on the Hugging Face Hub: one commit, then a tag
    that never moves.
    """
    from evenruler.models.answer_logs.exported import ENTRY
    from evenruler.publish import publication

    folder, how = Path(name).resolve(), publication.publish_answers
    if not (folder / ENTRY).is_file():
        from evenruler.declaration.params import load_params

        repository.enter_repository()
        declared = load_params().benchmarks
        if name not in declared:
            raise UserError(
                f"no benchmark {name!r}",
                where="params.yaml",
                remedy=suggest_nearest(name, declared),
            )
        folder, how = Path("benchmarks") / name, publication.publish
    say_each(how(folder, to, private=private, dry_run=dry_run))


@app.command("list")
def list_shipped(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[BENCHMARK]", help="One benchmark: its methods, requests, what it detects."
        ),
    ] = None,
    output: Annotated[
        Literal["table", "json"], typer.Option("--format", help="Output format.")
    ] = "table",
) -> None:
    """List the benchmarks of the package, or of its clone; or show how one can be asked."""
    if name is not None:
        from evenruler.evaluate.benchmark import open_benchmark
        from evenruler.evaluate.cost import list_ways, questions_in_words

        with open_benchmark(name) as benchmark:
            say(f"{benchmark.name} {benchmark.manifest.version}: {benchmark.title}")
            for way in list_ways(benchmark):
                kinds = ", ".join(way.kinds)
                questions = questions_in_words(way.cost.questions)
                label = f"{kinds:<12}  {way.method:<10}"
                ruled = f"{label}  {way.size:<8}"
                say(f"  {ruled}  {questions}; {way.power}")
        return
    from evenruler.instruments.possible_verdicts import describe_possible_verdict
    from evenruler.publish import locate

    folder = repository.shipped_benchmarks()
    listings = locate.list_benchmarks(folder, describe_possible_verdict)
    if output == "json":
        say(json.dumps([asdict(listing) for listing in listings], indent=2, ensure_ascii=False))
    else:
        say(locate.as_table(listings), end="")


@app.command()
def verify(
    place: Annotated[str, typer.Argument(help=f"{PLACE} Or results of `evenruler measure`.")],
    benchmark: Annotated[
        str | None,
        typer.Option(
            "--with", metavar="BENCHMARK", help="For results: the benchmark that was measured."
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            "--ask", metavar="MODEL", help="For results: ask this model again for ten answers."
        ),
    ] = None,
) -> None:
    """Compare a benchmark with its manifest, or results with what they rest on. Status 1 if
    anything is wrong.
    """
    from evenruler.publish.locate import open_place
    from evenruler.publish.manifest import NAME, manifest_problems
    from evenruler.results.record import RESULT
    from evenruler.results.store import find_results
    from evenruler.tables.contents import is_file

    path = Path(place)
    of_result = path.name == RESULT or (
        place and not is_file(path / NAME) and next(path.rglob(RESULT), None)
    )
    if of_result or benchmark is not None or model is not None:
        from evenruler.evaluate import verifying

        status = 0
        results = find_results(path)
        for result in results:
            say(f"{result.parent}:")
            try:
                for outcome, about in verifying.verify(result, benchmark, model):
                    say(f"  {outcome}: {about}")
                    status = max(status, int(outcome == verifying.DIFFERS))
            except UserError as error:
                if len(results) == 1:
                    raise
                say(f"  {verifying.OPEN}: {error}")
                status = 2
        raise typer.Exit(status)
    with open_place(place, repository.find_repository_root() or Path()) as folder:
        deviations = manifest_problems(folder)
    say_each(deviations)
    summary = f"{len(deviations)} problems" if deviations else "as its manifest says"
    say(f"{place}: {summary}")
    if deviations:
        raise typer.Exit(1)


@app.command()
def diff(
    old: Annotated[str, typer.Argument(help=PLACE)],
    new: Annotated[
        str, typer.Argument(help="The version to compare it with, named in the same ways.")
    ],
    output: Annotated[
        Literal["markdown", "json"], typer.Option("--format", help="Output format.")
    ] = "markdown",
    tolerance: Annotated[
        float, typer.Option(min=0, help="Largest difference that counts as equal.")
    ] = 0.0015,
) -> None:
    """Compare two versions of a benchmark: rows by id, figures side by side, the version number
    that is needed.
    """
    from evenruler.publish.difference import as_json, as_markdown, compare
    from evenruler.publish.locate import open_place

    root = repository.find_repository_root() or Path()
    with open_place(old, root) as before, open_place(new, root) as after:
        difference = compare(before, after, tolerance)
    if output == "json":
        say(json.dumps(as_json(difference), indent=2, ensure_ascii=False))
    else:
        say(as_markdown(difference), end="")


@app.command()
def rebuilt() -> None:
    """Compare every benchmark with git's HEAD. Status 1 if any differs."""
    from evenruler.publish.difference import compare_with_head

    repository.enter_repository()
    differing = []
    for name, difference, differs in compare_with_head(Path()):
        say(f"{name}: {difference}")
        differing += [name] if differs else []
    if differing:
        say(f"differing from git's HEAD: {', '.join(differing)}", err=True)
        raise typer.Exit(1)


@app.command()
def release(
    name: Annotated[str, typer.Argument(help="A folder under benchmarks/.")],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would happen; change nothing.")
    ] = False,
    message: Annotated[
        list[str] | None,
        typer.Option("--message", "-m", help="What changed, for the changelog; repeatable."),
    ] = None,
) -> None:
    """Release what is built: next version, changelog, commit, and the annotated git tag
    NAME@vX.Y.Z.
    """
    from evenruler.project.release import preview_release
    from evenruler.project.release import release as make

    repository.enter_repository()
    if dry_run:
        preview = preview_release(Path(), name, message or ())
        before = preview.last or "none"
        say(f"would release {name} {preview.version} (before: {before}) and tag it {preview.tag}:")
        say_each(f"  - {change}" for change in preview.changes)
    else:
        say_each(make(Path(), name, datetime.date.today(), message or ()))


def main() -> None:
    """Run the command; a user error prints one line and exits with status 2."""
    run_program(app)
