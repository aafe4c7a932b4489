from collections.abc import Callable
from pathlib import Path

import pytest

from evenruler.errors import UserError


@pytest.fixture
def error_of() -> Callable[..., str]:
    """Runs what must be refused and returns the printed line, which is one, has a remedy and hides no traceback."""

    def run(call: Callable[..., object], *args: object, **kwargs: object) -> str:
        with pytest.raises(UserError) as caught:
            call(*args, **kwargs)
        line = str(caught.value)
        assert "\n" not in line
        assert "\r" not in line
        assert caught.value.where
        assert caught.value.remedy
        assert line.endswith("; " + " ".join(caught.value.remedy.split()))
        return line

    return run


@pytest.fixture
def file_with(tmp_path) -> Callable[..., Path]:
    """Writes a text, each (old, new) replaced once, to a file of that name."""

    def write(name: str, text: str, *changes: tuple[str, str]) -> Path:
        for old, new in changes:
            assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in the text of the test"
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text, encoding="utf-8", newline="")
        return path

    return write
