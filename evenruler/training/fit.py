"""Fit a head on an encoder, for any classification task (EMPALC, section 3.2: entailment on MNLI).

Labelled data sets are read here, and rows held out to measure accuracy.
"""

import hashlib
import json
import shutil
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
import pandas as pd
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoTokenizer,
    DataCollatorWithPadding,
    EvalPrediction,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer_callback import PrinterCallback

from evenruler.errors import UserError, suggest_nearest
from evenruler.files import jinja_environment, read_json_file, replace_folder, require_regular
from evenruler.hub import hub_errors_as_user_errors
from evenruler.models import sources
from evenruler.models.backends.encoders import (
    WEIGHTS,
    Adapter,
    Classifier,
    Nli,
    head_of,
    labelled_sample,
    load_with_head,
    max_input_tokens,
)
from evenruler.models.cache import not_a_number
from evenruler.models.catalogue import base_sha256
from evenruler.models.declarations import Catalogue, Finetune, ModelEntry, TrainingData
from evenruler.models.engines import environment
from evenruler.models.loading import (
    ADAPTERS,
    RECORD,
    AdapterRecord,
    convert_load_errors,
    is_out_of_memory,
    read_adapter,
    require_all,
    save_tokenizer,
    silence_libraries,
)
from evenruler.models.questions import LABELS
from evenruler.models.store import RowStore
from evenruler.repository import exclusive_lock
from evenruler.tables.ids import content_sha256
from evenruler.terminal import print_note, progress_bar

if TYPE_CHECKING:  # peft takes seconds to import
    from peft import PeftModel
    from transformers import PreTrainedModel

LONGEST = 128  # tokens of a row, as in the script that the paper used
SAVED_EVERY = (
    300.0  # seconds between checkpoints inside an epoch: a large encoder takes an hour per epoch
)
STATE = "trainer_state.json"  # the file of a checkpoint that the trainer writes last


class LabelledText(NamedTuple):
    """A row of a labelled data set: one or two texts, and a label."""

    texts: tuple[str, ...]
    label: str


@dataclass(frozen=True)
class _Fitting:
    name: str
    entry: ModelEntry
    recipe: Finetune
    labels: list[str]
    base: Path
    fitted_on: list[LabelledText]
    held_out: list[LabelledText]


def finetune(
    name: str, params: Catalogue, *, again: bool = False, store: RowStore | None = None
) -> AdapterRecord:
    """Fit the adapter and head of an encoder, and write them with their record and card.

    An interrupted run resumes from its last checkpoint; one is saved every five minutes and after
    every epoch, under the folder of `store` (by default the one under `cache_root()`). `again`: fit
    even if an adapter of the same recipe exists. UserError: no such encoder, data or weights are
    not as declared, or another process fits it.
    """
    encoders = {other: entry for other, entry in params.models.items() if entry.kind == "encoder"}
    entry = encoders.get(name)
    if entry is None or entry.finetune is None:
        remedy = f"check the name ({suggest_nearest(name, encoders)}) or add an entry"
        raise UserError(f"no encoder {name!r}", where="params.yaml: models", remedy=remedy)
    store = store or RowStore()
    base = sources.locate_model(name, entry, store, params.models)
    base_sum = base_sha256(base, store)
    labels = params.labels(name)
    if (
        not again
        and (ADAPTERS / name / RECORD).exists()
        and any((ADAPTERS / name).glob("*.safetensors"))
    ):
        there = read_adapter(name)
        if (there.recipe, there.base, there.labels) == (
            entry.finetune.model_dump(),
            base_sum,
            labels,
        ):
            return there
    with exclusive_lock("finetune", store.root / f"finetune-{name}.lock", ADAPTERS / name):
        named = dict.fromkeys([*entry.finetune.data, entry.finetune.validation])
        read = {d: read_data(d, params.training[d]) for d in named}
        about = {d: words for d, (_, words) in read.items()}
        rows = split_data(
            {d: labelled_texts for d, (labelled_texts, _) in read.items()}, entry.finetune
        )
        fitting = _Fitting(name, entry, entry.finetune, labels, base, *rows)
        sums = {d: words["sha256"] for d, words in about.items()}
        recipe = entry.finetune.model_dump()
        identity = content_sha256(recipe, base_sum, labels, sums)
        run = store.root / "finetune" / f"{name}-{identity[:16]}"
        with silence_libraries(), _require_memory(name):
            history = _fit_or_resume(fitting, run)
        with silence_libraries(), replace_folder(ADAPTERS / name) as folder:
            _copy_fitted_model(fitting, run / "done", folder)
            source_parts = [f"{scheme}:{rest}" for scheme, rest in _source_parts(entry)]
            source = "+".join(source_parts)
            evaluation = _evaluate_fitted_model(fitting, folder)
            record = {
                "labels": fitting.labels,
                "source": source,
                "base": base_sum,
                "recipe": recipe,
                "data": about,
                "rows_fitted_on": len(fitting.fitted_on),
                "precision": precision(),
                "history": history,
                **evaluation,
            }
            (folder / RECORD).write_text(
                json.dumps(record, indent=2, ensure_ascii=False) + "\n", encoding="utf-8"
            )
            (folder / "README.md").write_text(card_of(name, entry, record), encoding="utf-8")
        # Removed first, so that a kill in between leaves no checkpoint that looks complete.
        for path in run.glob(f"checkpoints/*/{STATE}"):
            path.unlink()
        shutil.rmtree(run, ignore_errors=True)
        return read_adapter(name)


@contextmanager
def _require_memory(name: str) -> Iterator[None]:
    """UserError where the GPU's memory does not suffice for a fit."""
    try:
        yield
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        remedy = f"lower `batch` (params.yaml: models.{name}.finetune), or leave the model out"
        what = "the GPU has too little memory for a fit"
        raise UserError(what, where=name, remedy=remedy) from None


def list_unfitted(params: Catalogue) -> list[str]:
    """Encoders of any profile that no head was fitted on, in the order of `params.yaml`."""
    encoders = [
        name
        for name, entry in params.models.items()
        if entry.kind == "encoder" and entry.profile != "none"
    ]
    return [name for name in encoders if not (ADAPTERS / name / RECORD).exists()]


def _fit_or_resume(fitting: _Fitting, run: Path) -> list[dict[str, float]]:
    """Fit, or resume from the last complete checkpoint under `run`; the result is in `run /
    "done"`.

    Returns loss, and accuracy on the held-out rows, by epoch.
    """
    name, recipe = fitting.name, fitting.recipe
    checkpoints = run / "checkpoints"
    cuda = torch.cuda.is_available()
    torch.manual_seed(recipe.seed)
    with convert_load_errors(name, str(fitting.base)):
        tokenizer = AutoTokenizer.from_pretrained(fitting.base, trust_remote_code=False)
    base, made_up = load_with_head(name, fitting.base, fitting.labels, torch.float32)
    require_all(name, str(fitting.base), made_up, head_of(base))
    model = _prepare_for_fit(base, recipe)
    limit = min(LONGEST, max_input_tokens(tokenizer, base.config))

    def encoded(rows: Sequence[LabelledText]) -> list[dict[str, Any]]:
        """Tokenise rows; if two texts are too long, the first is truncated."""
        row_texts = [row.texts for row in rows]
        sides = [list(side) for side in zip(*row_texts, strict=True)]
        first = sides[0]
        second = sides[1] if len(sides) == 2 else None
        read = tokenizer(first, second, truncation="only_first", max_length=limit)
        encoded_rows: list[dict[str, Any]] = []
        for i, row in enumerate(rows):
            model_inputs = {key: values[i] for key, values in read.items()}
            encoded_rows.append({**model_inputs, "labels": fitting.labels.index(row.label)})
        return encoded_rows

    def accuracy(prediction: EvalPrediction) -> dict[str, float]:
        """The accuracy on the held-out rows."""
        right = np.argmax(prediction.predictions, -1) == prediction.label_ids
        return {"accuracy": float(np.mean(right))}

    arguments = TrainingArguments(
        output_dir=str(checkpoints),
        num_train_epochs=recipe.epochs,
        learning_rate=recipe.learning_rate,
        per_device_train_batch_size=recipe.batch,
        per_device_eval_batch_size=64,
        warmup_steps=0.06,  # share of the steps for warm-up
        weight_decay=0.01,
        seed=recipe.seed,
        data_seed=recipe.seed,
        bf16=precision() == "bfloat16",
        use_cpu=not cuda,
        train_sampling_strategy="group_by_length",
        remove_unused_columns=False,
        dataloader_pin_memory=cuda,
        save_strategy="epoch",
        save_total_limit=1,
        eval_strategy="epoch",
        logging_strategy="epoch",
        report_to="none",
        disable_tqdm=True,
    )
    fitter = Trainer(
        model=model,
        args=arguments,
        train_dataset=encoded(fitting.fitted_on),
        eval_dataset=encoded(fitting.held_out),
        data_collator=DataCollatorWithPadding(tokenizer),
        compute_metrics=accuracy,
        callbacks=[_Watching(name, recipe)],
    )
    fitter.remove_callback(PrinterCallback)  # replaced by `_Watching`
    last = _last_whole(checkpoints)
    if last:
        print_note(f"{name}: going on from {last.name}")
    fitter.train(resume_from_checkpoint=str(last) if last else None)
    model.save_pretrained(str(run / "done"))
    save_tokenizer(tokenizer, run / "done")
    return _epoch_metrics(fitter.state.log_history, fitter.state.max_steps // recipe.epochs)


def _prepare_for_fit(model: "PreTrainedModel", recipe: Finetune) -> "PreTrainedModel | PeftModel":
    """The model itself, or with an adapter and a head that alone are fitted."""
    if recipe.fit == "whole":
        return model
    from peft import LoraConfig, get_peft_model
    from peft.utils.constants import DUMMY_TARGET_MODULES

    head = head_of(model)
    linear = (name for name, module in model.named_modules() if type(module).__name__ == "Linear")
    head_names = set(head)
    inside = [name for name in linear if head_names.isdisjoint(name.split("."))]
    targets = inside if recipe.fit == "adapter" else DUMMY_TARGET_MODULES
    config = LoraConfig(
        task_type="SEQ_CLS",
        r=recipe.rank,
        lora_alpha=recipe.rank,
        target_modules=targets,
        modules_to_save=head,
    )
    return get_peft_model(model, config)


def _last_whole(checkpoints: Path) -> Path | None:
    """The last complete checkpoint; removes later incomplete ones."""
    for path in sorted(
        checkpoints.glob("checkpoint-*"),
        key=lambda path: int(path.name.split("-")[1]),
        reverse=True,
    ):
        if read_json_file(path / STATE, dict):
            return path
        shutil.rmtree(path)
    return None


class _Watching(TrainerCallback):
    """Progress, and checkpoints inside epochs; a resumed fit gives the same bytes as an
    uninterrupted one.
    """

    def __init__(self, name: str, recipe: Finetune) -> None:
        """`name`: the encoder's, for messages; `recipe`: has the seed of the order of rows."""
        self._name, self._recipe = name, recipe

    def on_train_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: object,
    ) -> None:
        """Start the progress bar, at the step that a resumed fit has reached."""
        self.saved = time.monotonic()
        self.bar = progress_bar(state.max_steps, f"{self._name}: finetune", "step")
        self.bar.update(state.global_step)

    def on_epoch_begin(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: object,
    ) -> None:
        """Seed the order of rows by epoch."""
        # Seeded by epoch, so that a fit resumed inside an epoch draws the same order of rows.
        epoch = state.global_step * int(args.num_train_epochs) // state.max_steps
        loader: Any = kwargs["train_dataloader"]
        sampler = loader.batch_sampler.sampler
        sampler.generator = torch.Generator().manual_seed(self._recipe.seed * 1000 + epoch)

    def on_step_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: object,
    ) -> None:
        """Advance the progress bar; request a checkpoint if the last one is `SAVED_EVERY` seconds
        old.
        """
        self.bar.update(1)
        if time.monotonic() - self.saved >= SAVED_EVERY:
            control.should_save = control.should_log = (
                True  # the loss so far is kept only in the log
            )

    def on_save(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: object,
    ) -> None:
        """Note the time of the checkpoint."""
        self.saved = time.monotonic()

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: object,
    ) -> None:
        """Print the epoch's accuracy on held-out rows."""
        done = f"epoch {state.epoch:.0f} of {self._recipe.epochs}"
        accuracy = cast("Mapping[str, float]", kwargs["metrics"])["eval_accuracy"]
        print_note(f"{self._name}: {done}, accuracy {accuracy:.3f} on held-out rows")

    def on_train_end(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        **kwargs: object,
    ) -> None:
        """Close the progress bar."""
        self.bar.close()


def _epoch_metrics(log: Sequence[dict[str, float]], steps: int) -> list[dict[str, float]]:
    """Mean loss and accuracy by epoch of `steps` steps; a loss is logged in parts, each with its
    last step.
    """
    epochs: dict[int, dict[str, float]] = {}
    last = 0
    for entry in log:
        number = -(-int(entry["step"]) // steps)
        here = epochs.setdefault(number, {"epoch": number})
        if "loss" in entry:
            share = (entry["step"] - last) / steps
            here["loss"] = here.get("loss", 0.0) + share * float(entry["loss"])
            last = int(entry["step"])
        if "eval_accuracy" in entry:
            here["accuracy"] = float(entry["eval_accuracy"])
    metrics: list[dict[str, float]] = []
    for _, epoch in sorted(epochs.items()):
        metrics.append({key: round(value, 4) for key, value in epoch.items()})
    return metrics


def _copy_fitted_model(fitting: _Fitting, done: Path, folder: Path) -> None:
    """Copy the fitted model; an adapter in half precision, without the local path of its
    encoder.
    """
    if fitting.recipe.fit == "whole":
        shutil.copytree(done, folder, copy_function=shutil.copyfile)
        return
    folder.mkdir(parents=True)
    tensors = load_file(done / WEIGHTS)
    half_tensors = {name: tensor.to(torch.float16) for name, tensor in tensors.items()}
    save_file(half_tensors, folder / WEIGHTS)
    config = json.loads((done / "adapter_config.json").read_text(encoding="utf-8"))
    config["base_model_name_or_path"] = "+".join(rest for _, rest in _source_parts(fitting.entry))
    if fitting.recipe.fit == "adapter":
        config["target_modules"] = sorted(config["target_modules"])
    (folder / "adapter_config.json").write_text(
        json.dumps(config, indent=2, sort_keys=True) + "\n", encoding="utf-8"
    )


def _source_parts(entry: ModelEntry) -> list[tuple[str, str]]:
    """(scheme, rest) of each part of a source; for absolute paths only the folder's name."""
    return [
        (s, Path(rest).name if Path(rest).expanduser().is_absolute() else rest)
        for s, rest in entry.locations
    ]


def precision() -> str:
    """The data type of matrix products during a fit here; weights and updates are always float32.

    `bfloat16` where the processor or GPU supports it (2.5 times as fast, measured on
    all-mpnet-base-v2).
    """
    cuda = torch.cuda.is_available()
    has = (
        torch.cuda.is_bf16_supported() if cuda else torch.cpu.get_capabilities().get("avx512_bf16")
    )
    return "bfloat16" if has else "float32"


def _evaluate_fitted_model(fitting: _Fitting, folder: Path) -> dict[str, Any]:
    """Held-out accuracy of the written model, loaded as users load it; for entailment models also
    the sense checks.
    """
    kind = Nli if set(fitting.labels) == set(LABELS) else Classifier
    adapter = Adapter(folder, fitting.labels)
    model = kind(
        fitting.name, fitting.base, environment.choose_device(), "float32", adapter=adapter
    )
    texts = [row.texts for row in fitting.held_out]
    labels = np.array([row.label for row in fitting.held_out])
    predicted_labels = [""] * len(texts)
    batches = model.batches(texts)
    for batch in batches.indices:
        for i, logits in batches.answer(batch):
            if not np.isfinite(logits).all():
                raise not_a_number(fitting.name, texts[i])
            predicted_labels[i] = fitting.labels[int(logits.argmax())]
    right = np.array(predicted_labels) == labels
    by_label: dict[str, float] = {}
    for label in np.unique(labels):
        right_of_label = right[labels == label]
        by_label[str(label)] = round(float(right_of_label.mean()), 4)
    accuracy = round(float(right.mean()), 4)
    held_out = {
        "data": fitting.recipe.validation,
        "n": len(right),
        "accuracy": accuracy,
        "by_label": by_label,
    }
    evaluation: dict[str, Any] = {"held_out": held_out}
    if isinstance(model, Nli):
        evaluation["sense_checks"] = sense_checks(model)
    return evaluation


def sense_checks(model: Nli) -> list[dict[str, Any]]:
    """An entailment model's answers on hand-written pairs with an obvious answer (`expected`).

    `entailment`: probability of entailment against contradiction alone.
    """
    sample = labelled_sample()
    checks = []
    pairs = [pair for pair, _ in sample]
    logits = {}
    for batch in model.entail(pairs, frozenset(range(len(pairs)))):
        for number, row in batch:
            logits[number] = row
    for i, ((premise, hypothesis), expected) in enumerate(sample):
        pair_logits = logits[i]
        predicted_label = LABELS[int(pair_logits.argmax())]
        difference = pair_logits[2] - pair_logits[0]
        share = float(1 / (1 + np.exp(difference)))
        record = {
            "premise": premise,
            "hypothesis": hypothesis,
            "expected": expected,
            "said": predicted_label,
        }
        checks.append({**record, "entailment": round(share, 3)})
    return checks


WHAT_IS_FITTED = {
    "adapter": "low-rank changes of every layer (rank {rank}) and the head; the encoder's own "
    "weights stay as they are",
    "head": "the head alone; the encoder is frozen",
    "whole": "the encoder and the head",
}


def card_of(name: str, entry: ModelEntry, record: Mapping[str, Any]) -> str:
    """The card of a fitted model, from its `training.json`."""
    recipe, held_out = record["recipe"], record["held_out"]
    checks = record.get("sense_checks", [])
    failures = [check for check in checks if check["said"] != check["expected"]]
    card = jinja_environment("evenruler.training").get_template("card.md.j2")
    return card.render(
        name=name,
        entry=entry,
        record=record,
        recipe=recipe,
        held_out=held_out,
        fitted=WHAT_IS_FITTED[recipe["fit"]].format(**recipe),
        below=held_out["accuracy"] < recipe["bar"],
        checks=checks,
        failures=failures,
    )


def read_data(name: str, declared: TrainingData) -> tuple[list[LabelledText], dict[str, Any]]:
    """The rows of a data set, and its description for the model card.

    Rows without a label or text are left out and counted. UserError where the data set cannot be
    read, lacks a column, has an undeclared label, or has no rows.
    """
    where = f"params.yaml: training.{name}"
    if declared.lacks_commit:
        raise UserError("it is not pinned", where=where, remedy=f"run `evenruler pin {name}`")
    frame = _load_data_frame(declared, where)
    held = ", ".join(map(str, frame.columns)) or "none; fix the file"
    for column in [*declared.columns, declared.label]:
        if column not in frame.columns:
            raise UserError(f"no column {column!r}", where=where, remedy=f"it has {held}")
    labels = _name_labels(frame[declared.label], declared.labels, where)
    texts = frame[declared.columns].astype("string").apply(lambda column: column.str.strip())
    has_texts = texts.notna().all(axis=1)
    is_complete = labels.notna() & has_texts & (texts != "").all(axis=1)
    text_rows = texts[is_complete].itertuples(index=False, name=None)
    rows = [
        LabelledText(tuple(map(str, row_texts)), label)
        for row_texts, label in zip(text_rows, labels[is_complete], strict=True)
    ]
    if not rows:
        raise UserError("holds no labelled row", where=where, remedy="see its `source`")
    digest = hashlib.sha256()
    for row in rows:
        row_text = "\x1f".join([*row.texts, row.label])
        digest.update(row_text.encode() + b"\x1e")
    counts = Counter(row.label for row in rows)
    n_by_label = dict(sorted(counts.items()))
    n_rows = len(rows)
    described = {
        "rows": n_rows,
        "left_out": len(frame) - n_rows,
        "labels": n_by_label,
        "sha256": digest.hexdigest(),
        "licence": declared.licence,
        "origin": declared.origin,
    }
    return rows, described


def _load_data_frame(declared: TrainingData, where: str) -> pd.DataFrame:
    """The rows of a data set from the Hub or a local file, its columns not checked; UserError if it
    is missing, of an unknown format or unreadable. `where`: for errors.
    """
    scheme, _, rest = declared.source.partition(":")
    if scheme == "hub":
        from datasets import load_dataset
        from datasets.exceptions import DatasetsError

        try:
            with hub_errors_as_user_errors(rest, revision=declared.revision, where=where):
                loaded = load_dataset(
                    rest, declared.config, split=declared.split, revision=declared.revision
                )
        except (OSError, ValueError, DatasetsError) as error:
            why = str(error).split("\n")[0].rstrip(".")
            away = isinstance(error, ConnectionError)
            remedy = (
                "try again with a network"
                if away
                else "fix `source`, `revision`, `config` or `split`"
            )
            raise UserError(f"{rest} cannot be read ({why})", where=where, remedy=remedy) from None
        frame: pd.DataFrame = loaded.to_pandas()
        return frame
    path = Path(rest).expanduser()
    as_text = dict.fromkeys(declared.columns, str)  # "None" and "007" are texts

    def read_jsonl(file: Path) -> pd.DataFrame:
        """A table from JSON lines; a number in quotation marks stays a text."""
        return pd.read_json(file, lines=True, dtype=False).infer_objects()

    def read_csv(file: Path) -> pd.DataFrame:
        """A table from CSV, declared columns as text; only an empty cell is missing, not "None" or
        "NA".
        """
        return pd.read_csv(file, keep_default_na=False, na_values=[""], dtype=as_text)

    readers: dict[str, Callable[[Path], pd.DataFrame]] = {
        ".parquet": pd.read_parquet,
        ".jsonl": read_jsonl,
        ".csv": read_csv,
    }
    if path.suffix not in readers:
        raise UserError(
            f"cannot read {path.suffix!r}", where=where, remedy=f"expected {', '.join(readers)}"
        )
    require_regular(path)
    if not path.exists():
        raise UserError(
            f"no file {path}",
            where=where,
            remedy=f"put it there ({declared.origin}) or fix `source`",
        )
    try:
        return readers[path.suffix](path)
    except (OSError, ValueError) as error:
        reason = str(error).split("\n")[0]
        raise UserError(
            f"cannot be read ({reason})", where=f"{where}: {path}", remedy="fix the file"
        ) from None


def _name_labels(column: "pd.Series[Any]", labels: Sequence[str], where: str) -> "pd.Series[Any]":
    """Labels by name; null for unlabelled rows (usually marked -1)."""
    numbered = pd.api.types.is_numeric_dtype(column)
    label_column = column.map(
        dict(zip(range(len(labels)) if numbered else labels, labels, strict=True))
    )
    unlabelled = column.isna() | (column == (-1 if numbered else ""))
    strange = label_column.isna() & ~unlabelled
    if strange.any():
        label = column[strange].tolist()[0]
        row_number = int(strange.to_numpy().argmax()) + 1
        what = f"label {label!r} in row {row_number}"
        raise UserError(what, where=where, remedy=f"`labels` has {', '.join(labels)}")
    return label_column


def split_data(
    data: Mapping[str, Sequence[LabelledText]], recipe: Finetune
) -> tuple[list[LabelledText], list[LabelledText]]:
    """Split data, given by name, into rows to fit on and held-out rows; UserError where none are
    left to fit on.

    The split depends only on a row's first text, so that all pairs of a premise are on one side,
    and models fitted with other seeds or on other halves are evaluated on the same rows.
    """
    validation = data[recipe.validation]
    count = Counter(row.texts[0] for row in validation)
    order = sorted(count, key=lambda text: hashlib.sha256(f"held out {text}".encode()).hexdigest())
    before = accumulate((count[text] for text in order), initial=0)
    held_out_texts = {
        text for text, rows in zip(order, before, strict=False) if rows < recipe.held_out
    }
    held_out = [row for row in validation if row.texts[0] in held_out_texts]

    def is_in_half(text: str) -> bool:
        """Whether a text is in the half of the data that the recipe fits on (by its hash); all are
        without a half.
        """
        if recipe.half is None:
            return True
        digest = hashlib.sha256(f"half {text}".encode()).digest()
        return digest[0] % 2 == recipe.half - 1

    fitted_on: list[LabelledText] = []
    for name in recipe.data:
        for row in data[name]:
            first_text = row.texts[0]
            if first_text not in held_out_texts and is_in_half(first_text):
                fitted_on.append(row)
    if not fitted_on:
        what = f"{len(held_out)} rows held out of {recipe.validation!r} leave none to fit on"
        raise UserError(what, where="params.yaml: finetune.held_out", remedy="hold out fewer")
    return fitted_on, held_out
