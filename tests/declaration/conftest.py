from collections.abc import Callable
from pathlib import Path

import pytest


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
