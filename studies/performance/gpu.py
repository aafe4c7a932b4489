"""What a GPU does in ten minutes: likelihoods and replies of models made at random, by our engine
`local`, by lm-evaluation-harness in the same process, and by vLLM where its environment is there.

Needs no network. Looks first at what the machine has. Each part has its share of the time that is
left, stops after the batch that exceeds it, and says how far it came; what cannot be run is a row
with the reason. OUT/speed.csv and OUT/speed.md are written after every part, so that a killed run
leaves what was done.

`python -m studies.performance.gpu --smallest` runs every line on a processor in a minute.
"""

import importlib.metadata
import importlib.util
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, Final

import pandas as pd
import typer

from studies.performance.contenders import (
    TASKS,
    VLLM,
    Done,
    Task,
    Work,
    ask_lm_eval,
    ask_ours,
    ask_vllm,
    find_vllm,
)
from studies.performance.shapes import (
    DTYPE,
    SIZES,
    count_weights,
    make_model,
    make_tokenizer,
    save_description,
)
from studies.tables import markdown_table

PEAKS: Final = {"H200": 989e12, "H100 PCIe": 756e12, "H100": 989e12, "A100": 312e12}
"""FLOP/s in bfloat16 without sparsity, by what the name of a card holds; from NVIDIA's data
sheets."""

PROBES: Final = "benchmarks/probes-*/probes/*.parquet"
NOT_INSTALLED: Final = "not installed"
LEAST_SECONDS: Final = 5.0
"""A part with less is not begun."""
WARM_UP: Final = 32
"""Questions."""


@dataclass(frozen=True)
class Amount:
    """How much is asked."""

    sentences: int
    replies: int
    n_tokens: int
    """Of a reply."""


FULL: Final = Amount(20_000, 2_000, 256)
SMALLEST: Final = Amount(300, 24, 16)


@dataclass(frozen=True)
class Machine:
    """What there is to compute on."""

    device: str
    name: str
    peak: float
    """FLOP/s in bfloat16, of the data sheet, else as measured."""
    measured: float
    """FLOP/s of a product of large matrices."""

    def describe(self) -> str:
        """The machine and the libraries, in words."""
        words = [
            self.name,
            f"{self.peak:.3g} FLOP/s in {DTYPE}",
            f"{self.measured:.3g} measured",
            *(f"{name} {find_version(name)}" for name in ("torch", "transformers", "lm_eval")),
            "vLLM is there" if find_vllm() else "vLLM is not there",
        ]
        return ", ".join(words)


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    model: str
    task: str
    contender: str
    wanted: int
    done: Done
    flops_per_token: int
    peak: float

    @property
    def tokens_per_second(self) -> float:
        """Of texts that were read or replies that were written."""
        return self.done.tokens / self._seconds

    @property
    def passed_per_second(self) -> float:
        """Tokens through the model; 0 where they are not known."""
        return self.done.passed / self._seconds

    @property
    def share_of_peak(self) -> float:
        """Two FLOP a weight and token that passed (where that is not known, a token of texts or
        replies), of the peak.
        """
        n_tokens = self.done.passed or self.done.tokens
        return self.flops_per_token * n_tokens / self._seconds / self.peak

    @property
    def _seconds(self) -> float:
        return self.done.seconds or float("inf")

    def describe(self) -> dict[str, object]:
        """The cells of a line by heading."""
        cells: dict[str, object] = {name: getattr(self, name) for name in IN_FRONT}
        cells |= {name: getattr(self.done, name) for name in OF_DONE}
        cells |= {name: getattr(self, name) for name in RATES}
        return {**cells, "note": self.done.note}


FORMS: Final = {
    "seconds": "{:.1f}",
    "tokens_per_second": "{:,.0f}",
    "passed_per_second": "{:,.0f}",
    "share_of_peak": "{:.1%}",
}
"""How numbers of the table in Markdown are written."""

IN_FRONT: Final = ("model", "task", "contender", "wanted")
OF_DONE: Final = ("answers", "seconds")
RATES: Final = ("tokens_per_second", "passed_per_second", "share_of_peak")


def find_version(package: str) -> str:
    """The version of a package; `NOT_INSTALLED` without."""
    if importlib.util.find_spec(package) is None:
        return NOT_INSTALLED
    return importlib.metadata.version(package)


def look_at_machine() -> Machine:
    """What is here: a GPU if there is one, else the processor."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    name = torch.cuda.get_device_name() if device == "cuda" else "processor"
    measured = measure_peak(device)
    listed = [peak for part, peak in PEAKS.items() if part in name]
    return Machine(device, name, listed[0] if listed else measured, measured)


def measure_peak(device: str) -> float:
    """FLOP/s of the product of a square matrix with itself in bfloat16, the best of three."""
    import torch

    side = 8192 if device == "cuda" else 512
    matrix = torch.randn(side, side, device=device, dtype=torch.bfloat16)
    best = 0.0
    for _ in range(3):
        began = time.perf_counter()
        float((matrix @ matrix)[0, 0])  # waits for the GPU
        best = max(best, 2 * side**3 / (time.perf_counter() - began))
    return best


def read_texts(n: int) -> list[str]:
    """So many probes, evenly spread over those that are shipped; all, where there are fewer."""
    tables = map(pd.read_parquet, sorted(Path().glob(PROBES)))
    texts = pd.concat(tables)["text"].drop_duplicates().tolist()
    n = min(n, len(texts))
    return [texts[place * len(texts) // n] for place in range(n)]


class Clock:
    """Shares out what is left of the time."""

    def __init__(self, seconds: float, n_parts: int) -> None:
        self._ends = time.monotonic() + seconds
        self._n_parts = n_parts

    @property
    def left(self) -> float:
        """Seconds to the end."""
        return self._ends - time.monotonic()

    def take_share(self) -> float:
        """Seconds for the next part: what is left, over the parts that are left."""
        share = self.left / max(1, self._n_parts)
        self._n_parts -= 1
        return share


@dataclass
class Race:
    """All parts of one size of model."""

    size: str
    machine: Machine
    amount: Amount
    clock: Clock
    scratch: Path
    n_weights: int = 0

    def run(self) -> Iterator[Row]:
        """Yield the rows: both tasks by whoever is here."""
        yield from self._run_here()
        self._free_memory()
        yield from self._run_vllm()

    def _run_here(self) -> Iterator[Row]:
        try:
            backend = self._load()
        except Exception as error:  # such as too little memory: other sizes are run all the same
            for task in TASKS:
                yield self._make_empty_row(task, "local", describe_error(error))
            return
        for task in TASKS:
            yield self._run_part(task, "local", partial(ask_ours, backend), warms_up=True)
            if find_version("lm_eval") == NOT_INSTALLED:
                yield self._make_empty_row(task, "lm-eval", NOT_INSTALLED)
            else:
                ask = partial(ask_lm_eval, backend)
                yield self._run_part(task, "lm-eval", ask, warms_up=True)

    def _run_vllm(self) -> Iterator[Row]:
        folder = self.scratch / self.size
        save_description(SIZES[self.size], folder)
        python = find_vllm()
        for task in TASKS:
            if python is None:
                yield self._make_empty_row(task, "vllm", f"no {VLLM}: `make test-vllm` sets it up")
            else:
                ask = partial(ask_vllm, python, folder, scratch=self.scratch)
                yield self._run_part(task, "vllm", ask)

    def _load(self) -> Any:
        from evenruler.models.backends.causal import Causal
        from evenruler.models.loading import LoadedModel

        model = make_model(SIZES[self.size], self.machine.device)
        self.n_weights = count_weights(model)
        loaded = LoadedModel(make_tokenizer(), model)
        return Causal(f"random-{self.size}", loaded, self.machine.device, DTYPE)

    def _free_memory(self) -> None:
        if self.machine.device == "cuda":
            import gc

            import torch

            gc.collect()
            torch.cuda.empty_cache()

    def _run_part(
        self, task: Task, name: str, ask: Callable[[Work], Done], *, warms_up: bool = False
    ) -> Row:
        """The row of one contender; `warms_up`: a few questions come first, untimed."""
        seconds = self.clock.take_share()
        if seconds < LEAST_SECONDS:
            return self._make_empty_row(task, name, "no time was left")
        began = time.monotonic()
        work = self._make_work(task, seconds)
        try:
            if warms_up:
                few = replace(work, texts=work.texts[:WARM_UP], n_tokens=min(8, work.n_tokens))
                ask(few)
            done = ask(replace(work, seconds=seconds - (time.monotonic() - began)))
        except Exception as error:  # of any library: the other parts are run all the same
            return self._make_empty_row(task, name, describe_error(error))
        return self._make_row(work, name, done)

    def _make_work(self, task: Task, seconds: float) -> Work:
        if task == "likelihoods":
            return Work(task, read_texts(self.amount.sentences), 0, seconds)
        return Work(task, read_texts(self.amount.replies), self.amount.n_tokens, seconds)

    def _make_row(self, work: Work, name: str, done: Done) -> Row:
        n_wanted = len(work.texts)
        flops = 2 * self.n_weights
        return Row(self.size, work.task, name, n_wanted, done, flops, self.machine.peak)

    def _make_empty_row(self, task: Task, name: str, why: str) -> Row:
        return self._make_row(self._make_work(task, 0), name, Done(note=why))


def describe_error(error: Exception) -> str:
    """The first line of what a library says."""
    line = (str(error).strip() or type(error).__name__).splitlines()[0]
    return f"failed: {line[:200]}"


def write_tables(rows: Sequence[Row], machine: Machine, out: Path) -> str:
    """Write both files; returns the table in Markdown, after a line on the machine."""
    table = pd.DataFrame([row.describe() for row in rows])
    table.to_csv(out / "speed.csv", index=False)
    for name, form in FORMS.items():
        table[name] = table[name].map(form.format)
    table.columns = table.columns.str.replace("_", " ")
    text = f"{machine.describe()}\n\n{markdown_table(table)}\n"
    (out / "speed.md").write_text(text, encoding="utf-8")
    return text


def main(
    out: Annotated[Path, typer.Option(help="Folder for speed.csv and speed.md.")] = Path(
        ".cache/performance"
    ),
    minutes: Annotated[float, typer.Option(help="All that may be spent.")] = 9.5,
    sizes: Annotated[str, typer.Option(help="1b, 8b, or both.")] = "1b 8b",
    smallest: Annotated[
        bool, typer.Option("--smallest", help="A tiny model and few texts: does it run?")
    ] = False,
) -> None:
    """Measure, and print the table."""
    os.environ.setdefault("TQDM_DISABLE", "1")  # lm-eval draws a bar for each chunk
    names, amount = (["smallest"], SMALLEST) if smallest else (sizes.split(), FULL)
    n_contenders = 3 if find_vllm() else 2
    clock = Clock(60 * minutes, len(names) * len(TASKS) * n_contenders)
    machine = look_at_machine()
    print(machine.describe(), flush=True)
    out.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    with TemporaryDirectory() as scratch:
        for name in names:
            for row in Race(name, machine, amount, clock, Path(scratch)).run():
                rows.append(row)
                print(f"{clock.left:5.0f} s left: {row.describe()}", flush=True)
                write_tables(rows, machine, out)
    print(write_tables(rows, machine, out))


if __name__ == "__main__":
    typer.run(main)
