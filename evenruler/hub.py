"""The Hugging Face Hub: commits of repositories, and errors of its client in one line with a
remedy.
"""

import traceback
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from evenruler.errors import OF_THE_DISK, UserError, network_setup_problem
from evenruler.terminal import print_note

if TYPE_CHECKING:
    from huggingface_hub import DryRunFileInfo
    from huggingface_hub.errors import HfHubHTTPError

MOST_SAID = 300
"""Most characters quoted from a response of the Hub."""

LOG_IN = "log in with `hf auth login` or set HF_TOKEN"

MISREADINGS = (ValueError, TypeError, LookupError, AttributeError, AssertionError, RuntimeError)
"""Errors of Python where an answer is not as the Hub's client expects."""


class RepositoryError(UserError):
    """A problem of one repository of the Hub, which others do not have."""


@dataclass(frozen=True)
class HubCommit:
    """A repository at a commit."""

    sha: str
    licence: str
    """As its card names it; empty where no card does."""
    files: frozenset[str]
    """Paths of its files."""


def find_commit(
    repo: str,
    revision: str | None = None,
    *,
    where: str = "",
    repo_type: Literal["model", "dataset"] = "model",
) -> HubCommit:
    """Find a revision's commit, by default the newest one, of a repository whose files this user
    may read.

    RepositoryError where it is missing, renamed or gated; UserError where the Hub fails.
    """
    from huggingface_hub import HfApi

    api = HfApi()
    with hub_errors_as_user_errors(repo, revision=revision, where=where):
        described: Any = api.repo_info(repo, revision=revision, repo_type=repo_type)
        if described.gated:  # its page is open, its files are not
            api.auth_check(repo, repo_type=repo_type)
    if described.id != repo:
        what = f"{repo} is called {described.id} now"
        raise RepositoryError(what, where=where, remedy=f"write hub:{described.id}")
    files = frozenset(file.rfilename for file in described.siblings or ())
    return HubCommit(str(described.sha), licence_of(described.card_data), files)


RepoType = Literal["model", "dataset"]


def list_files(
    repo: str,
    revision: str | None,
    patterns: Sequence[str] | None = None,
    repo_type: RepoType = "model",
) -> "list[DryRunFileInfo]":
    """The files of a revision, with their bytes, and whether the client's cache lacks them;
    `patterns`: of those that are wanted, by default all.

    Empty where the Hub cannot be asked: the download itself says that.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import DryRunError

    try:
        with _hidden_bars():
            return snapshot_download(
                repo,
                revision=revision,
                repo_type=repo_type,
                allow_patterns=list(patterns) if patterns else None,
                dry_run=True,
            )
    except DryRunError:
        return []


@contextmanager
def _hidden_bars() -> Iterator[None]:
    """Without the progress bars of the Hub's client: nothing is downloaded."""
    from huggingface_hub.utils.tqdm import (
        are_progress_bars_disabled,
        disable_progress_bars,
        enable_progress_bars,
    )

    if are_progress_bars_disabled():
        yield
        return
    disable_progress_bars()
    try:
        yield
    finally:
        enable_progress_bars()


def describe_download(repo: str, files: "Iterable[DryRunFileInfo]") -> str | None:
    """What of these files is going to be downloaded, in words; None where all are here."""
    lacking = [file.file_size or 0 for file in files if file.will_download]
    if not lacking:
        return None
    n_files = len(lacking)
    files_text = "1 file" if n_files == 1 else f"{n_files} files"
    size = describe_size(sum(lacking))
    return f"download {size} ({files_text}) of {repo} from the Hub"


def note_download(repo: str, files: "Iterable[DryRunFileInfo]") -> None:
    """Print what is going to be downloaded, if anything is."""
    download = describe_download(repo, files)
    if download is not None:
        print_note(f"will {download}")


def describe_size(n_bytes: int) -> str:
    """A number of bytes in words: "270 MB", "1.4 GB"."""
    if n_bytes >= 1e9:
        return f"{n_bytes / 1e9:.1f} GB"
    if n_bytes >= 1e6:
        return f"{n_bytes / 1e6:.0f} MB"
    return f"{max(1, round(n_bytes / 1e3))} kB"


def licence_of(card: object) -> str:
    """The licence that a repository's card names; empty where it names none."""
    licence = getattr(card, "license", None)
    if licence == "other":
        licence = getattr(card, "license_name", None) or licence
    if isinstance(licence, list):
        return ", ".join(map(str, licence))
    return str(licence or "")


@contextmanager
def hub_errors_as_user_errors(
    repo: str, *, revision: str | None = None, where: str = ""
) -> Iterator[None]:
    """Turn errors of the Hub client about a repository into a UserError, a RepositoryError where
    the repository is the cause; `where`: place of the error, if not `repo`.
    """
    from huggingface_hub import get_token

    try:
        yield
    except Exception as error:  # of any kind, since Xet's client is written in Rust
        of_setup = network_setup_problem(error)
        if of_setup is not None:
            what, setting, remedy = of_setup
            raise UserError(what, where=setting, remedy=remedy) from None
        subject = f"{repo} " if where else ""
        problem = _find_problem(error, subject, revision)
        if problem is None:
            raise
        is_of_repository = problem == _repository_problem(error, subject, revision)
    else:
        return
    what, remedy = problem
    token = get_token()
    if token:  # a server may echo it
        what = what.replace(token, "HF_TOKEN")
    raised = RepositoryError if is_of_repository else UserError
    raise raised(what, where=where or repo, remedy=remedy)


def _find_problem(error: Exception, subject: str, revision: str | None) -> tuple[str, str] | None:
    """The problem and its remedy; None where the error is not of the Hub."""
    if _is_of_xet(error):
        return (
            f"Xet, the Hub's store of large files, fails ({_first_line(error)})",
            "run it again, or set HF_HUB_DISABLE_XET=1 to go without Xet",
        )
    return (
        _repository_problem(error, subject, revision)
        or _connection_problem(error)
        or _misread_answer_problem(error)
    )


def _is_of_xet(error: Exception) -> bool:
    """Whether an error is of Xet's client, and not of the network, the Hub or the disk."""
    import httpx2
    from huggingface_hub import errors

    is_known_error = isinstance(error, (errors.OfflineModeIsEnabled, httpx2.HTTPError, UserError))
    is_known_error |= isinstance(error, OSError) and error.errno in OF_THE_DISK
    if isinstance(error, errors.HfHubHTTPError):
        is_known_error = error.response.status_code < 500
    frames = (frame.f_code.co_name for frame, _ in traceback.walk_tb(error.__traceback__))
    return not is_known_error and any("xet" in name for name in frames)


def _repository_problem(
    error: Exception, subject: str, revision: str | None
) -> tuple[str, str] | None:
    """The problem of errors about one repository."""
    from huggingface_hub import errors

    if isinstance(error, errors.HFValidationError):
        return f"the Hub takes no such name ({str(error).rstrip('.')})", "name it USER/REPO"
    if isinstance(error, errors.GatedRepoError):
        return f"{subject}is gated", f"accept its terms on its page, then {LOG_IN}"
    if isinstance(error, errors.RevisionNotFoundError):
        return f"{subject}has no revision {revision}", "fix the revision"
    if isinstance(error, errors.RepositoryNotFoundError):
        if error.response.status_code == 401:  # also for missing repositories, without a login
            return f"{subject}is not on the Hub, or the token is not accepted (401)", LOG_IN
        return f"{subject}is not on the Hub (or private)", f"check the name, or {LOG_IN}"
    if isinstance(error, errors.LocalEntryNotFoundError):
        return (
            f"{subject}is not downloaded and the Hub cannot be reached",
            "try again with a network",
        )
    return None


def _connection_problem(error: Exception) -> tuple[str, str] | None:
    """The problem and its remedy where a request could not be sent, or was refused; None for other
    errors.
    """
    import httpx2
    from huggingface_hub import errors

    if isinstance(error, errors.OfflineModeIsEnabled):
        return "HF_HUB_OFFLINE forbids asking the Hub", "unset it"
    if isinstance(error, httpx2.InvalidURL):
        return _no_answer_problem(error)
    return _request_problem(error)


def _request_problem(error: BaseException | None) -> tuple[str, str] | None:
    """The problem and its remedy where the Hub answered a request with an error, or not at all;
    None for other errors.
    """
    import httpx2
    from huggingface_hub import errors

    if isinstance(error, errors.HfHubHTTPError):
        return _hub_problem(error)
    if isinstance(error, httpx2.HTTPError):
        return _no_answer_problem(error)
    return None


def _no_answer_problem(error: Exception) -> tuple[str, str]:
    """The problem, with the cause in brackets, and its remedy, for a request that got no answer."""
    return f"the Hub does not answer ({_first_line(error)})", "run it again"


def _misread_answer_problem(error: Exception) -> tuple[str, str] | None:
    """The problem of an answer that the Hub's client, which trusts it, fails to read."""
    if not isinstance(error, MISREADINGS) or not _is_raised_under(error, "huggingface_hub"):
        return None
    error_line = f"{type(error).__name__}: {_first_line(error)}"
    # The cause: an error in an upload thread.
    return _request_problem(error.__cause__) or (
        f"the answer is not the Hub's ({error_line})",
        "see whether a network stands between, or HF_ENDPOINT",
    )


def _is_raised_under(error: Exception, package: str) -> bool:
    """Whether an error went through the code of a package."""
    modules = (
        frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)
    )
    return any(name.partition(".")[0] == package for name in modules)


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
    """The first line of an error's message, cut at `MOST_SAID` characters; the error's type if it
    has none.
    """
    message = str(error).strip() or type(error).__name__
    line = message.split("\n")[0].rstrip(".")
    return line if len(line) <= MOST_SAID else f"{line[:MOST_SAID]} ..."
