"""What `evenruler ask` plans, and what it leaves out."""

from dataclasses import replace
from pathlib import Path

import pytest

from evenruler.models.engines import Machine, Rate
from evenruler.models.records import Amount
from evenruler.project.ask import Asking, Lack, Plan, in_bytes, lines, write_left_out
from evenruler.project.processes import Job
from evenruler.strict import read_yaml

SMALL, LARGE = Job("small", ("probes",)), Job("large", ("saged",))
READS, WRITES = Amount(1000, 20_000, 0), Amount(50, 400, 5000)
PLAN = Plan(
    machine=Machine("cpu", gpus=0, nodes=0),
    askings=[
        Asking(SMALL, [Lack("small", "likelihood/1", READS)]),
        Asking(LARGE, [Lack("large", "generation/2", WRITES), Lack("tool", "embedding/1", READS)]),
        Asking(Job("done", ("probes",)), []),
    ],
    absent={"large": "params.yaml: models.large: a/large is not downloaded"},
    parameters={"small": 10**8, "tool": 10**7, "large": 3 * 10**9},
    fetched={"large": 6 * 10**9},
)


def test_time_is_the_sum_over_the_model_and_its_tools() -> None:
    """2e10 parameters times tokens a second, a tenth of it for writing."""
    small, large, done = PLAN.askings
    assert PLAN.seconds(small) == pytest.approx(1e8 * 20_000 / 2e10)
    assert PLAN.seconds(large) == pytest.approx(3e9 * 5000 / 2e9 + 1e7 * 20_000 / 2e10)
    assert PLAN.seconds(done) == 0
    measured = Rate("saged", "large", "generation/2", "cpu", None, tokens=100, questions=1, seconds=1.0)
    assert replace(PLAN, known=[measured]).seconds(large) == pytest.approx(50 + 10)
    assert replace(PLAN, parameters={**PLAN.parameters, "large": None}).seconds(large) is None


def test_a_process_is_for_what_lacks_or_is_not_here() -> None:
    assert [one.job for one in PLAN.to_ask] == [SMALL, LARGE]
    only_tools = Asking(SMALL, [Lack("tool", "embedding/1", READS)])
    cannot_tell = Asking(SMALL, [], wrong="not built yet")
    assert replace(PLAN, askings=[Asking(LARGE, [])]).to_ask == [Asking(LARGE, [])]  # its files are not here
    found = replace(PLAN, askings=[only_tools, cannot_tell])
    assert (found.to_ask, found.of_models) == ([only_tools, cannot_tell], [cannot_tell])


def test_the_plan_in_words() -> None:
    assert list(lines(PLAN, "paper", 2, free=10**9)) == [
        "plan at the scale paper: 2 of 3 to ask, 2 at once on the CPU",
        "                questions  tokens read  written   time  to fetch",
        "  probes-small      1,000       20,000        0  2 min",
        "  saged-large       1,050       20,400    5,000  2.1 h    6.0 GB",
        "  all               2,050       40,400    5,000  2.1 h    6.0 GB",
        "missing: large: params.yaml: models.large: a/large is not downloaded",
        "not included: questions that depend on answers, e.g. about replies",
        "estimated time on one device, without earlier runs on cpu, from an assumed 2e+10 parameters x tokens per "
        "second, 10% of that for writing",
        "to fetch: 6.0 GB; 1.0 GB are free: not enough",
    ]


def test_what_nobody_knows_is_a_question_mark() -> None:
    on = Machine("cuda-9.0", gpus=2, nodes=0)
    plan = replace(PLAN, machine=on, parameters={"small": 10**8}, fetched={"large": None})
    told = list(lines(plan, "paper", 2, free=10**9))
    assert told[0] == "plan at the scale paper: 2 of 3 to ask, 2 at once on 2 GPUs (cuda-9.0)"
    assert [line.split()[-2:] for line in told[2:5]] == [["0.2", "s"], ["?", "?"], ["0.0", "MB"]]
    assert told[4].split()[-5:-2] == ["s", "+", "?"]
    assert told[-1] == "to fetch: 0.0 MB, and large, of unknown size; 1.0 GB are free"


def test_a_cluster_is_named() -> None:
    on = [Machine("cpu", 0, 2), Machine("cuda-9.0", 8, 1)]
    assert [machine.together for machine in on] == [2, 8]
    assert [next(lines(replace(PLAN, machine=machine), "paper", 1, free=0)) for machine in on] == [
        "plan at the scale paper: 2 of 3 to ask, 1 at once on a cluster of 2 nodes, the CPU",
        "plan at the scale paper: 2 of 3 to ask, 1 at once on a cluster of 1 node, 8 GPUs (cuda-9.0)",
    ]


def test_nothing_to_ask_is_one_line() -> None:
    plan = replace(PLAN, askings=[Asking(SMALL, [])], absent={}, fetched={})
    assert list(lines(plan, "quick", 1, free=0)) == ["plan at the scale quick: 0 of 1 to ask, 1 at once on the CPU"]


def test_amounts_in_words() -> None:
    assert [in_bytes(n) for n in (1_500_000, 99_999_999, 100_000_000)] == ["1.5 MB", "100.0 MB", "0.1 GB"]


BEFORE = "# mine\nmodels: {a: 1} # here\n\ndiagnosis:\n  seed: 1\n"


def test_the_rest_stays_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(BEFORE)
    write_left_out(tmp_path, {})
    assert path.read_text() == BEFORE
    reasons = {"ask@probes-a": 'no "such"\nfile: ä # b', "rows@age": "torn"}
    write_left_out(tmp_path, reasons)
    assert path.read_text().startswith(BEFORE + "left_out: #")
    assert read_yaml(path)["left_out"] == {"ask@probes-a": 'no "such" file: ä # b', "rows@age": "torn"}
    write_left_out(tmp_path, {"rows@age": "torn"})
    assert read_yaml(path)["left_out"] == {"rows@age": "torn"}
    write_left_out(tmp_path, {})
    assert path.read_text() == BEFORE
