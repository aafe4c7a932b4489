"""Turns errors of the Hugging Face Hub client into one line with a remedy."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from evenruler.errors import OF_THE_DISK, UserError

if TYPE_CHECKING:
    from huggingface_hub.errors import HfHubHTTPError

MOST_SAID = 300
"""Most characters quoted from a response of the Hub."""

LOG_IN = "log in with `hf auth login` or set HF_TOKEN"


@contextmanager
def hub_errors_as_user_errors(
    repo: str, *, revision: str | None = None, where: str = ""
) -> Iterator[None]:
    """Turn errors of the Hub client about a repository into a UserError; `where`: place of the
    error, if not `repo`.
    """
    import httpx2
    from huggingface_hub import errors, get_token

    subject = f"{repo} " if where else ""
    what = ""
    try:
        try:
            yield
        except Exception as error:  # of any kind, since Xet's client is written in Rust
            is_known_error = isinstance(
                error, (errors.OfflineModeIsEnabled, httpx2.HTTPError, UserError)
            )
            is_known_error |= isinstance(error, OSError) and error.errno in OF_THE_DISK
            if isinstance(error, errors.HfHubHTTPError):
                is_known_error = error.response.status_code < 500
            frames = (frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__))
            if is_known_error or not any("xet" in name for name in frames):
                raise
            what = f"Xet, the Hub's store of large files, fails ({_first_line(error)})"
            remedy = "run it again, or set HF_HUB_DISABLE_XET=1 to go without Xet"
    except errors.HFValidationError as error:
        what, remedy = f"the Hub takes no such name ({str(error).rstrip('.')})", "name it USER/REPO"
    except errors.GatedRepoError:
        what, remedy = f"{subject}is gated", f"accept its terms on its page, then {LOG_IN}"
    except errors.RevisionNotFoundError:
        what, remedy = f"{subject}has no revision {revision}", "fix the revision"
    except errors.RepositoryNotFoundError as error:
        if error.response.status_code == 401:  # also for missing repositories, without a login
            what, remedy = f"{subject}is not on the Hub, or the token is not accepted (401)", LOG_IN
        else:
            what, remedy = (
                f"{subject}is not on the Hub (or private)",
                f"check the name, or {LOG_IN}",
            )
    except errors.LocalEntryNotFoundError:
        what, remedy = (
            f"{subject}is not downloaded and the Hub cannot be reached",
            "try again with a network",
        )
    except errors.OfflineModeIsEnabled:
        what, remedy = "HF_HUB_OFFLINE forbids asking the Hub", "unset it"
    except errors.HfHubHTTPError as error:
        what, remedy = _hub_problem(error)
    except (httpx2.HTTPError, httpx2.InvalidURL) as error:
        what, remedy = f"the Hub does not answer ({_first_line(error)})", "run it again"
    except (
        ValueError,
        TypeError,
        LookupError,
        AttributeError,
        AssertionError,
        RuntimeError,
    ) as error:
        modules = (
            frame.f_globals.get("__name__", "")
            for frame, _ in traceback.walk_tb(error.__traceback__)
        )
        if not any(
            name.partition(".")[0] == "huggingface_hub" for name in modules
        ):  # it trusts responses
            raise
        cause = error.__cause__  # an error in an upload thread
        error_line = f"{type(error).__name__}: {_first_line(error)}"
        what, remedy = (
            f"the answer is not the Hub's ({error_line})",
            "see whether a network stands between, or HF_ENDPOINT",
        )
        if isinstance(cause, errors.HfHubHTTPError):
            what, remedy = _hub_problem(cause)
        elif isinstance(cause, httpx2.HTTPError):
            what, remedy = f"the Hub does not answer ({_first_line(cause)})", "run it again"
    if what:
        if token := get_token():  # a server may echo it
            what = what.replace(token, "HF_TOKEN")
        raise UserError(what, where=where or repo, remedy=remedy)


def _hub_problem(error: "HfHubHTTPError") -> tuple[str, str]:
    """The problem and its remedy, by HTTP status."""
    status = error.response.status_code
    problem_by_status = {
        401: ("the Hub does not accept the token (401)", LOG_IN),
        403: ("no right to do this (403)", "use a token with the right to write there"),
        404: ("the Hub has no such thing (404)", "check the name"),
        409: ("somebody else made the same meanwhile (409)", "run it again"),
        412: (
            "somebody else committed meanwhile (412); nothing of this run was published",
            "run it again",
        ),
    }
    if status in problem_by_status:
        return problem_by_status[status]
    if status == 429:
        after = error.response.headers.get("Retry-After", "")
        wait = f"after {after}" if after else "later"
        if after.isdigit():
            wait = f"in {after} seconds"
        return "the Hub limits the rate (429)", f"run it again {wait}"
    if status >= 500:
        return f"the Hub has a fault of its own ({status})", "run it again later"
    return (
        f"the Hub refused ({(error.server_message or '')[:MOST_SAID] or _first_line(error)})",
        "fix it",
    )


def _first_line(error: Exception) -> str:
    message = str(error).strip() or type(error).__name__
    line = message.split("\n")[0].rstrip(".")
    return line if len(line) <= MOST_SAID else f"{line[:MOST_SAID]} ..."
