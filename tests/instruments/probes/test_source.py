"""What users write of probes, and its criterion."""

from pathlib import Path

import pytest

from evenruler.errors import UserError
from evenruler.instruments.probes.declare import Settings
from evenruler.instruments.probes.declare import load as load_source
from evenruler.instruments.probes.declare.source import Criterion, ProbeSource
from tests.instruments.probes.conftest import settings_of
from tests.text_tables import read_cells

DOMAIN = """\
title: Jobs
construct: association of jobs with gender
direction: positive means closer to men
source: by hand
licence: cc0-1.0
targets:
  men: [man, he]
  women: [woman, she]
attributes: [engineer, flight attendant, CEO]
sets:
  hand:
    title: Two by hand
    licence: mit
    templates:
      plain: A {ATTRIBUTE} is a {TARGET}.
      turned: {text: "No {TARGET} is an {ATTRIBUTE}.", keying: -1}
  other:
    title: One more
    templates:
      plain: Some {ATTRIBUTE} is a {TARGET}.
"""

AGREE = settings_of()


def load(path: Path, settings: Settings) -> ProbeSource:
    return load_source(path, settings, path.parent / "shared")


class TestWhatIsRead:
    def test_values(self, file_with):
        source = load(file_with("jobs.yaml", DOMAIN), AGREE)
        assert source.construct_ == "association of jobs with gender"
        assert source.targets["women"] == {"woman": "woman", "she": "she"}
        slugs = {
            "engineer": "engineer",
            "flight-attendant": "flight attendant",
            "ceo": "CEO",
        }
        assert source.attributes == slugs
        assert source.sets["hand"].licence == "mit"
        assert source.published is None
        templates = source.sets["hand"].templates
        assert templates["plain"].text == "A {ATTRIBUTE} is a {TARGET}."
        assert [template.keying for template in templates.values()] == [1, -1]

    def test_controls_are_templates_that_stay_out_of_scores(self, file_with):
        change = ("keying: -1}", "keying: -1, control: true}")
        sets = load(file_with("jobs.yaml", DOMAIN, change), AGREE).sets
        templates = sets["hand"].templates
        assert [templates[slug].control for slug in ("plain", "turned")] == [False, True]
        assert sets["hand"].scored == {"plain": templates["plain"]}
        assert list(sets["other"].scored) == ["plain"]

    def test_a_mapping_gives_words_their_slugs(self, file_with):
        path = file_with(
            "jobs.yaml",
            DOMAIN,
            ("[engineer, flight attendant, CEO]", "{boss: CEO, crew: flight attendant}"),
        )
        assert load(path, AGREE).attributes == {"boss": "CEO", "crew": "flight attendant"}

    def test_words_of_yaml_1_1_and_numbers_in_a_list_are_words(self, file_with):
        words = "no, yes, on, off, y, n, 911"
        change = ("[engineer, flight attendant, CEO]", f"[{words}]")
        attributes = load(file_with("jobs.yaml", DOMAIN, change), AGREE).attributes
        assert list(attributes.items()) == [(word, word) for word in words.split(", ")]


NEXT_WORD = """next_word:
  title: Four sentences
  sentences: {a: "0 {ATTRIBUTE} is a", b: "1 {ATTRIBUTE} is a", c: "2 {ATTRIBUTE} is a", d: "3 {ATTRIBUTE} is a"}
  pairs: {he0: she0, he1: she1, he2: she2, he3: she3, he4: she4, he5: she5}
  control: {name: kings, high: [k0, k1, k2, k3, k4, k5], low: [q0, q1, q2, q3, q4, q5]}"""

# What stands in the source | what is put in its place | how the key begins | what else it holds
REFUSED = """
A {ATTRIBUTE} is a {TARGET}. | A {ATTRIBUTE} is. | sets.hand.templates.plain.text | {TARGET} 0 times
A {ATTRIBUTE} is a {TARGET}. | A {ATTRIBUTE} {TARGT}. | sets.hand.templates.plain.text | '{TARGET}'?
No {TARGET} is an {ATTRIBUTE}. | A {ATTRIBUTE} is a {TARGET}. | sets.hand | is a {TARGET}.'; twice
construct:   | construct_:     | construct_  | 'construct'?
[man, he]    | man, he         | targets.men | found 'man, he', expected a list: [man, he]
[woman, she] | [woman, He]     | targets     | 'he'; both groups
[engineer, flight attendant, CEO] | [a, A] | attributes | 'a', 'A': found the slug 'a'
[engineer, flight attendant, CEO] | [聪明] | attributes | '聪明': found the slug ''; `slug: word`
"""
TEMPLATE = "Some {ATTRIBUTE} is a {TARGET}."
PREFIXES = "prefixes: {salience: A test., instruction: Say it., placebos: [One., Two.]}"
LETTERS = [*"abcdefghijklmnopqrstuvwx"]
HIGH = ", ".join(LETTERS[:20])
LOW = ", ".join(LETTERS[20:])
KEYED = f"attributes: [{HIGH}, {LOW}]\nkeys: {{high: [{HIGH}], low: [{LOW}]}}"

# The same, where lines are put in.
REFUSED_LINES = [
    (
        "  women:",
        "  others: [they]\n  women:",
        "targets",
        "found 3 groups; men, others, women; expected two",
    ),
    ("sets:", f"{PREFIXES}\nsets:", "prefixes.placebos", "found 2, expected 5 at least, or none"),
    (
        TEMPLATE,
        f'{{text: "{TEMPLATE}", control: true}}',
        "sets.other",
        "every template is a control",
    ),
    (
        "attributes: [engineer, flight attendant, CEO]",
        KEYED,
        "4 attributes have one of the keys",
        "at least 8",
    ),
]

# Another sentence or word of `next_word` | how the key begins | what else the line holds
REFUSED_NEXT_WORDS = """
1 {ATTRIBUTE} is a | 1 {ATTRIBUTE} is a  | next_word: its gain is along a criterion |
1 {ATTRIBUTE} is a | Somebody is a       | next_word.sentences | needs {ATTRIBUTE} once
1 {ATTRIBUTE} is a | 1 {ATTRIBUTE} is an | next_word.sentences | has to end in 'a': a noun follows
she1               | he0                 | next_word           | 'he0' stands there twice
"""


def list_refused() -> list[tuple[str, ...]]:
    refused = [*read_cells(REFUSED), *REFUSED_LINES]
    for old, new, key, held in read_cells(REFUSED_NEXT_WORDS):
        refused.append(("sets:", f"{NEXT_WORD.replace(old, new)}\nsets:", key, held))
    return refused


class TestWhatIsRefused:
    @pytest.mark.parametrize(("old", "new", "key", "held"), list_refused())
    def test_one_line_with_file_key_finding_and_remedy(
        self, file_with, error_of, old, new, key, held
    ):
        path = file_with(
            "jobs.yaml",
            DOMAIN,
            (old, new),
        )
        line = error_of(load, path, AGREE)
        assert line.startswith(f"{path}: {key}")
        for words in held.split("; "):
            assert words in line

    def test_a_domain_without_a_file(self, file_with, error_of):
        path = file_with("jobs.yaml", DOMAIN).parent / "job.yaml"
        assert error_of(load, path, AGREE) == (
            f"{path}: no source for the probes 'job'; did you mean 'jobs'?; write the file or check "
            "the name in params.yaml"
        )

    def test_settings_that_name_no_set(self, file_with, error_of):
        path = file_with("jobs.yaml", DOMAIN)
        settings = settings_of(article={"other": "literal", "hands": "literal"})
        assert error_of(load, path, settings) == (
            f"{path}: no template set 'hands' for `article`; did you mean 'hand'?; check the name "
            "in params.yaml"
        )

    def test_without_any_one_line_it_is_read_or_refused_in_one_line(self, file_with):
        lines = DOMAIN.splitlines(keepends=True)
        needless, refusals = [], []
        for left_out, gone in enumerate(lines):
            rest = lines[:left_out] + lines[left_out + 1 :]
            path = file_with("jobs.yaml", "".join(rest))
            try:
                load(path, AGREE)
                needless.append(gone.strip())
            except UserError as error:
                refusals.append(str(error))
        for line in refusals:
            assert line.startswith(f"{path}: ")
            assert "\n" not in line
        # The licence of a set is that of the file by default, and the first set has two templates.
        assert needless == [
            "licence: mit",
            "plain: A {ATTRIBUTE} is a {TARGET}.",
            'turned: {text: "No {TARGET} is an {ATTRIBUTE}.", keying: -1}',
        ]


JOBS = """\
title: Jobs
construct: association of jobs with gender
direction: positive means closer to men
source: by hand
licence: cc0-1.0
targets: {men: [man], women: [woman]}
attributes: [engineer, nurse, CEO, poet]
criterion:
  file: figures.csv
  column: pct_women
  label: women among the employed (%)
sets:
  hand:
    title: One by hand
    templates:
      plain: A {ATTRIBUTE} is a {TARGET}.
"""

FIGURES = """\
attribute,pct_women,match,titles
engineer,14.8,exact,Engineers
nurse,87.4,group,"Registered nurses; Practical nurses"
CEO,29,exact,Chief executives
poet,,none,
judge,58.0,exact,Judges
"""

COMPLEMENT = ("  label:", "  complement_of: 100\n  label:")


@pytest.fixture
def read(file_with):
    """Reads the criterion of a domain from figures, each with its changes."""

    def read(
        *changes: tuple[str, str], domain: tuple[tuple[str, str], ...] = ()
    ) -> Criterion | None:
        file_with("figures.csv", FIGURES, *changes)
        path = file_with("jobs.yaml", JOBS, *domain)
        return load_source(path, settings_of(), path.parent).published

    return read


class TestCriterionRead:
    def test_values_and_matches_by_slug(self, read):
        assert read() == Criterion(
            label="women among the employed (%)",
            values={"engineer": 14.8, "nurse": 87.4, "ceo": 29.0, "poet": None},
            matches={"engineer": "exact", "nurse": "group", "ceo": "exact", "poet": "none"},
        )

    def test_complement(self, read):
        # 100 - 14.8 and so on, without the noise of binary fractions (100 - 87.4 is
        # 12.599999999999994).
        assert read(domain=(COMPLEMENT,)).values == {
            "engineer": 85.2,
            "nurse": 12.6,
            "ceo": 71.0,
            "poet": None,
        }

    def test_zero_is_a_figure(self, read):
        assert read(("14.8", "0")).values["engineer"] == 0.0


# What stands in the figures | what is put in its place | where after the file | what else it holds
CRITERIA_REFUSED = """
pct_women        | pct_woman         |                  | no column 'pct_women'; add it
nurse,87.4,group | doctor,87.4,group |                  | no row for 1 attributes; nurse
judge,58.0       | Nurse,58.0        | line 6 (Nurse):  | 'Nurse' twice; keep one
14.8             | 14.8%             | engineer:        | '14.8%' is no number
14.8             | nan               | engineer:        | 'nan' is no number
poet,,none       | poet,3.0,none     | poet:            | '3.0'; match 'none'; no figure
14.8,exact       | ,exact            | engineer:        | figure ''; match 'exact'
14.8,exact       | 14.8,exakt        | engineer:        | 'exakt'; exact, group, none
"""


@pytest.mark.parametrize(("old", "new", "where", "held"), read_cells(CRITERIA_REFUSED))
def test_a_criterion_is_refused_in_one_line_with_file_row_finding_and_remedy(
    read, tmp_path, error_of, old, new, where, held
):
    line = error_of(read, (old, new))
    assert line.startswith(f"{tmp_path / 'figures.csv'}: {where}")
    for words in held.split("; "):
        assert words in line
