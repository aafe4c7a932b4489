"""README and docs hang together: every example is followed by a test or says why not, every link
leads somewhere."""

import re
import runpy
import tomllib

import pytest

from tests.documents.pages import ROOT, RUN, SHOWN, blocks, pages
from tests.documents.test_followed import OUTSIDE
from tests.stages.test_followed import BUILT, DECLARED

FOLLOWED = {
    **dict.fromkeys(OUTSIDE, "tests/documents/test_followed.py"),
    **dict.fromkeys([*BUILT, *DECLARED], "tests/stages/test_followed.py"),
    "README.md": "tests/documents/test_followed.py",
    "docs/publishing.md": "tests/stages/test_versions.py",
}
"""By page with examples, the test that follows it."""

NOT_RUN = {
    "README.md": [
        "needs a network; tests/test_wheel.py installs the package",
        ".ci/run makes a fresh clone and runs `make repro` in it",
    ],
    "docs/start.md": [
        "needs a network; tests/test_wheel.py installs the package",
        ".ci/run makes a fresh clone and runs `make repro` in it",
        ".ci/run does, as the first thing in a fresh clone; minutes",
    ],
    "docs/experiments.md": [
        "tests/stages/test_plain_dvc.py follows it in a small clone",
        "as above, and minutes",
        "an hour; tests/stages/test_evolving.py does one of them with tiny models",
    ],
    "docs/measure.md": ["asks a hosted model; tests/evaluate/test_command.py asks a scripted one"],
    "docs/results.md": ["it ends with a status; tests/results/test_gate.py holds which"],
    "docs/weights.md": ["a part of the file", "makes ten models, an hour on two cores"],
    "docs/adding-evolved-templates.md": [
        "asks SmolLM2 for three minutes; tests/stages/test_evolving.py runs it with a scripted "
        "operator",
        "needs sheets that people filled; tests/instruments/probes/test_commands.py runs both",
    ],
    "docs/adding-a-saged-domain.md": [
        "asks Wikipedia; tests/instruments/saged/scrape run both commands against a MediaWiki on "
        "this machine"
    ],
    "docs/fixed.md": [
        "needs logs of other programs; tests/evaluate/test_logs.py runs the commands with small "
        "ones",
        "needs data of the Hub; tests/evaluate/test_lm_eval_tasks.py runs it with rows of its own",
        "needs a table of yours; tests/evaluate/test_own.py measures one",
    ],
    "docs/scale.md": ["takes a cluster", "takes a cluster"],
    "docs/questionnaires.md": [
        "takes a file that is not ours to ship; tests/instruments/questionnaires have one",
    ],
    "docs/paper-scale.md": ["fetches models of 3 to 32 billion parameters"],
    "docs/publishing.md": [
        "needs a web server; tests/stages/test_remote.py does it on this machine",
        "as above",
    ],
    "docs/saged.md": ["asks Wikipedia"],
}


def test_every_example_is_followed_or_says_why_not() -> None:
    doing = {page for page in pages() if any(block.done for block in blocks(page))}
    assert doing == set(FOLLOWED)
    reasons = {page: [block.reason for block in blocks(page) if block.reason] for page in pages()}
    assert {page: own for page, own in reasons.items() if own} == NOT_RUN


@pytest.mark.parametrize("page", pages())
def test_no_block_is_without_a_use(page) -> None:
    for block in blocks(page):
        assert block.language in SHOWN or block.language in RUN or block.title or block.reason, (
            page,
            block.line,
        )
    assert (ROOT / page).read_text().count("\n```") == 2 * len(blocks(page))


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links_of_files_outside_docs_lead_somewhere(page) -> None:
    """Those in docs/ are checked by `mkdocs build --strict`."""
    for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", (ROOT / page).read_text()):
        assert (ROOT / target).exists(), target


def test_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().split()) <= 600


def test_all_four_papers_are_named_and_cited() -> None:
    titles = {
        "PMPO: A Self-Optimizing Framework for Creating High-Fidelity Measurement Tools for Social "
        "Bias in Large "
        "Language Models",
        "Assessment and manipulation of latent constructs in pre-trained language models using "
        "psychometric scales",
        "Measuring Bias or Measuring the Task: Understanding the Brittle Nature of LLM Gender "
        "Biases",
        "SAGED: A Holistic Bias-Benchmarking Pipeline for Language Models with Customisable "
        "Fairness Calibration",
    }
    for page in ("README.md", "docs/papers.md", "CITATION.cff"):
        text = (ROOT / page).read_text().replace("*", "")
        assert [title for title in titles if title not in text] == [], page


def test_the_page_of_commands_is_what_they_say() -> None:
    """`mkdocs build` adds it to the site."""
    made = runpy.run_path(str(ROOT / "docs/commands.py"))["page"]()
    said = dict(re.findall(r"^## (.+)\n```text\n((?:.*\n)*?)```$", made, flags=re.M))
    assert {"measure", "compare", "answers export", "ratings sheet"} <= set(said)
    assert [name for name, text in said.items() if f"Usage: evenruler {name} " not in text] == []
    assert "--max-requests" in said["measure"]


def test_all_pages_are_in_the_table_of_contents() -> None:
    listed = set(re.findall(r"- ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.M))
    made = {"reference/commands.md"}  # by mkdocs itself
    assert listed - made == {page.removeprefix("docs/") for page in pages() if page != "README.md"}


def test_what_writes_the_site_is_installed_by_setup() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    assert {"mkdocs-material", "mkdocstrings[python]"} <= {
        name.split(">")[0] for name in extras["test"]
    }
