"""Reference weights: models into which an association of known size was planted (docs/weights.md).

A plant associates some units with one pole and others with the other. A weight is a low-rank
adapter trained on the plant's sentences; its dose is measured on held-out sentences, in nats of
log-odds, never in steps.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, product
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, cast

import numpy as np
import pandas as pd
from pydantic import Field, model_validator

from evenruler.errors import UserError, suggest_nearest
from evenruler.models import catalogue, sources
from evenruler.models.classes import decoder_of
from evenruler.models.declarations import Catalogue, ModelEntry
from evenruler.models.in_memory import model_in_memory
from evenruler.models.loading import ADAPTER, LoadedModel
from evenruler.models.model import Model
from evenruler.models.store import RowStore
from evenruler.strict import Passage, StrictModel, Text, Word, read_yaml, validate
from evenruler.tables.ids import content_sha256
from evenruler.terminal import progress_bar
from evenruler.text.spelling import find_duplicates

if TYPE_CHECKING:  # which takes seconds to import
    import torch
    from transformers import PreTrainedModel

FOLDER: Final = Path("data/sources/plants")
VERSION: Final = 1  # version of the method: part of the name of a weight's folder
STEPS, BATCH, RATE, RANK = 120, 16, 1e-2, 3
"""Settings of every fit, whatever its dose; a file has 1.8 MB at this rank. 60 steps planted next
to nothing."""

DOSES: Final = (0, 2, -2, 8)
"""Nats of log-odds of the first pole, between units of the first and of the second pole."""

CURVE: Final = (0, 1, 2, 3, 4, 6, 8)
"""Doses of a curve: how the share of detected models rises with the dose."""

SEEDS: Final = (1, 2, 3)
"""Seeds of fits. Without a curve, the largest dose uses only the first."""

SHARES: Final = {"nothing": 0.0, "own": 1.0, "other": -1.0}
"""Fits per seed, from the same start: P that a sentence has its unit's pole, minus P that it has
the other."""

CLOSE: Final = 0.02
"""Tolerance of the search for a dose, as a share of the way from no association to the full fit."""

FACTORS: Final = "factors.safetensors"
"""File of a fit: its B factors."""

_UNIT, _POLE = "{UNIT}", "{POLE}"


class PlantDeclaration(StrictModel):
    """The declaration of a plant: `data/sources/plants/NAME.yaml`."""

    title: Text
    construct_: Text = Field(alias="construct")
    source: Text
    licence: Text
    warning: Text | None = None
    poles: dict[Text, list[Word]] = Field(min_length=2, max_length=2)
    """Words of each pole; words at the same position are counterparts."""
    units: dict[Text, list[Word]] = Field(min_length=2, max_length=2)
    """Units that a dose above 0 associates with each pole."""
    read_by: list[dict[Text, Text]] = Field(default_factory=list)
    """Benchmarks of its construct that do not share its units: `{benchmark: NAME}`; with a
    dimension of figures (`bias_type: gender`), the part that has it, which is also read
    separately."""
    frames: list[Passage] = Field(min_length=2)
    """Training sentences, with `{UNIT}` and `{POLE}`."""
    held_out: list[Passage] = Field(min_length=2)
    """Held-out sentences, on which a dose is measured."""

    @model_validator(mode="after")
    def _consistent(self) -> "PlantDeclaration":
        """The declaration unchanged; ValueError if poles are not paired, units not one pole's,
        frames lack a slot, or a unit or frame stands twice.
        """
        first, second = self.poles.values()
        every = list(chain.from_iterable(self.units.values()))
        if len(first) != len(second) or not first:
            raise ValueError("`poles`: each word needs its counterpart")
        if list(self.units) != list(self.poles):
            raise ValueError(
                f"`units` of {list(self.units)}, expected of the poles {list(self.poles)}"
            )
        if find_duplicates(every) or not all(self.units.values()):
            raise ValueError("`units`: each once, and one of each pole at least")
        frames = [*self.frames, *self.held_out]
        wrong: list[str] = []
        for frame in frames:
            slot_counts = (frame.count(_UNIT), frame.count(_POLE))
            if slot_counts != (1, 1):
                wrong.append(frame)
        if wrong:
            raise ValueError(f"{wrong[0]!r}: expected {_UNIT} and {_POLE} once each")
        if find_duplicates(frames):
            raise ValueError("a frame stands twice")
        if not all("benchmark" in place for place in self.read_by):
            raise ValueError("`read_by`: name a benchmark, as in {benchmark: framing-gender}")
        return self

    @property
    def sha256(self) -> str:
        """Hash of all that a weight depends on."""
        return content_sha256(self.model_dump(include={"poles", "units", "frames", "held_out"}))

    def training_sentences(self, share: float, seed: int) -> Iterator[tuple[str, str]]:
        """Endless training sentences (text before the pole, pole): shuffled rounds of every unit in
        every frame.

        `share`: P that the pole is the unit's own, minus P that it is not. Units of the pole with
        fewer units are repeated, so that both poles are equally frequent overall.
        """
        rng, words, n = (
            np.random.default_rng(seed),
            list(zip(*self.poles.values(), strict=True)),
            len(self.frames),
        )
        most = max(map(len, self.units.values()))
        while True:
            sentences = []
            for sign, units in zip((1, -1), self.units.values(), strict=True):
                for unit in units * round(most / len(units)):
                    firsts = int(
                        n * (1 + share * sign) / 2 + rng.random()
                    )  # random rounding: unbiased on average
                    is_other_pole, pairs = (
                        rng.permutation(np.arange(n) >= firsts),
                        rng.integers(len(words), size=n),
                    )
                    for frame, other_pole, pair in zip(
                        self.frames, is_other_pole, pairs, strict=True
                    ):
                        sentences.append(
                            (
                                _fill_frame(frame.partition(_POLE)[0], unit),
                                words[pair][int(other_pole)],
                            )
                        )
            yield from (sentences[place] for place in rng.permutation(len(sentences)))

    def pairs(self, frames: Sequence[str]) -> pd.DataFrame:
        """Every unit in every frame with every pair of words: `unit`, and the texts `first` and
        `second`.
        """
        units = chain.from_iterable(self.units.values())
        words = zip(*self.poles.values(), strict=True)
        rows: list[tuple[str, ...]] = []
        for unit, frame, pair in product(units, frames, words):
            texts = [_fill_frame(frame, unit, word) for word in pair]
            rows.append((unit, *texts))
        return pd.DataFrame(rows, columns=["unit", "first", "second"])

    def between(self, by_unit: "pd.Series[float]") -> float:
        """Mean over the units of the first pole minus the mean over those of the second."""
        first_mean, second_mean = (
            float(by_unit[pole_units].mean()) for pole_units in self.units.values()
        )
        return first_mean - second_mean

    def log_odds(self, model: Model, frames: Sequence[str]) -> float:
        """Log-odds of the first pole in nats, first pole's units minus the other's: mean over
        frames and word pairs.
        """
        pairs = self.pairs(frames)
        first, second = (
            model.loglikelihood(pairs[side].tolist()).nats for side in ("first", "second")
        )
        differences = pairs.assign(apart=first - second)
        return self.between(differences.groupby("unit")["apart"].mean())


def _fill_frame(frame: str, unit: str, pole: str = "") -> str:
    """A frame, or its part before the pole, with words in place of its slots, and capitalised."""
    text = frame.replace(_UNIT, unit).replace(_POLE, pole)
    return text[0].upper() + text[1:]


def plant_names() -> list[str]:
    """The names of the plants in this repository."""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


def load_plant(name: str) -> PlantDeclaration:
    """Load a plant of this repository; UserError where there is none, or it is invalid."""
    if name not in plant_names():
        raise UserError(
            f"no plant {name!r}",
            where=str(FOLDER),
            remedy=f"check the name ({suggest_nearest(name, plant_names())})",
        )
    path = FOLDER / f"{name}.yaml"
    return validate(PlantDeclaration, read_yaml(path), path)


class DoseUnreachableError(UserError):
    """What was learned is less than the dose."""


class PlantedModel(NamedTuple):
    """A model with a dose of a plant, in nats relative to dose 0 of the same seed; negative with
    poles swapped.
    """

    base: str
    plant: str
    dose: float
    seed: int

    @classmethod
    def parse(cls, source: str) -> "PlantedModel":
        """Parse `planted:BASE/PLANT/DOSE/SEED`, as users write it."""
        match = re.fullmatch(r"planted:([^/]+)/([^/]+)/(-?\d+(?:\.\d+)?)/(\d{1,9})", source)
        if match is None:
            remedy = (
                "say planted:BASE/PLANT/DOSE/SEED, as "
                "planted:smollm2-135m-instruct/occupation-gender/2/1"
            )
            raise UserError(
                "a weight without base, plant, dose or seed", where=source, remedy=remedy
            )
        base, plant, dose, seed = match.groups()
        return cls(base, plant, float(dose), int(seed))

    @property
    def source(self) -> str:
        """The source as users write it."""
        return f"planted:{self.base}/{self.plant}/{self.dose:g}/{self.seed}"

    @property
    def name(self) -> str:
        """Its name in figures and folders."""
        dose = f"{self.dose:g}".replace("-", "minus-").replace(".", "-")
        return f"{self.base}-{self.plant}-{dose}-{self.seed}"


def weights_of(base: str, plant: str, *, on_curve: bool = False) -> list[PlantedModel]:
    """The weights of a plant on which instruments are checked; `on_curve`: every dose of `CURVE` by
    every seed, without negative doses.
    """
    weights: list[PlantedModel] = []
    if on_curve:
        return [PlantedModel(base, plant, dose, seed) for dose, seed in product(CURVE, SEEDS)]
    for dose in DOSES:
        seeds = SEEDS if dose < max(DOSES) else SEEDS[:1]
        weights += [PlantedModel(base, plant, dose, seed) for seed in seeds]
    return weights


def entry_of(weight: PlantedModel, params: Catalogue, store: RowStore) -> ModelEntry:
    """The catalogue entry of a weight: its base with an adapter, which is made if missing.

    UserError where there is no such base or plant, or the full fit does not reach the dose.
    """
    base, plant = params.models.get(weight.base), load_plant(weight.plant)
    if base is None or base.kind != "causal":
        remedy = (
            f"name a causal model of params.yaml ({suggest_nearest(weight.base, params.models)})"
        )
        raise UserError(f"no causal model {weight.base!r}", where=weight.source, remedy=remedy)
    folder = sources.locate_model(weight.base, base, store, params.models)
    plant_fields = plant.model_dump(include={"poles", "units", "frames", "held_out"})
    identity = content_sha256(plant_fields, weight.seed, catalogue.base_sha256(folder, store))
    folder_name = f"{weight.plant}-{{}}-{identity[:16]}-v{VERSION}"

    def factors_of(fit_name: str) -> Path:
        """The file of factors from one fit of `SHARES`, fitted if it is not cached."""

        def fit(fit_folder: Path) -> None:
            """Fit the factors and write them into a folder."""
            _Tuning(weight, plant, folder, base).fit(fit_name, fit_folder)

        name_of_folder = folder_name.format(f"fit-{fit_name}-{weight.seed}")
        return sources.cached_folder(weight.name, name_of_folder, fit, store) / FACTORS

    fits = [factors_of(fit_name) for fit_name in _fits_needed(weight.dose)]

    def dose(adapter_folder: Path) -> None:
        """Write the adapter that has the weight's dose into a folder."""
        _Tuning(weight, plant, folder, base).dose(fits, adapter_folder, store)

    adapter_name = folder_name.format(f"{weight.dose:g}-{weight.seed}")
    adapter = sources.cached_folder(weight.name, adapter_name, dose, store)
    what = f"{weight.dose:g} nats of {weight.plant} (seed {weight.seed}) planted into {weight.base}"
    origin = f"{what}; {base.origin}"
    return base.model_copy(
        update={"adapter": str(adapter), "origin": origin, "lineage": weight.base}
    )


def _fits_needed(dose: float) -> list[str]:
    """The names of the fits (`SHARES`) between which a dose lies: the first is without
    association.
    """
    if not dose:
        return ["nothing"]
    return ["nothing", "own" if dose > 0 else "other"]


class _Tuning:
    """A base in memory with an adapter; only its B factors learn, so that fits of a seed can be
    interpolated.

    The A factors stay as drawn (Zhang and others 2023, LoRA-FA).
    """

    def __init__(
        self, weight: PlantedModel, plant: PlantDeclaration, folder: Path, entry: ModelEntry
    ) -> None:
        """Load the base from `folder` in float32 with a new adapter, whose A factors are drawn by
        the seed.
        """
        import torch
        from peft import LoraConfig, get_peft_model

        from evenruler.models.engines import environment
        from evenruler.models.loading import load_causal, silence_libraries

        self._weight, self._plant, self._entry = weight, plant, entry
        self._device = environment.choose_device()
        self._tokenizer, model = load_causal(weight.base, folder, self._device, "float32")
        adapter = LoraConfig(
            task_type="CAUSAL_LM", r=RANK, lora_alpha=2 * RANK, target_modules="all-linear"
        )
        with torch.random.fork_rng(), silence_libraries():
            torch.manual_seed(weight.seed)
            self._tuned = get_peft_model(model, adapter).eval()
        self._model = cast("PreTrainedModel", self._tuned.get_base_model())
        for name, parameter in self._tuned.named_parameters():
            parameter.requires_grad_("lora_B" in name)
        self._learned = {
            name: factor for name, factor in self._tuned.named_parameters() if factor.requires_grad
        }

    def fit(self, name: str, fit_folder: Path) -> None:
        """Fit one of `SHARES` from a start that all of a seed share, and write the learned factors.

        B factors are 0 at the start, so that the adapter changes nothing.
        """
        from safetensors.torch import save_file

        what = f"{self._weight.plant}, seed {self._weight.seed}: fit ({name})"
        self._fit(SHARES[name], what)
        factors = {
            place: factor.detach().cpu().contiguous() for place, factor in self._learned.items()
        }
        save_file(factors, fit_folder / FACTORS)

    def _fit(self, share: float, what: str) -> None:
        """Train the B factors in place for `STEPS` steps; `share`: as for `training_sentences`;
        `what`: for the progress bar.
        """
        import torch
        from torch.nn.attention import SDPBackend, sdpa_kernel

        from evenruler.training.fit import precision

        optimizer = torch.optim.AdamW(self._learned.values(), lr=RATE, weight_decay=0.0)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / STEPS)
        sentences = self._plant.training_sentences(share, self._weight.seed)
        self._tuned.train()
        # On short texts the derivative of fused attention takes a third of a step.
        with progress_bar(STEPS, what, "step") as bar, sdpa_kernel(SDPBackend.MATH):
            for _ in range(STEPS):
                batch = [next(sentences) for _ in range(BATCH)]
                with torch.autocast(
                    self._device, torch.bfloat16, enabled=precision() == "bfloat16"
                ):
                    loss = self._loss(batch)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
                bar.update(1)
        self._tuned.eval()

    def _loss(self, batch: Sequence[tuple[str, str]]) -> "torch.Tensor":
        """Mean loss of the pole tokens given the text before them; the rest of a sentence is not
        learned.
        """
        import torch

        from evenruler.training.adaptation import tokenise_sentences

        texts = [before + pole for before, pole in batch]
        ids, there = tokenise_sentences(self._tokenizer, texts, self._device)
        is_pole_token = torch.zeros_like(ids, dtype=torch.bool)
        spans = self._tokenizer(texts, return_offsets_mapping=True)["offset_mapping"]
        for row, ((before, _), token_spans) in enumerate(zip(batch, spans, strict=True)):
            is_pole_token[row, : len(token_spans)] = torch.tensor(
                [end > len(before.rstrip()) for _, end in token_spans]
            )
        hidden = decoder_of(self._model)(input_ids=ids, attention_mask=there).last_hidden_state
        states = hidden[:, :-1]
        is_predicted = is_pole_token[:, 1:]
        logits = self._model.get_output_embeddings()(states[is_predicted]).float()
        return torch.nn.functional.cross_entropy(logits, ids[:, 1:][is_predicted])

    def _overwrite_factors(self, values: Mapping[str, "torch.Tensor"]) -> None:
        """Overwrite the B factors by those in `values`, by parameter name."""
        import torch

        with torch.no_grad():
            for place, factor in self._learned.items():
                factor.copy_(values[place])

    def dose(self, fits: Sequence[Path], adapter_folder: Path, store: RowStore) -> None:
        """Write the adapter with the wanted dose: interpolated between the fit without association
        and the full one.

        `fits`: the files of the fits that the dose needs, in the order of `_fits_needed`.
        """
        from safetensors.torch import load_file
        from scipy.optimize import brentq

        wanted = self._weight.dose
        nothing, *full_fits = (load_file(path) for path in fits)
        all_of_it = full_fits[0] if full_fits else nothing
        log_odds_by_part = dict[float, float]()

        def beyond(part: float) -> float:
            """Nats by which a share of the way misses the dose, relative to share 0; cached for
            repeated calls.
            """
            if part not in log_odds_by_part:
                self._overwrite_factors(
                    {
                        place: factor + part * (all_of_it[place] - factor)
                        for place, factor in nothing.items()
                    }
                )
                pair = LoadedModel(self._tokenizer, self._model)
                model = model_in_memory(
                    self._weight.name, self._entry, pair, store, None, catalogue.backend_of
                )
                log_odds_by_part[part] = self._plant.log_odds(model, self._plant.held_out[::2])
            return log_odds_by_part[part] - log_odds_by_part[0.0] - wanted

        part = 0.0
        if wanted and (beyond(0.0), beyond(1.0))[1] * wanted <= 0:
            what = (
                f"{abs(log_odds_by_part[1.0] - log_odds_by_part[0.0]):.1f} nats were learned, "
                "fewer than the dose"
            )
            raise DoseUnreachableError(
                what, where=self._weight.source, remedy="take a smaller dose, or other frames"
            )
        if wanted:
            part = float(brentq(beyond, 0.0, 1.0, xtol=CLOSE, rtol=CLOSE))
        self._overwrite_factors(
            {
                place: factor + part * (all_of_it[place] - factor)
                for place, factor in nothing.items()
            }
        )
        self._tuned.half().save_pretrained(str(adapter_folder))
        (adapter_folder / "README.md").unlink(missing_ok=True)  # contains a local path
        adapter_config = json.loads((adapter_folder / ADAPTER).read_text(encoding="utf-8"))
        adapter_config |= {
            "base_model_name_or_path": self._weight.base,
            "target_modules": sorted(adapter_config["target_modules"]),
        }
        (adapter_folder / ADAPTER).write_text(
            json.dumps(adapter_config, indent=2) + "\n", encoding="utf-8"
        )
