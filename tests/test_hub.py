"""What the Hub's own client raises, in the words that a user reads."""

import socket

import httpx2
import pytest
from huggingface_hub import HfApi, errors
from huggingface_hub.utils import hf_raise_for_status, validate_repo_id

from evenruler.errors import UserError
from evenruler.hub import hub_errors_as_user_errors

URL = "https://huggingface.co/api/models/you/it"
LOG_IN = "log in with `hf auth login` or set HF_TOKEN"


@pytest.fixture
def line_of(error_of):
    """The line that a user reads when something is raised during the talk."""

    def run(call, **options) -> str:
        def talk() -> None:
            with hub_errors_as_user_errors("you/it", **options):
                call()

        return error_of(talk)

    return run


def answered(status: int, url: str = URL, **headers: str):
    """Raises what the client raises when the Hub answers so."""
    names = {name.replace("_", "-"): text for name, text in headers.items()}
    response = httpx2.Response(status, headers=names, request=httpx2.Request("GET", url))
    return lambda: hf_raise_for_status(response)


def raising(error: Exception):
    def call() -> None:
        raise error

    return call


ANSWERS = [
    pytest.param(
        answered(401, X_Error_Message="Invalid credentials in Authorization header"),
        "the Hub does not accept the token (401)",
        LOG_IN,
        id="401-token",
    ),
    pytest.param(
        answered(403, X_Error_Message="no\nno"),
        "no right to do this (403)",
        "use a token with the right to write there",
        id="403",
    ),
    pytest.param(answered(404), "the Hub has no such thing (404)", "check the name", id="404"),
    pytest.param(
        answered(412),
        "somebody else committed meanwhile (412); nothing of this run was published",
        "run it again",
        id="412",
    ),
    pytest.param(answered(429), "the Hub limits the rate (429)", "run it again later", id="429"),
    pytest.param(
        answered(429, Retry_After="17"),
        "the Hub limits the rate (429)",
        "run it again in 17 seconds",
        id="429-after",
    ),
    pytest.param(
        answered(500), "the Hub has a fault of its own (500)", "run it again later", id="500"
    ),
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
"""What is raised, what is wrong, what to do; the repository is not in what is wrong."""

ABOUT_THE_REPOSITORY = [
    pytest.param(
        answered(403, X_Error_Code="GatedRepo"),
        "is gated",
        f"accept its terms on its page, then {LOG_IN}",
        id="gated",
    ),
    pytest.param(
        answered(404, X_Error_Code="RevisionNotFound"),
        "has no revision v1.2.3",
        "fix the revision",
        id="revision",
    ),
    pytest.param(
        answered(404, X_Error_Code="RepoNotFound"),
        "is not on the Hub (or private)",
        f"check the name, or {LOG_IN}",
        id="repository",
    ),
    pytest.param(
        answered(401),
        "is not on the Hub, or the token is not accepted (401)",
        LOG_IN,
        id="repository-to-a-stranger",
    ),
    pytest.param(
        raising(
            errors.LocalEntryNotFoundError("Cannot find the requested files in the disk cache.")
        ),
        "is not downloaded and the Hub cannot be reached",
        "try again with a network",
        id="not-downloaded",
    ),
]
"""What is raised, what is wrong with the repository, what to do."""


@pytest.mark.parametrize(("call", "what", "remedy"), ANSWERS)
def test_what_the_hub_refuses_is_one_line(line_of, call, what, remedy) -> None:
    for where in ("", "params.yaml: models.it"):
        assert line_of(call, where=where) == f"{where or 'you/it'}: {what}; {remedy}"


@pytest.mark.parametrize(("call", "what", "remedy"), ABOUT_THE_REPOSITORY)
def test_a_repository_is_named_once(line_of, call, what, remedy) -> None:
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
    line = line_of(answered(400, X_Error_Message="license is not allowed"))
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
