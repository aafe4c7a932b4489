"""Replies of operators as a file in git: a run replays them, and `evenruler evolve` alone asks for others."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from evenruler.errors import UserError
from evenruler.files import require_regular
from evenruler.instruments.probes.evolve.operators import VOICES, Asking
from evenruler.instruments.probes.evolve.population import Wish
from evenruler.instruments.probes.evolve.records import Run
from evenruler.tables.ids import content_sha256

DIGITS: Final = 16
"""Of a key: hexadecimal ones."""


def key_of(operator: str, prompt: str, seed: int, new_tokens: int) -> str:
    """What tells a question to an operator from others.

    Args:
        operator: Its name.
        prompt: Whole.
        seed: Of what is drawn.
        new_tokens: At most so many in the reply.
    """
    return content_sha256(operator, prompt, seed, new_tokens)[:DIGITS]


class ReplayedOperator:
    """An operator that says what was kept, and is never asked."""

    voices: Sequence[str] = tuple(VOICES)

    def __init__(self, name: str, asking: Asking, path: Path) -> None:
        """Read what was kept.

        Args:
            name: Of the operator.
            asking: How it was asked.
            path: The file of replies; its name is that of the instrument.

        Raises:
            UserError: The file is missing or broken.
        """
        self.name, self._asking, self._path = name, asking, path
        self._replies = _read(path)

    def reword(self, wishes: Sequence[Wish], seeds: Sequence[int]) -> list[tuple[str, str]]:
        """The prompt of each wish, and the reply that was kept.

        Raises:
            UserError: There is none.
        """
        prompts = [self._asking.prompt(wish, seed) for wish, seed in zip(wishes, seeds, strict=True)]
        tokens = [self._asking.new_tokens_of(wish.word is not None) for wish in wishes]
        keys = [key_of(self.name, *asked) for asked in zip(prompts, seeds, tokens, strict=True)]
        for wish, key in zip(wishes, keys, strict=True):
            if key not in self._replies:
                what = f"no reply of {self.name} to what is asked about {wish.parent.slug!r}"
                raise UserError(what, where=str(self._path), remedy=_remedy(self._path))
        return [(prompt, self._replies[key]) for prompt, key in zip(prompts, keys, strict=True)]


def as_lines(runs: Iterable[Run], asking: Asking) -> str:
    """The replies of some runs as a file, one line of JSON each, in the order of the run; equal questions once.

    Args:
        runs: Whole ones of one operator.
        asking: How it was asked.
    """
    found: dict[str, dict[str, Any]] = {}
    for run in runs:
        for one in (one for generation in run.generations for one in generation.tries):
            seed = run.evolution.seed_of(one.generation, one.place, one.attempt, one.sample)
            key = key_of(run.evolution.operator, one.prompt, seed, asking.new_tokens_of(one.word is not None))
            wish = {"parent": one.parent, "operation": one.operation, "voice": one.voice, "word": one.word}
            found.setdefault(key, {"key": key, **wish, "seed": seed, "reply": one.reply})
    # Whatever some reader takes for the end of a line is escaped.
    return "".join(f"{json.dumps(row)}\n" for row in found.values())


def _read(path: Path) -> Mapping[str, str]:
    """Replies by key."""
    require_regular(path)
    if not path.exists():
        raise UserError("no replies of an operator", where=str(path), remedy=_remedy(path))
    try:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return {str(row["key"]): str(row["reply"]) for row in rows}
    except (ValueError, KeyError, TypeError) as broken:
        raise UserError("no file of replies", where=str(path), remedy=_remedy(path)) from broken


def _remedy(path: Path) -> str:
    return f"run `evenruler evolve {path.stem}`"
