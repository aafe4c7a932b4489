import pytest

from evenruler.models import engines


@pytest.mark.parametrize(
    ("engine", "parsed"),
    [
        ("local", ("local", None)),
        ("ray", ("ray", None)),
        ("ray=10.0.0.1:6379", ("ray", "10.0.0.1:6379")),
        ("vllm", ("vllm", None)),
        ("vllm=2", ("vllm", "2")),
    ],
)
def test_what_is_said_is_read(engine: str, parsed: tuple[str, str | None]) -> None:
    assert engines.parse(engine, "here") == parsed


@pytest.mark.parametrize(
    "engine", ["rays", "ray=", "local=1", "vllm=", "vllm=0", "vllm=two", "vllm=²"]
)
def test_another_engine_is_refused(engine: str, user_error) -> None:
    with user_error("no engine", "say local, ray, ray=ADDRESS, vllm or vllm=N"):
        engines.parse(engine, "here")


def test_an_engine_is_chosen_for_this_process_and_those_that_it_starts(monkeypatch) -> None:
    monkeypatch.delenv(engines.ENGINE, raising=False)
    assert engines.current_engine() == ("local", None)

    monkeypatch.setenv(engines.ENGINE, "ray=h:1")
    engines.set_engine(None)
    assert engines.current_engine() == ("ray", "h:1")

    engines.set_engine("local")
    assert engines.current_engine() == ("local", None)


@pytest.mark.parametrize(
    ("engine", "expected"),
    [
        ("local", False),
        ("ray", True),
        ("vllm", False),
        ("vllm=1", False),
        ("vllm=2", True),
    ],
)
def test_stages_run_one_after_the_other_where_one_takes_every_gpu(
    engine: str, expected: bool, monkeypatch
) -> None:
    monkeypatch.setenv(engines.ENGINE, engine)
    assert engines.takes_every_gpu() is expected
