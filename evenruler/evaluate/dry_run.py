"""What a measurement will ask, how long that will take and what it can find, before it runs:
nothing is asked or sent, and no weights are loaded.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Final, NoReturn, TypedDict

from evenruler.errors import UserError
from evenruler.evaluate.benchmark import SCHEME, benchmark_of_log, open_benchmark
from evenruler.evaluate.cost import Cost, Price, power_text, questions_in_words
from evenruler.evaluate.resolve_model import ModelSpec, ResolvedModel, resolve_spec
from evenruler.evaluate.session import HowAsked, MeasurementPlan, Session
from evenruler.models import rates, sources
from evenruler.models.declarations import HOSTED
from evenruler.models.engines import environment
from evenruler.models.model import Model
from evenruler.models.questions import LETTERS_A_TOKEN, QuestionVolume
from evenruler.models.store import RowStore
from evenruler.tables import evenly_spread

SAMPLE: Final = 500
"""Texts whose tokens are counted, to estimate those of all."""


@dataclass(frozen=True)
class Forecast:
    """What the measurement of a model by a benchmark will take."""

    benchmark: str
    model: str
    size: str
    limit: int | None
    method: str | None
    questions: Mapping[str, int]
    """By operation."""
    share_answered: float
    """The share that is answered already, in a log or the store."""
    tokens_in: int
    """Of what is left to ask, roughly."""
    tokens_out: int
    """At most."""
    seconds: float | None
    """None where nothing is known by which it could be estimated."""
    is_assumed: bool
    """Whether seconds are by a usual speed, since no rate of such a model is kept here."""
    detects: str | None
    """The effect that such a study detects, in words; None where no verdict is possible, empty
    where it is not known."""
    dollars: float | None = None
    """At most; where prices are known."""

    @property
    def in_words(self) -> Iterator[str]:
        """Lines for the terminal."""
        answered = f"; {self.share_answered:.0%} answered already" if self.share_answered else ""
        dollars = f"; at most ${self.dollars:,.2f}" if self.dollars is not None else ""
        limit = f", limit {self.limit}" if self.limit is not None else ""
        yield f"{self.benchmark} on {self.model}, {self.size}{limit}"
        yield f"  asks     {questions_in_words(self.questions, self.method)}{answered}"
        tokens = Cost({}, self.tokens_in, self.tokens_out)
        yield f"  reads    {tokens.tokens_in_words}{dollars}"
        yield f"  time     {self._time_in_words}"
        yield f"  verdict  {self._verdict_in_words}"

    @property
    def _time_in_words(self) -> str:
        """The time that it will take."""
        if self.share_answered == 1:
            return "seconds: nothing is left to ask"
        if self.seconds is None:
            return "not known: no model like this one has answered here yet"
        basis = "as fast as models answered here"
        if self.is_assumed:
            basis = "on two usual cores; how fast this machine is, is known after a first run"
        return f"about {describe_seconds(self.seconds)}, {basis}"

    @property
    def _verdict_in_words(self) -> str:
        """Whether a verdict can come."""
        power = power_text(self.detects)
        return power if self.detects is None else f"possible; {power}"


def describe_seconds(seconds: float) -> str:
    """A time in words: "40 s", "12 min", "3 h"."""
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    if seconds < 7200:
        return f"{round(seconds / 60)} min"
    return f"{round(seconds / 3600)} h"


@dataclass(frozen=True)
class DryRun:
    """A model that is to be measured, as far as it is here."""

    chosen: ResolvedModel
    store: RowStore
    device: str | None
    preparations: Sequence[sources.Preparation]

    @classmethod
    def of_model(cls, spec: ModelSpec, device: str | None) -> "DryRun":
        """Resolve the model without its weights."""
        store = RowStore()
        chosen = resolve_spec(replace(spec, is_dry=True), store)
        return cls(chosen, store, device, _list_preparations(chosen, store))

    @cached_property
    def stored_session(self) -> Session:
        """The model with the answers that are stored; none where its files are not here yet."""
        if self.preparations:
            return self.empty_session
        return Session(self.chosen, self.store, self.device)

    @cached_property
    def empty_session(self) -> Session:
        """A model without files in its place, which has answered nothing."""

        def refuse_to_load() -> NoReturn:
            """Stands for loading the backend."""
            raise AssertionError("a dry run asks nothing")

        chosen = self.chosen
        engine = json.dumps({"device": self._device_class, "dry": True})
        kind = chosen.catalogue.kind(chosen.name)
        stand_in = Model(
            chosen.name, chosen.entry, kind, self.store, lambda: engine, refuse_to_load
        )
        return Session(replace(chosen, model=stand_in), self.store, self.device)

    @cached_property
    def _device_class(self) -> str:
        """The device on which it would compute."""
        if not _has_files(self.chosen):
            return rates.HOSTED_DEVICE
        return environment.current_environment(environment.choose_device(self.device)).device

    @cached_property
    def _model_folder(self) -> Path | None:
        """The folder of its files, perhaps without weights; None where there is none yet."""
        chosen = self.chosen
        if chosen.folder is not None or self.preparations or not _has_files(chosen):
            return chosen.folder
        models = chosen.catalogue.models
        return sources.locate_model(chosen.name, chosen.entry, self.store, models)

    @cached_property
    def _n_bytes(self) -> int:
        """Bytes of its weights; 0 where that is not known."""
        coming = sum(preparation.weights for preparation in self.preparations)
        return coming or rates.weights_size(self._model_folder)

    def forecast_plan(self, plan: MeasurementPlan, price: Price | None) -> Forecast:
        """What measuring by a plan will take."""
        left: list[tuple[str, QuestionVolume]] = []
        if plan.subject.kind != "recorded":
            left = self.stored_session.list_missing(plan)
        n_asked = _count_questions(self.empty_session.list_missing(plan))
        cost = self._cost_of(plan, left)
        seconds, is_assumed = self._estimate_seconds(left)
        forecast = Forecast(
            questions=dict(plan.cost.questions),
            share_answered=1 - _count_questions(left) / n_asked,
            tokens_in=cost.read,
            tokens_out=cost.written,
            seconds=seconds,
            is_assumed=is_assumed,
            **_describe_plan(plan),
        )
        if price is None:
            return forecast
        return replace(forecast, dollars=cost.dollars(price))

    def _cost_of(self, plan: MeasurementPlan, left: Sequence[tuple[str, QuestionVolume]]) -> Cost:
        """Tokens of what is left to ask, with those for thinking."""
        thoughts = self.chosen.entry.thoughts
        read = sum(volume.read for _, volume in left) * LETTERS_A_TOKEN
        written = sum(volume.written for _, volume in left)
        if thoughts is not None:
            written += thoughts.tokens * sum(
                volume.questions for _, volume in left if volume.written
            )
        return Cost(
            {}, round(read / letters_a_token(self._model_folder, _sample_texts(plan))), written
        )

    def _estimate_seconds(
        self, left: Sequence[tuple[str, QuestionVolume]]
    ) -> tuple[float | None, bool]:
        """The time for what is left to ask, and whether some of it is by a usual speed; None where
        even that is not known.
        """
        past = rates.read_rates(self.store.root)
        seconds, is_assumed = 0.0, False
        for named, volume in left:
            operation, tokens = rates.operation_name(named), rates.count_work(volume)
            work = (operation, self._device_class, self._n_bytes, tokens)
            part = rates.estimate_seconds(past, self.chosen.name, *work)
            if part is None:
                part, is_assumed = rates.assume_seconds(*work), True
            if part is None:
                return None, False
            seconds += part
        return seconds, is_assumed


class _PlanFields(TypedDict):
    """Fields of a `Forecast` that a plan says."""

    benchmark: str
    model: str
    size: str
    limit: int | None
    method: str | None
    detects: str | None


def _describe_plan(plan: MeasurementPlan) -> _PlanFields:
    """What a plan says of itself; for fewer units than a size has it is not known what is
    detected.
    """
    benchmark, model, settings = plan.result.benchmark, plan.result.model, plan.result.settings
    detects = plan.detects
    if settings.limit is not None and detects is not None:
        detects = ""
    named = f"{benchmark.name} {benchmark.version}"
    return {
        "benchmark": named,
        "model": model.label or model.name,
        "size": settings.size,
        "limit": settings.limit,
        "method": plan.subject.method,
        "detects": detects,
    }


def _count_questions(volumes: Iterable[tuple[str, QuestionVolume]]) -> int:
    """Number of questions of all operations."""
    return sum(volume.questions for _, volume in volumes)


def _has_files(chosen: ResolvedModel) -> bool:
    """Whether a model is computed from files here."""
    return chosen.entry.kind not in (*HOSTED, "recorded") and chosen.entry.scheme != "recorded"


def _list_preparations(chosen: ResolvedModel, store: RowStore) -> list[sources.Preparation]:
    """What is done before the model can be asked for the first time."""
    if not _has_files(chosen):
        return []
    models, where = chosen.catalogue.models, chosen.reference or None
    return sources.list_preparations(chosen.name, chosen.entry, store, models, where=where)


def _sample_texts(plan: MeasurementPlan) -> list[str]:
    """Texts of a benchmark's tables, evenly spread."""
    texts: list[str] = []
    for rows in plan.tables.values():
        for name in filter(rows.columns.__contains__, ("text", "prompt")):
            texts += map(str, rows[name].dropna().unique())
    return evenly_spread(texts, SAMPLE)


def letters_a_token(folder: Path | None, texts: Sequence[str]) -> float:
    """Letters of a token in such texts, by the tokenizer in a folder; the usual number of English
    without one.
    """
    path = None if folder is None else folder / "tokenizer.json"
    if path is None or not path.is_file() or not texts:
        return LETTERS_A_TOKEN
    from tokenizers import Tokenizer

    encoded = Tokenizer.from_file(str(path)).encode_batch_fast(list(texts))
    n_tokens = sum(len(encoding.ids) for encoding in encoded)
    return sum(map(len, texts)) / max(1, n_tokens)


def forecast_each(
    spec: ModelSpec,
    benchmarks: Sequence[str],
    how: HowAsked,
    *,
    device: str | None = None,
    groups: Sequence[str] = (),
    price: Price | None = None,
    is_json: bool = False,
) -> Iterator[str]:
    """Lines on what measuring a model by each benchmark will take; arguments as for `measure_each`.

    UserErrors of single benchmarks are raised together at the end.
    """
    run = DryRun.of_model(spec, device)
    refused: list[str] = []
    if not is_json:
        yield from (f"first: {preparation.phrase}" for preparation in run.preparations)
    names = benchmarks or [benchmark_of_log(run.stored_session.model, spec.reference)]
    for place in dict.fromkeys(names):
        try:
            forecast = _forecast_place(run, place, groups, how, price)
        except UserError as error:
            refused.append(str(error))
            continue
        yield from [json.dumps(asdict(forecast))] if is_json else forecast.in_words
    if not is_json:
        yield "nothing was asked, sent or loaded"
    if refused:
        raise UserError("; ".join(refused))


def _forecast_place(
    run: DryRun, place: str, groups: Sequence[str], how: HowAsked, price: Price | None
) -> Forecast:
    """What measuring by a benchmark will take; UserError where the model cannot answer it."""
    if place.startswith(SCHEME):
        remedy = "leave it out of the dry run"
        raise UserError(
            "lm-evaluation-harness alone knows what it asks", where=place, remedy=remedy
        )
    with open_benchmark(place, groups) as benchmark:
        return run.forecast_plan(run.stored_session.plan_measurement(benchmark, **how), price)
