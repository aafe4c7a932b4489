from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pytest

from evenruler.models.backends.server import KEY, URL
from tests.loopback_openai import running

Serve = Callable[..., Any]
"""What the fixture `serve` is: the server that it is given comes back."""


@pytest.fixture
def serve(monkeypatch):
    """Makes a server listen where the environment says."""
    with ExitStack() as stack:

        def start(server):
            stack.enter_context(running(server))
            monkeypatch.setenv(URL, server.url)
            monkeypatch.setenv(KEY, "secret-word")
            return server

        yield start
