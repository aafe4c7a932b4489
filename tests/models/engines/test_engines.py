from dataclasses import replace
from pathlib import Path

import pytest

from evenruler.models import engines
from evenruler.models.engines import Rate, keep_rates, kept_rates, seconds


@pytest.mark.parametrize(
    ("said", "meant"),
    [("local", ("local", None)), ("ray", ("ray", None)), ("ray=10.0.0.1:6379", ("ray", "10.0.0.1:6379"))],
)
def test_what_is_said_is_read(said: str, meant: tuple[str, str | None]) -> None:
    assert engines.parse(said, "here") == meant


@pytest.mark.parametrize("said", ["", "rays", "ray=", "local=1", "RAY"])
def test_another_engine_is_refused(said: str, user_error) -> None:
    with user_error("no engine", "say local, ray or ray=ADDRESS"):
        engines.parse(said, "here")


def test_an_engine_is_chosen_for_this_process_and_those_that_it_starts(monkeypatch) -> None:
    monkeypatch.delenv(engines.ENGINE, raising=False)
    assert engines.chosen() == ("local", None)

    monkeypatch.setenv(engines.ENGINE, "ray=h:1")
    engines.choose(None)
    assert engines.chosen() == ("ray", "h:1")

    engines.choose("local")
    assert engines.chosen() == ("local", None)


OWN = Rate("probes", "small", "likelihood/1", "cpu", parameters=100, tokens=1000, questions=10, seconds=5.0)
ASKED = {"family": "probes", "model": "small", "operation": "likelihood/1", "device": "cpu"}


def test_what_was_kept_is_read_and_a_line_that_was_cut_is_not(tmp_path: Path) -> None:
    other = replace(OWN, model="large", parameters=None)
    keep_rates([OWN], tmp_path)
    keep_rates([other], tmp_path)
    path = tmp_path / engines.RATES
    path.write_text(path.read_text() + '{"family": "probes", "mod')
    assert kept_rates(tmp_path) == [OWN, other]
    assert kept_rates(tmp_path / "nowhere") == []


def test_its_own_rate_goes_first() -> None:
    """3,000 tokens in 7 seconds; what it took in another family, or another model took, says nothing then."""
    known = [OWN, replace(OWN, tokens=2000, seconds=2.0), replace(OWN, family="saged", seconds=500.0)]
    known.append(replace(OWN, model="large", seconds=500.0))
    assert seconds(known, **ASKED, parameters=None, tokens=600) == pytest.approx(600 * 7 / 3000)


def test_rates_of_other_models_go_by_parameters() -> None:
    """100,000 of parameters times tokens in 5 s, 900,000 in 15 s: 50,000 a second."""
    known = [OWN, replace(OWN, model="large", parameters=300, tokens=3000, seconds=15.0)]
    known += [replace(OWN, device="cuda-9.0", seconds=900.0), replace(OWN, operation="words/2", seconds=900.0)]
    found = seconds(known, **{**ASKED, "model": "third"}, parameters=2000, tokens=50)
    assert found == pytest.approx(2000 * 50 / 50_000)


@pytest.mark.parametrize(
    ("device", "operation", "expected"),
    [("cpu", "likelihood/1", 50.0), ("cpu", "generation/2", 500.0), ("cuda-8.0", "likelihood/1", 0.1)],
)
def test_without_a_rate_an_assumption_is_taken(device: str, operation: str, expected: float) -> None:
    asked = {**ASKED, "device": device, "operation": operation}
    assert seconds([], **asked, parameters=10**9, tokens=1000) == pytest.approx(expected)
    assert seconds([], **asked, parameters=None, tokens=1000) is None
