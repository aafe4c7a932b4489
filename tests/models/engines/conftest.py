from contextlib import contextmanager

import pytest

from evenruler.errors import UserError


@pytest.fixture
def user_error():
    """Expects a line that says all of some words."""

    @contextmanager
    def expected(*words):
        with pytest.raises(UserError) as raised:
            yield
        message = str(raised.value)
        assert [word for word in words if word not in message] == [], message

    return expected
