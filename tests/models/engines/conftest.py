from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from evenruler.errors import UserError


@pytest.fixture
def user_error() -> Callable[..., AbstractContextManager[None]]:
    """Expects a line that says all of some words."""

    @contextmanager
    def expected(*words: str) -> Iterator[None]:
        with pytest.raises(UserError) as raised:
            yield
        message = str(raised.value)
        assert [word for word in words if word not in message] == [], message

    return expected
