"""What the Hub's own client raises, in the words that a user reads."""

import socket

import httpx2
import pytest
from huggingface_hub import HfApi, errors
from huggingface_hub.utils import hf_raise_for_status, validate_repo_id

from evenruler.errors import UserError
from evenruler.hub import hub_errors_as_user_errors
from tests.text_tables import read_cells

URL = "https://huggingface.co/api/models/you/it"


@pytest.fixture
def line_of(error_of):
    """The line that a user reads when something is raised during the talk."""

    def run(call, **options) -> str:
        def talk() -> None:
            with hub_errors_as_user_errors("you/it", **options):
                call()

        return error_of(talk)

    return run


def answered(status: int, headers: dict[str, str] | None = None):
    """Raises what the client raises when the Hub answers so."""
    response = httpx2.Response(status, headers=headers, request=httpx2.Request("GET", URL))
    return lambda: hf_raise_for_status(response)


def raising(error: Exception):
    def call() -> None:
        raise error

    return call


ANSWERS = read_cells("""
401 | X-Error-Message | Invalid credentials in Authorization header \
| the Hub does not accept the token (401) | log in with `hf auth login` or set HF_TOKEN
403 | X-Error-Message | no | no right to do this (403) | use a token with the right to write there
404 | | | the Hub has no such thing (404) | check the name
412 | | | somebody else committed meanwhile (412); nothing of this run was published | run it again
429 | | | the Hub limits the rate (429) | run it again later
429 | Retry-After | 17 | the Hub limits the rate (429) | run it again in 17 seconds
500 | | | the Hub has a fault of its own (500) | run it again later
""")
"""Status, a header with its content, what is wrong, what to do; the repository is not in what is
wrong."""

RAISED = [
    pytest.param(
        raising(httpx2.ReadTimeout("The read operation timed out")),
        "the Hub does not answer (The read operation timed out)",
        "run it again",
        id="timeout",
    ),
    pytest.param(
        raising(httpx2.RemoteProtocolError("")),
        "the Hub does not answer (RemoteProtocolError)",
        "run it again",
        id="no-words",
    ),
    pytest.param(
        raising(
            errors.OfflineModeIsEnabled(
                "Cannot reach https://huggingface.co/: offline mode is enabled."
            )
        ),
        "HF_HUB_OFFLINE forbids asking the Hub",
        "unset it",
        id="offline",
    ),
    pytest.param(
        lambda: validate_repo_id("a/b/c"),
        "the Hub takes no such name (Repo id must be in the form 'repo_name' or "
        "'namespace/repo_name': 'a/b/c'. "
        "Use `repo_type` argument if needed)",
        "name it USER/REPO",
        id="validation",
    ),
]

ABOUT_THE_REPOSITORY = read_cells("""
403 | GatedRepo | is gated | accept its terms on its page, then log in with `hf auth login` or set \
HF_TOKEN
404 | RevisionNotFound | has no revision v1.2.3 | fix the revision
404 | RepoNotFound | is not on the Hub (or private) | check the name, or log in with \
`hf auth login` or set HF_TOKEN
401 | | is not on the Hub, or the token is not accepted (401) | log in with `hf auth login` or set \
HF_TOKEN
""")
"""Status, code of the Hub, what is wrong with the repository, what to do."""


@pytest.mark.parametrize(("status", "header", "content", "what", "remedy"), ANSWERS)
def test_what_the_hub_answers_is_one_line(line_of, status, header, content, what, remedy) -> None:
    call = answered(int(status), {header: content} if header else {})
    for where in ("", "params.yaml: models.it"):
        assert line_of(call, where=where) == f"{where or 'you/it'}: {what}; {remedy}"


@pytest.mark.parametrize(("call", "what", "remedy"), RAISED)
def test_what_the_client_raises_is_one_line(line_of, call, what, remedy) -> None:
    assert line_of(call) == f"you/it: {what}; {remedy}"


@pytest.mark.parametrize(("status", "code", "what", "remedy"), ABOUT_THE_REPOSITORY)
def test_a_repository_is_named_once(line_of, status, code, what, remedy) -> None:
    call = answered(int(status), {"X-Error-Code": code} if code else {})
    assert line_of(call, revision="v1.2.3") == f"you/it: {what}; {remedy}"
    assert line_of(call, revision="v1.2.3", where="params.yaml: models.it") == (
        f"params.yaml: models.it: you/it {what}; {remedy}"
    )


def test_another_status_is_said_in_the_clients_words(line_of) -> None:
    line = line_of(answered(418))
    assert line.startswith(
        "you/it: the Hub refused (Client error '418 I'm a teapot' for url 'https://huggingface.co/"
    )
    assert line.endswith("); fix it")


def test_what_the_hub_says_of_a_bad_request_is_said(line_of) -> None:
    line = line_of(answered(400, {"X-Error-Message": "license is\nnot allowed"}))
    assert line == "you/it: the Hub refused (license is not allowed); fix it"


@pytest.fixture
def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def test_a_hub_that_is_not_there_through_its_client(line_of, closed_port, monkeypatch) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    api = HfApi(endpoint=f"http://127.0.0.1:{closed_port}", token=False)
    assert line_of(lambda: api.dataset_info("you/it", timeout=5)) == (
        "you/it: the Hub does not answer ([Errno 111] Connection refused); run it again"
    )


@pytest.mark.parametrize("error", [KeyError("x"), UserError("no", where="here", remedy="fix")])
def test_what_is_not_of_the_hub_goes_through(error) -> None:
    with pytest.raises(type(error)) as caught, hub_errors_as_user_errors("you/it"):
        raise error
    assert caught.value is error
