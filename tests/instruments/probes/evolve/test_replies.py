"""Replies of an operator, kept and said again."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from evenruler.errors import UserError
from evenruler.instruments.probes.evolve.evolution import Evolution
from evenruler.instruments.probes.evolve.measuring import Ruler
from evenruler.instruments.probes.evolve.operators import Asking, ModelOperator
from evenruler.instruments.probes.evolve.population import Template, Wish, WordGradient
from evenruler.instruments.probes.evolve.records import Run, as_line
from evenruler.instruments.probes.evolve.replies import ReplayedOperator, as_lines, key_of
from evenruler.instruments.probes.schemas import GUIDED, RANDOM
from tests.instruments.probes.evolve.test_evolution import START, any_grammar, embed, model, settings
from tests.instruments.probes.evolve.toy import toy_source
from tests.instruments.probes.whole import Everything

__all__ = ["any_grammar"]

ASKING = Asking(48, few_shot=True)
WHOLE = Wish(1, Template("met", "I met a {TARGET} who is an {ATTRIBUTE}.", 1), "reword", "fit", None)
WORD = Wish(2, WHOLE.parent, "hotspot", None, WordGradient(2, "met", 1.0))


def run_with(operator: object, name: str = GUIDED) -> Run:
    made = Evolution(Ruler(model(), toy_source(), "agree", 2), operator, embed, settings(), name)  # type: ignore[arg-type]
    return Run(name, made, tuple(made.generations(START)))


def kept(folder: Path, *lines: str) -> Path:
    path = folder / "mine-evolved.jsonl"
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def replayed(folder: Path, wishes: Sequence[Wish], seed: int = 3) -> list[tuple[str, str]]:
    lines = [
        json.dumps({"key": key_of("toy", ASKING.prompt(wish, seed), seed, tokens), "reply": f"of {wish.place}"})
        for wish, tokens in ((WHOLE, 48), (WORD, 16))
    ]
    return ReplayedOperator("toy", ASKING, kept(folder, *lines)).reword(wishes, [3] * len(wishes))


def test_a_run_is_the_same_when_its_replies_are_said_again(tmp_path: Path) -> None:
    asked = run_with(ModelOperator(Everything("toy"), ASKING))
    path = tmp_path / "mine.jsonl"
    path.write_text(as_lines([asked], ASKING))
    again = run_with(ReplayedOperator("toy", ASKING, path))
    assert list(map(as_line, again.generations)) == list(map(as_line, asked.generations))
    assert as_lines([again], ASKING) == path.read_text()


def test_a_reply_is_a_line_of_what_was_wished_for() -> None:
    run = run_with(ModelOperator(Everything("toy"), ASKING))
    rows = [json.loads(line) for line in as_lines([run], ASKING).splitlines()]
    tries = [one for generation in run.generations for one in generation.tries]
    assert list(rows[0]) == ["key", "parent", "operation", "voice", "word", "seed", "reply"]
    assert [(row["parent"], row["voice"], row["word"], row["reply"]) for row in rows] == [
        (one.parent, one.voice, one.word, one.reply) for one in tries
    ]
    assert len({row["key"] for row in rows}) == len(rows)


def test_what_two_runs_ask_alike_is_kept_once() -> None:
    runs = [run_with(ModelOperator(Everything("toy"), ASKING), name) for name in (GUIDED, RANDOM)]
    alone = set(as_lines(runs[:1], ASKING).splitlines())
    both = as_lines(runs, ASKING).splitlines()
    assert len(both) == len({json.loads(line)["key"] for line in both})
    assert alone < set(both)
    assert as_lines([runs[0], runs[0]], ASKING) == as_lines(runs[:1], ASKING)


def test_each_wish_gets_the_reply_that_was_kept_for_it(tmp_path: Path) -> None:
    found = replayed(tmp_path, [WORD, WHOLE])
    assert found == [(ASKING.prompt(WORD, 3), "of 2"), (ASKING.prompt(WHOLE, 3), "of 1")]


def test_a_reply_that_was_not_kept_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(UserError) as error:
        replayed(tmp_path, [WHOLE], seed=4)
    assert str(error.value) == (
        f"{tmp_path / 'mine-evolved.jsonl'}: no reply of toy to what is asked about 'met'; "
        "run `evenruler evolve mine-evolved`"
    )


@pytest.mark.parametrize("line", ["{", "3", '{"key": "a"}', "[]"])
def test_a_broken_file_is_one_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(UserError, match="no file of replies; run `evenruler evolve mine-evolved`"):
        ReplayedOperator("toy", ASKING, kept(tmp_path, line))


def test_a_file_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no replies of an operator; run `evenruler evolve mine-evolved`"):
        ReplayedOperator("toy", ASKING, tmp_path / "mine-evolved.jsonl")


def test_keys_differ_by_all_that_is_asked() -> None:
    keys = {key_of(*asked) for asked in (("a", "p", 1, 48), ("b", "p", 1, 48), ("a", "q", 1, 48), ("a", "p", 2, 48),
                                         ("a", "p", 1, 16))}  # fmt: skip
    assert len(keys) == 5
    assert all(len(key) == 16 for key in keys)
