"""A model that says what a test writes, and a folder in which the stages of saged run with it, in
this process."""

import contextlib
import copy
import io
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ruamel.yaml import YAML

import evenruler.models.catalogue
from evenruler.errors import UserError
from evenruler.instruments.instrument import plan_at_size
from evenruler.instruments.saged.ask import ANSWERS, scores
from evenruler.models import Reply, Sampling
from evenruler.tables import read_frame
from stages import agree, ask, card, diagnose, scrape
from stages import rows as rows_stage
from stages.files import plan_of, read_model_meta, read_tables
from tests.profiles import set_profile
from tests.stages.conftest import edit_yaml, evidence_in
from tests.tiny import tiny_declaration

ROOT = Path(__file__).parents[2]
MODEL = "scripted"

Write = Callable[[str, int], str | None]
"""A prompt and a seed -> the reply; None: it is held back by a filter."""


class Scripted:
    """Stands in for a causal model."""

    def __init__(self, write: Write) -> None:
        self.asked = 0
        self._write = write

    def can(self, operation: str) -> bool:
        return operation == "generate"

    def sampling(self, max_new_tokens: int) -> Sampling:
        return Sampling(max_new_tokens)

    def replies(
        self,
        prompts: Sequence[str],
        *,
        sampling: Sampling,
        seeds: Sequence[int],
        system: Sequence[str | None],
        chat: bool | None,
    ) -> list[Reply]:
        assert len(prompts) == len(system)
        assert chat is None
        self.asked += len(prompts)
        texts = [self._write(prompt, seed) for prompt, seed in zip(prompts, seeds, strict=True)]
        return [
            Reply(None, "content_filter", "content_filter") if text is None else Reply(text)
            for text in texts
        ]


class Workplace:
    """A folder with one domain of this repository and the scripted model."""

    def __init__(self, folder: Path, domain: str, profile: str = "quick", **settings: Any) -> None:
        """Declare them; the settings are of all domains."""
        self.folder, self.domain, self.profile = folder, domain, profile
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copytree(ROOT / "data/sources/saged", folder / "data/sources/saged")
        declared = tiny_declaration({MODEL: Path("nowhere")})
        declared["instruments"] = {domain: {"family": "saged"}}
        declared["families"]["saged"] |= settings
        YAML().dump(declared, folder / "params.yaml")

    def copied(self, folder: Path) -> "Workplace":
        """The same elsewhere, with all that was made."""
        shutil.copytree(self.folder, folder)
        other = copy.copy(self)
        other.folder = folder
        return other

    def edit(self, file: str, change: Callable[[dict[str, Any]], object]) -> None:
        edit_yaml(self.folder / file, change)

    def declare(self) -> None:
        """Bring `active` in step, as `evenruler check` does."""
        with self._inside():
            set_profile(Path(), self.profile)

    def scrape(self) -> None:
        with self._inside():
            scrape.main(self.domain)

    def build(self) -> None:
        with self._inside():
            rows_stage.main(self.domain)

    def ask(self, write: Write) -> None:
        """Ask the scripted model for replies, and the tools, which are real, about them."""
        real = evenruler.models.catalogue.load_model
        with self._inside(), pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                evenruler.models.catalogue,
                "load_model",
                lambda name, params, **how: (
                    Scripted(write) if name == MODEL else real(name, params, **how)
                ),
            )
            ask.main("saged", MODEL)

    def diagnose(self) -> None:
        with self._inside():
            diagnose.main("saged")
            agree.main()

    def card(self) -> None:
        with self._inside():
            card.main(self.domain)

    def refused(self, stage: Callable[[], None]) -> str:
        """The line that a stage ends with; what it writes is not there."""
        with pytest.raises(UserError) as caught:
            stage()
        return str(caught.value)

    def prompts(self) -> pd.DataFrame:
        return read_frame(self.folder / f"data/built/saged/{self.domain}/prompts.parquet")

    def features(self) -> pd.DataFrame:
        """The numbers that the diagnosis makes of the answers."""
        folder = Path("data/answers/saged") / MODEL
        with self._inside():
            answers = {table: read_frame(folder / f"{table}.parquet") for table in ANSWERS}
            tables = read_tables("saged", self.domain)
            plan = plan_at_size(plan_of("saged", self.domain))
            return scores(tables, plan, answers, read_model_meta(folder))["features"]

    def diagnosis(self, table: str) -> pd.DataFrame:
        return read_frame(self.folder / f"data/diagnosis/saged/tables/{table}.parquet")

    def metrics(self) -> dict[str, Any]:
        return evidence_in(self.folder, "saged")

    @contextlib.contextmanager
    def _inside(self) -> Any:
        self.said = io.StringIO()
        with (
            contextlib.chdir(self.folder),
            contextlib.redirect_stdout(self.said),
            contextlib.redirect_stderr(self.said),
        ):
            yield
