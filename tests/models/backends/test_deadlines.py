"""A request ends by its deadline however a server drips, and at once when a run is abandoned."""

import signal
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import wait
from functools import partial
from typing import Any

import pytest
from huggingface_hub import HfApi, close_session

from evenruler.errors import UserError
from evenruler.hub import hub_errors_as_user_errors
from evenruler.models.backends import server as servers
from evenruler.models.backends.server import KEY, URL, Server
from tests.loopback_openai import talking

pytestmark = pytest.mark.enable_socket

QUESTION = {"messages": [{"role": "user", "content": "hello"}]}
SECONDS = 1
"""The longest that an answer may take."""


def drip_headers(line: socket.socket) -> None:
    """Send one header after another, and never an end of them."""
    line.sendall(b"HTTP/1.1 200 OK\r\n")
    _repeat(line, b"X-Waiting: yes\r\n")


def keep_processing(line: socket.socket) -> None:
    """Say that the answer is being made, again and again."""
    _repeat(line, b"HTTP/1.1 102 Processing\r\n\r\n")


def drip_body(line: socket.socket) -> None:
    """Send blanks, which JSON may begin with."""
    line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    _repeat(line, b" ")


def say_nothing(line: socket.socket) -> None:
    """Keep the line open."""
    threading.Event().wait(10 * SECONDS)


def _repeat(line: socket.socket, part: bytes) -> None:
    """Send a part every twentieth of a second, for much longer than an answer may take."""
    for _ in range(20 * 10 * SECONDS):
        line.sendall(part)
        threading.Event().wait(0.05)


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Sets the server that is asked."""
    monkeypatch.setenv(KEY, "secret-word")
    monkeypatch.setattr(servers, "ATTEMPTS", 1)
    return lambda url: monkeypatch.setenv(URL, url)


@pytest.mark.parametrize("handle", [drip_headers, keep_processing, drip_body, say_nothing])
def test_a_whole_request_has_a_deadline(
    handle: Callable[[socket.socket], None], address: Callable[[str], None], error_of: Any
) -> None:
    with talking(handle) as url:
        address(url)
        line = error_of(Server("big", "big-one", SECONDS).ask, "/chat/completions", QUESTION)
    assert line.startswith("big: the server does not answer (Request timed out.)")


SOCKS = "a SOCKS proxy needs the package socksio; pip install socksio, or unset it"
NO_PROXY = "no address of a proxy; write it as in http://127.0.0.1:3128, or unset it"
PEM = "name a file of certificates (PEM), or unset it"
GONE = "no such file or folder (/gone/ca.pem); put the certificates there, or unset it"
PROXIES = [
    ("ALL_PROXY", "socks5://127.0.0.1:9", SOCKS),
    ("https_proxy", "socks5h://127.0.0.1:9", SOCKS),
    ("ALL_PROXY", "socks4://user:secret@127.0.0.1:9", NO_PROXY),
    ("HTTPS_PROXY", "http://127.0.0.1:port", NO_PROXY),
    ("HTTP_PROXY", "http://[::1", NO_PROXY),
]
FILES = [
    ("SSL_CERT_FILE", "/gone/ca.pem", GONE),
    ("SSL_CERT_FILE", "/usr", f"no certificates can be read there (/usr); {PEM}"),
    ("SSL_CERT_FILE", "/dev/null", f"no certificates can be read there (/dev/null); {PEM}"),
    ("SSLKEYLOGFILE", "/gone/keys", "no file can be written there (/gone/keys); unset it"),
]
"""What an environment variable may say that keeps clients from starting, and the line for it."""


@pytest.mark.parametrize(("variable", "setting", "line"), [*PROXIES, *FILES])
def test_a_setup_that_keeps_the_client_from_starting_is_one_line(
    variable: str,
    setting: str,
    line: str,
    address: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
    error_of: Any,
) -> None:
    monkeypatch.setenv(variable, setting)
    close_session()  # the Hub's client keeps the setup that it began with
    address("http://127.0.0.1:9/v1")
    line = f"environment: {variable}: {line}"
    assert error_of(Server, "big", "big-one", SECONDS) == line
    with pytest.raises(UserError) as raised, hub_errors_as_user_errors("team/data"):
        HfApi(endpoint="http://127.0.0.1:9").model_info("team/data")
    assert str(raised.value) == line
    close_session()


def take_in_drips(line: socket.socket) -> None:
    """Take the question a byte at a time."""
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    for _ in range(20 * 10 * SECONDS):
        if not line.recv(1):
            return
        threading.Event().wait(0.05)


def test_a_question_that_is_taken_in_drips_ends_by_the_deadline(
    address: Callable[[str], None], error_of: Any
) -> None:
    question = {"messages": [{"role": "user", "content": "hello" * 2_000_000}]}
    with talking(take_in_drips) as url:
        address(url)
        line = error_of(Server("big", "big-one", SECONDS).ask, "/chat/completions", question)
    assert line.startswith("big: the server does not answer (Request timed out.)")


def test_a_connection_is_not_waited_for_as_long_as_an_answer(
    address: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, error_of: Any
) -> None:
    """Encryption is begun, and nobody takes it up: nothing breaks that off."""
    monkeypatch.setattr(servers, "CONNECTING", SECONDS)
    began = time.monotonic()
    with talking(say_nothing) as url:
        address(url.replace("http://", "https://"))
        line = error_of(Server("big", "big-one", 3600).ask, "/chat/completions", QUESTION)
    assert line.startswith("big: the server does not answer (Request timed out.)")
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("n_times", [1, 2])
def test_who_breaks_off_does_not_wait_for_a_server_that_goes_on(
    n_times: int, address: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would go on for an hour with each of the questions that are under way: Ctrl-C waits for a
    while, a second one for none."""
    under_way = threading.Semaphore(0)
    signals = iter([signal.SIGINT] * n_times)

    def hold(line: socket.socket) -> None:
        under_way.release()
        threading.Event().wait(3600)

    def break_off(running: Any, **how: Any) -> Any:
        for number in signals:
            for _ in range(len(running)):
                assert n_times == 2 or under_way.acquire(timeout=60)
            signal.raise_signal(number)
        return wait(running, **how)

    monkeypatch.setattr(servers, "wait", break_off)
    monkeypatch.setattr(servers, "GRACE", SECONDS if n_times == 1 else 3600)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.monotonic()
    try:
        with talking(hold) as url:
            address(url)
            server = Server("big", "big-one", 3600)
            server._answered = True
            ask = partial(server.ask, "/chat/completions", QUESTION)
            with pytest.raises(KeyboardInterrupt):
                list(server.at_once([ask] * 20))
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 120
