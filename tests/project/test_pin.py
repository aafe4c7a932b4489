"""`evenruler pin` over real HTTP, the Hub's own client in between."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from evenruler.declaration.active import instruments_at, list_unpinned_models
from evenruler.declaration.params import load_params
from evenruler.instruments.registry import FAMILIES
from evenruler.project.pin import list_hub_entries
from tests.hub_client import ROOT, Client
from tests.loopback_hub import WRITE_TOKEN, LoopbackHub, running
from tests.project.hub_repository import add_repository, list_errors, make_client
from tests.warm import Warm

PARAMS = """\
# The declaration of a test.
models: # the catalogue
  judge: # of others
    kind: classifier
    source: hub:org/judge # where it lies
    licence: >-
      not
      stated

    # Said by nobody.
    origin: org/judge
  nli: {kind: nli, source: "hub:org/nli",   licence: 'mit', origin: org/nli} # loosely written
  old:
    kind: causal
    source: hub:org/old
    revision: cccccccccccccccccccccccccccccccccccccccc
    licence: mit
    origin: org/old
  here: {kind: causal, source: "local:weights/here", licence: mit, origin: of our own}

# Of the next.
training:
  pairs: {source: "hub:org/pairs", split: train, licence: unknown, origin: o}
families: {framing:   {}}
"""
CHANGES = {
    "judge": (
        "# where it lies\n    licence: >-\n      not\n      stated\n",
        "# where it lies\n    revision: COMMIT\n    licence: apache-2.0\n",
    ),
    "nli": ('"hub:org/nli",', '"hub:org/nli", revision: COMMIT,'),
    "pairs": (
        '"hub:org/pairs", split: train, licence: unknown,',
        "\"hub:org/pairs\", revision: COMMIT, split: train, licence: 'terms: ours',",
    ),
}
"""By entry, what stands there before and after."""

PIN_ALL = ("evenruler", "pin", "--all")


@pytest.fixture
def hub() -> Iterator[LoopbackHub]:
    with running() as hub:
        yield hub


@pytest.fixture
def commits(hub: LoopbackHub) -> dict[str, str]:
    """Of the three repositories that are not pinned; the card of `nli` names no licence."""
    return {
        "judge": add_repository(hub, "org/judge", {"license": "apache-2.0"}),
        "nli": add_repository(hub, "org/nli"),
        "pairs": add_repository(
            hub, "org/pairs", {"license": "other", "license_name": "terms: ours"}
        ),
    }


@pytest.fixture
def client(hub: LoopbackHub, tmp_path: Path, warm_client: Warm | None) -> Client:
    return make_client(hub, tmp_path, PARAMS, warm_client)


@pytest.fixture
def params(client: Client) -> Path:
    return client.folder / "params.yaml"


def pinned(commits: dict[str, str], *names: str) -> str:
    """The text of the test with the commits and licences of these entries, all else as it was."""
    text = PARAMS
    for name in names or CHANGES:
        old, new = CHANGES[name]
        assert text.count(old) == 1
        text = text.replace(old, new.replace("COMMIT", commits[name]))
    return text


def test_commits_and_licences_are_written_and_all_else_stays(client, params, commits) -> None:
    output = client.run(*PIN_ALL, "--yes")
    assert params.read_text() == pinned(commits)
    assert f"+    revision: {commits['judge']}\n" in output
    assert output.endswith("params.yaml: pinned judge, nli, pairs\n")
    catalogue = load_params(params)
    assert catalogue.models["judge"].revision == commits["judge"]
    assert catalogue.models["old"].revision == "c" * 40


def test_a_second_run_changes_nothing_and_asks_nobody(client, params, commits, hub) -> None:
    client.run(*PIN_ALL, "--yes")
    before, n_requests = params.read_bytes(), len(hub.log)
    for words in (("--all",), ("nli",)):
        assert client.run("evenruler", "pin", *words) == "params.yaml: nothing is left to pin\n"
    assert params.read_bytes() == before
    assert len(hub.log) == n_requests


def test_only_what_is_named_is_pinned(client, params, commits) -> None:
    client.run("evenruler", "pin", "nli", "pairs", "--yes")
    assert params.read_text() == pinned(commits, "nli", "pairs")


@pytest.mark.parametrize("typed", ["n\n", "\n", ""], ids=["no", "default", "nobody"])
def test_a_diff_that_is_refused_leaves_the_file_as_it_was(client, params, commits, typed) -> None:
    output = client.run(*PIN_ALL, typed=typed, status=1)
    assert f"+    revision: {commits['judge']}\n" in output
    assert "params.yaml is unchanged; `--yes` writes without asking" in output
    assert params.read_text() == PARAMS


def test_a_diff_that_is_accepted_is_written(client, params, commits) -> None:
    client.run(*PIN_ALL, typed="y\n")
    assert params.read_text() == pinned(commits)


def test_line_breaks_of_windows_stay(client, params, commits) -> None:
    params.write_bytes(PARAMS.replace("\n", "\r\n").encode())
    client.run(*PIN_ALL, "--yes")
    assert params.read_bytes() == pinned(commits).replace("\n", "\r\n").encode()


class TestRefused:
    """One line says what to do, with status 2, and the others are pinned all the same."""

    def check(self, client: Client, commits: dict[str, str], line: str, token: str = "") -> None:
        output = client.run(*PIN_ALL, "--yes", status=2, token=token)
        assert list_errors(output) == [f"error: params.yaml: models.judge: org/judge {line}"]
        assert "params.yaml: pinned nli, pairs\n" in output
        assert (client.folder / "params.yaml").read_text() == pinned(commits, "nli", "pairs")

    def test_a_repository_that_is_missing(self, client, commits, hub) -> None:
        del hub.repos["org/judge"]
        line = "is not on the Hub (or private); check the name, or log in with `hf auth login` or "
        self.check(client, commits, f"{line}set HF_TOKEN", token=WRITE_TOKEN)

    def test_one_whose_terms_are_not_accepted_until_they_are(self, client, commits, hub) -> None:
        hub.repos["org/judge"].gated = True
        line = "is gated; accept its terms on its page, then log in with `hf auth login` or set "
        self.check(client, commits, f"{line}HF_TOKEN")
        client.run("evenruler", "pin", "judge", "--yes", token=WRITE_TOKEN)
        assert (client.folder / "params.yaml").read_text() == pinned(commits)

    def test_one_that_has_another_name(self, client, commits, hub) -> None:
        hub.repos["other/judge"] = hub.repos.pop("org/judge")
        hub.renamed["org/judge"] = "other/judge"
        self.check(client, commits, "is called other/judge now; write hub:other/judge")

    def test_a_hub_that_fails_is_one_line_and_nothing_is_written(
        self, client, params, commits, hub
    ) -> None:
        hub.stop()
        (line,) = list_errors(client.run(*PIN_ALL, "--yes", status=2))
        assert line.startswith("error: params.yaml: models.judge: the Hub does not answer (")
        assert line.endswith("; run it again")
        assert params.read_text() == PARAMS

    def test_a_file_that_somebody_changes_meanwhile(self, client, params, commits, hub) -> None:
        hub.once("GET .*/nli", lambda: params.write_text(f"{PARAMS}# more\n"))
        (line,) = list_errors(client.run(*PIN_ALL, "--yes", status=2))
        assert line == "error: params.yaml: it was changed meanwhile; run this again"
        assert params.read_text() == f"{PARAMS}# more\n"

    def test_an_entry_that_an_alias_repeats(self, client, params, commits) -> None:
        text = PARAMS.replace("  nli: {", "  nli: &nli {").replace(
            "training:", "# training:\n  twin: *nli\ntraining:"
        )
        params.write_text(text)
        (line,) = list_errors(client.run(*PIN_ALL, "--yes", status=2))
        what = (
            "its lines cannot be edited; write its aliases out, and each entry in lines of its own"
        )
        assert line == f"error: params.yaml: {what}"
        assert params.read_text() == text

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            ((), "evenruler pin: nothing to pin; name models, or say --all"),
            (("nli", "--all"), "evenruler pin: nothing to pin; name models, or say --all"),
            (("nil",), "params.yaml: no model or data set 'nil' of the Hub; check the name (did"),
            (("here",), "params.yaml: no model or data set 'here' of the Hub; check the name"),
        ],
    )
    def test_names_that_are_of_no_repository(self, client, words, line) -> None:
        (error,) = list_errors(client.run("evenruler", "pin", *words, status=2))
        assert error.startswith(f"error: {line}")


def test_nothing_of_the_paper_waits_for_a_commit_once_all_are_pinned(
    client, params, hub, tmp_path
) -> None:
    """What the repository itself declares; its domain of Wikipedia waits for its pages."""
    params.write_text((ROOT / "params.yaml").read_text())
    declared = load_params(params)
    unpinned = [entry for entry in list_hub_entries(declared) if entry.lacks_commit]
    assert list_unpinned_models(FAMILIES, declared, "paper")
    for entry in unpinned:
        add_repository(hub, entry.repo, {"license": "apache-2.0"})
    client.run(*PIN_ALL, "--yes")
    assert list_unpinned_models(FAMILIES, load_params(params), "paper") == []
    instruments = instruments_at(ROOT, params, "paper")
    assert not [instrument.name for instrument in instruments if instrument.settings.waiting]
    unfinished = [instrument.name for instrument in instruments if instrument.unfinished]
    assert unfinished == ["countries-wikipedia"]
