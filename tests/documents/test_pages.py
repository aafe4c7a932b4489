"""README and docs hang together: every example is followed by a test or says why not, every link
leads somewhere."""

import re
import runpy
from collections import Counter

import pytest

from tests.documents.pages import ROOT, RUN, SHOWN, blocks, pages
from tests.documents.test_followed import OUTSIDE
from tests.stages.test_followed import BUILT, DECLARED
from tests.text_tables import yaml_of_text

FOLLOWED = {
    **dict.fromkeys(OUTSIDE, "tests/documents/test_followed.py"),
    **dict.fromkeys([*BUILT, *DECLARED], "tests/stages/test_followed.py"),
    "README.md": "tests/documents/test_followed.py",
    "docs/publishing.md": "tests/stages/test_versions.py",
}
"""By page with examples, the test that follows it."""

NOT_RUN = yaml_of_text("""\
README.md: 2
docs/start.md: 3
docs/experiments.md: 3
docs/measure.md: 3
docs/likert.md: 1
docs/results.md: 1
docs/weights.md: 2
docs/adding-a-model.md: 2
docs/adding-evolved-templates.md: 4
docs/adding-a-saged-domain.md: 1
docs/external.md: 4
docs/scale.md: 3
docs/questionnaires.md: 1
docs/paper-scale.md: 1
docs/publishing.md: 2
docs/saged.md: 1
""")
"""By page, how many examples say why nobody runs them."""


def test_every_example_is_followed_or_says_why_not() -> None:
    doing, n_not_run = set(), Counter()
    for page in pages():
        for block in blocks(page):
            if block.done:
                doing.add(page)
            if block.reason:
                n_not_run[page] += 1
    assert doing == set(FOLLOWED)
    assert n_not_run == NOT_RUN


def test_no_block_is_without_a_use() -> None:
    for page in pages():
        for block in blocks(page):
            has_use = block.language in (*SHOWN, *RUN) or block.title or block.reason
            assert has_use, (page, block.line)
        n_fences = (ROOT / page).read_text().count("\n```")
        assert n_fences == 2 * len(blocks(page)), page


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md"])
def test_links_of_files_outside_docs_lead_somewhere(page) -> None:
    """Those in docs/ are checked by `mkdocs build --strict`."""
    for target in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", (ROOT / page).read_text()):
        assert (ROOT / target).exists(), target


def test_readme_is_short() -> None:
    tokens = (ROOT / "README.md").read_text().split()
    words = [token for token in tokens if re.search(r"\w", token)]
    assert len(words) <= 450


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
    page = runpy.run_path(str(ROOT / "docs/commands.py"))["page"]()
    help_by_command = dict(re.findall(r"^## (.+)\n```text\n((?:.*\n)*?)```$", page, flags=re.M))
    assert {"measure", "compare", "answers export", "ratings sheet"} <= set(help_by_command)
    for name, text in help_by_command.items():
        assert f"Usage: evenruler {name} " in text
    assert "--max-requests" in help_by_command["measure"]


def test_all_pages_are_in_the_table_of_contents() -> None:
    listed = set(re.findall(r"- ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), flags=re.M))
    by_mkdocs = {"reference/commands.md"}  # by mkdocs itself
    assert listed - by_mkdocs == {
        page.removeprefix("docs/") for page in pages() if page != "README.md"
    }
