"""A result: what one benchmark says of one model. One JSON file, and beside it tables of scores.

    RESULTS/{model}/{benchmark}@{version}/result.json     figures with controls and verdicts, and what they are of
                                          headlines.parquet what two results are compared by
                                          {table}.parquet scores by row, as the benchmark's family has them

A result of another size than `standard`, or of fewer units, has `+trial` or `+limit-N` behind its version.
"""

from typing import Any, Final, Literal

from pydantic import Field, model_validator

from evenruler.strict import Slug, Strict, Text
from evenruler.versions import Version

FORMAT: Final = 1
"""Of `result.json`; another number means that what was called something is called something else."""

RESULT, HEADLINES_FILE = "result.json", "headlines.parquet"


class MeasuredBenchmark(Strict):
    """Which benchmark, and that it is what its manifest says."""

    name: Slug
    version: Version
    title: Text
    family: Slug
    origin: Text
    """`shipped`, `folder`, `hub:USER/REPO@TAG`, or `git:` and a revision."""
    content_sha256: Text
    """Its identity, made of all its rows and its plan when it was measured (`publish.manifest.identity_of`)."""
    plan_sha256: Text
    """Of `plan.json`, as in `manifest.json`."""


class MeasuredModel(Strict):
    """Which model, down to the bytes that answered."""

    name: Slug
    """By which figures and folders call it."""
    source: str | list[str]
    """As in the catalogue: `hub:org/name`, `package:module/file`, `local:folder`, `endpoint:name`, `untrained:NAME`."""
    revision: str | None
    """The commit of a Hub repository."""
    kind: Text
    chat: bool
    """Whether it is asked in chats."""
    licence: Text
    engine: dict[str, Any]
    """All that an answer depends on but the question: sha256 of weights, configuration, tokenizer and template;
    device class, dtype, versions of the libraries; of a server its address and mode."""


class Settings(Strict):
    """How it was measured."""

    prefixes: bool
    """Whether rows were also asked after prefixes; without, how far the figures hang on wordings is not known."""
    size: Literal["trial", "standard", "paper"] = "standard"
    """How much of the benchmark was asked."""
    limit: int | None
    """So many units at most, evenly spread; null: all that the plan asks for."""
    level: float
    """Of intervals."""
    resamples: int
    seed: int

    @model_validator(mode="before")
    @classmethod
    def _of_before_sizes(cls, said: Any) -> Any:
        """What was measured before there were sizes says `quick`: whether as little was asked as in the build."""
        if not isinstance(said, dict) or "quick" not in said:
            return said
        size = "trial" if said["quick"] else "standard"
        return {"size": size, **{key: value for key, value in said.items() if key != "quick"}}


class Heading(Strict):
    """A figure that people are shown, in words."""

    figure: Text
    heading: Text
    meaning: Text
    role: Literal["headline", "amount", "fitness"]
    """A headline has a verdict; an amount describes what the model does, fitness how well the instrument measures."""


class Result(Strict):
    """The content of `result.json`."""

    format: Literal[1] = FORMAT
    evenruler: Text
    """The version that measured."""
    benchmark: MeasuredBenchmark
    model: MeasuredModel
    settings: Settings
    headings: list[Heading]
    figures: dict[str, dict[str, dict[str, Any]]]
    """By part of the benchmark, model (a model that is asked in two ways has two names) and figure: `value`, `low`,
    `high`, `n`, `unit`, `reason`, `control`, `p`, and of a headline `placebo`, `specific`,
    `verdict`, `why`, as in `evidence.json`; to three decimals."""
    left_out: list[str]
    """What the model could not be asked, and why, a sentence each."""
    warnings: list[str]
    """What speaks against using the benchmark on this model, a sentence each."""
    asked: dict[str, int] = Field(default_factory=dict)
    """Answers by table."""

    @property
    def folder(self) -> str:
        """Where it lies under the folder of results."""
        less = "" if self.settings.size == "standard" else f"+{self.settings.size}"
        less += "" if self.settings.limit is None else f"+limit-{self.settings.limit}"
        return f"{self.model.name}/{self.benchmark.name}@{self.benchmark.version}{less}"
