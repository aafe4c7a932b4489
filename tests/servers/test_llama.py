"""SmolLM2 behind llama.cpp's own server: replies are measured, and likelihoods, which it does not
give, refused.

`make test-vllm` runs this; no other target does.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from evenruler.evaluate.measure import measure
from evenruler.models.backends.server import KEY, URL

SERVED = "endpoint:SmolLM2-135M-Instruct.Q4_1.gguf"
"""It calls itself by the path of its file, unless it is told a name (--alias)."""

pytestmark = [pytest.mark.servers, pytest.mark.enable_socket, pytest.mark.timeout(3600)]


@pytest.fixture(autouse=True)
def elsewhere(llama: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(URL, llama)
    monkeypatch.setenv(KEY, "any")
    monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def test_a_framing_instrument_by_replies(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = measure(
        SERVED, "framing-age", name="any", kind="chat", limit=3, out=tmp_path / "results"
    )
    assert result.left_out == [
        "any (kind chat) is left out of forms: it gives no next-word probabilities"
    ]
    assert {row["model"] for row in result.figures} == {"any"}
    assert "tokens read" in capsys.readouterr().err
    again = measure(SERVED, "framing-age", name="any", kind="chat", limit=3, max_requests=0)
    assert again.figures == result.figures


def test_likelihoods_are_refused(error_of: Callable[..., str]) -> None:
    line = error_of(
        measure, SERVED, "probes-age-competence", name="any", kind="completions", limit=3
    )
    assert line.startswith("any: the server gives no log-probabilities of a prompt")


def test_another_name_is_refused_with_its_own(error_of: Callable[..., str]) -> None:
    line = error_of(measure, "endpoint:any", "framing-age", kind="chat", limit=3)
    assert line.endswith(f"or name the one that you mean: {SERVED}")
