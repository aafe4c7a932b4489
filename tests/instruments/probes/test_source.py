"""What users write of probes, and its criterion."""

from pathlib import Path

import pytest

from evenruler.errors import UserError
from evenruler.instruments.probes.declare import Settings
from evenruler.instruments.probes.declare import load as load_source
from evenruler.instruments.probes.declare.source import Criterion, ProbeSource
from tests.instruments.probes.conftest import settings_of

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
      plain: A {ATTRIBUTE} is a {TARGET}.
"""

AGREE = settings_of()


def load(path: Path, settings: Settings) -> ProbeSource:
    return load_source(path, settings, path.parent / "shared")


class TestWhatIsRead:
    def test_values(self, file_with):
        source = load(file_with("jobs.yaml", DOMAIN), AGREE)
        assert source.title == "Jobs"
        assert source.construct_ == "association of jobs with gender"
        assert source.targets == {
            "men": {"man": "man", "he": "he"},
            "women": {"woman": "woman", "she": "she"},
        }
        assert source.attributes == {
            "engineer": "engineer",
            "flight-attendant": "flight attendant",
            "ceo": "CEO",
        }
        assert source.sets["hand"].licence == "mit"
        assert source.published is None
        templates = source.sets["hand"].templates
        assert {slug: (entry.text, entry.keying) for slug, entry in templates.items()} == {
            "plain": ("A {ATTRIBUTE} is a {TARGET}.", 1),
            "turned": ("No {TARGET} is an {ATTRIBUTE}.", -1),
        }

    def test_controls_are_templates_that_stay_out_of_scores(self, file_with):
        change = ("keying: -1}", "keying: -1, control: true}")
        sets = load(file_with("jobs.yaml", DOMAIN, change), AGREE).sets
        assert {slug: entry.control for slug, entry in sets["hand"].templates.items()} == {
            "plain": False,
            "turned": True,
        }
        assert list(sets["hand"].scored) == ["plain"]
        assert sets["hand"].scored["plain"] == sets["hand"].templates["plain"]
        assert list(sets["other"].scored) == ["plain"]

    def test_placebos_stand_beside_the_cues(self, file_with):
        texts = ["It rained.", "Trains left.", "The shop opens.", "A book lies here.", "Read on."]
        framings = f"framings: {{salience: A test., instruction: Say it., placebos: {texts!r}}}\n"
        source = load(file_with("jobs.yaml", DOMAIN, ("sets:\n", f"{framings}sets:\n")), AGREE)
        assert source.framings.placebo_names == [f"placebo-{place}" for place in range(1, 6)]
        assert source.framings.prefixes == {
            "salience": "A test.",
            "instruction": "Say it.",
            "salience+instruction": "A test. Say it.",
            **dict(zip(source.framings.placebo_names, texts, strict=True)),
        }

    def test_a_mapping_gives_words_their_slugs(self, file_with):
        path = file_with(
            "jobs.yaml",
            DOMAIN,
            ("[engineer, flight attendant, CEO]", "{boss: CEO, crew: flight attendant}"),
        )
        assert load(path, AGREE).attributes == {"boss": "CEO", "crew": "flight attendant"}

    def test_words_of_yaml_1_1_stay_words(self, file_with):
        path = file_with(
            "jobs.yaml", DOMAIN, ("[engineer, flight attendant, CEO]", "[no, yes, on, off, y, n]")
        )
        assert load(path, AGREE).attributes == {
            word: word for word in ("no", "yes", "on", "off", "y", "n")
        }

    def test_numbers_in_a_list_are_words(self, file_with):
        path = file_with(
            "jobs.yaml", DOMAIN, ("[engineer, flight attendant, CEO]", "[911, engineer]")
        )
        assert load(path, AGREE).attributes == {"911": "911", "engineer": "engineer"}

    def test_blanks_around_a_template_are_dropped(self, file_with):
        path = file_with(
            "jobs.yaml",
            DOMAIN,
            ('"No {TARGET} is an {ATTRIBUTE}."', '" No {TARGET} is {ATTRIBUTE}. "'),
        )
        assert (
            load(path, AGREE).sets["hand"].templates["turned"].text == "No {TARGET} is {ATTRIBUTE}."
        )

    def test_settings_may_name_its_sets(self, file_with):
        settings = settings_of(article={"hand": "literal", "other": "agree"})
        assert load(file_with("jobs.yaml", DOMAIN), settings).title == "Jobs"


ONLY_HAND = "A {ATTRIBUTE} is a {TARGET}.\n      turned"
"""Where the first template of the first set stands."""


def first(template: str) -> tuple[str, str]:
    """The change that puts another template in the place of the first."""
    return ONLY_HAND, f"{template}\n      turned"


# (change, how the key begins, what else the line holds)
REFUSED = [
    pytest.param(
        first("A {ATTRIBUTE} is a man."),
        "sets.hand.templates.plain.text",
        ["'A {ATTRIBUTE} is a man.'", "{TARGET} 0 times", "expected once"],
        id="no-target",
    ),
    pytest.param(
        first("A {ATTRIBUTE} is a {TARGET} {TARGT}."),
        "sets.hand.templates.plain.text",
        ["unknown slot {TARGT}", "'{TARGET}'?"],
        id="unknown-slot",
    ),
    pytest.param(
        (
            "    title: One more\n    templates:\n      plain: A {ATTRIBUTE} is a {TARGET}.",
            '    title: One more\n    templates:\n      plain: {text: "A {ATTRIBUTE} is a '
            '{TARGET}.", control: true}',
        ),
        "sets.other",
        ["every template is a control, so that there is no score"],
        id="controls-alone",
    ),
    pytest.param(
        (
            "sets:\n  hand",
            "framings: {salience: A test., instruction: Say it., placebos: [One., Two.]}\nsets:\n  "
            "hand",
        ),
        "prefixes.placebos",
        ["found 2, expected 5 at least, or none"],
        id="few-placebos",
    ),
    pytest.param(
        ("construct:", "construct_:"), "construct_", ["'construct'?"], id="unknown-key-of-our-own"
    ),
    pytest.param(
        ("[engineer, flight attendant, CEO]", "[nurse, CEO, Nurse]"),
        "attributes",
        ["'nurse', 'Nurse': found the slug 'nurse', expected one of its own for each"],
        id="attribute-twice",
    ),
    pytest.param(
        ("[engineer, flight attendant, CEO]", "[CEO, 聪明]"),
        "attributes",
        ["attributes: '聪明': found the slug ''", "write `slug: word`"],
        id="one-attribute-in-another-script",
    ),
    pytest.param(
        ("[man, he]", "man, he"),
        "targets.men",
        ["found 'man, he', expected a list: [man, he]"],
        id="words-without-brackets",
    ),
    pytest.param(
        ("  women:", "  others: [they]\n  women:"),
        "targets",
        ["found 3 groups", "men, others, women", "expected two"],
        id="three-groups",
    ),
    pytest.param(
        ("[woman, she]", "[woman, He]"),
        "targets",
        ["'he'", "both groups"],
        id="word-in-both-groups",
    ),
    pytest.param(
        ("No {TARGET} is an {ATTRIBUTE}.", "A {ATTRIBUTE} is a {TARGET}."),
        "sets.hand",
        ["'A {ATTRIBUTE} is a {TARGET}.'", "twice"],
        id="template-twice",
    ),
    pytest.param(
        first("A {ATTRIBUTE} is a {TARGET}}."),
        "sets.hand.templates.plain",
        ["{TARGET}}"],
        id="brace-left-over",
    ),
    pytest.param(
        ("[woman, she]", "{woman: woman, other: he}"),
        "targets",
        ["'he'", "both groups"],
        id="word-in-both-groups-under-two-slugs",
    ),
    pytest.param(
        ("attributes:", "placebos: [[cup, Woman], [pen, door]]\nattributes:"),
        "the placebo 'woman' is a target",
        [],
        id="placebo-that-is-a-target",
    ),
    pytest.param(
        (
            "attributes: [engineer, flight attendant, CEO]",
            f"attributes: [{', '.join('abcdefghijklmnopqrstuvwx')}]\n"
            f"keys: {{high: [{', '.join('abcdefghijklmnopqrst')}], low: [{', '.join('uvwx')}]}}",
        ),
        "4 attributes have one of the keys",
        ["at least 8 needed"],
        id="twenty-good-and-four-bad",
    ),
]


class TestWhatIsRefused:
    @pytest.mark.parametrize(("change", "key", "held"), REFUSED)
    def test_one_line_with_file_key_finding_and_remedy(
        self, file_with, error_of, change, key, held
    ):
        path = file_with("jobs.yaml", DOMAIN, change)
        line = error_of(load, path, AGREE)
        assert line.startswith(f"{path}: {key}")
        for words in held:
            assert words in line

    @pytest.mark.parametrize(
        ("name", "hint"), [("job", "did you mean 'jobs'?"), ("religion", "known: jobs, traits")]
    )
    def test_a_domain_without_a_file(self, file_with, error_of, name, hint):
        folder = file_with("jobs.yaml", DOMAIN).parent
        file_with("traits.yaml", DOMAIN)
        file_with("joe.txt", "")
        path = folder / f"{name}.yaml"
        assert error_of(load, path, AGREE) == (
            f"{path}: no source for the probes {name!r}; {hint}; write the file or check the name "
            "in params.yaml"
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


# (change to the figures, where after the file, what else the line holds)
CRITERIA_REFUSED = [
    pytest.param(
        ("pct_women", "pct_woman"), "", ["no column 'pct_women'", "add it"], id="no-column"
    ),
    pytest.param(
        ("nurse,87.4,group", "doctor,87.4,group"),
        "",
        ["no row for 1 attributes", "nurse", "add a row for each", "match `none`"],
        id="no-row",
    ),
    pytest.param(
        ("judge,58.0", "Nurse,58.0"),
        "line 6 (Nurse): ",
        ["'Nurse' twice", "keep one"],
        id="row-twice",
    ),
    pytest.param(("14.8", "14.8%"), "engineer: ", ["'14.8%' is no number"], id="no-number"),
    pytest.param(("14.8", "nan"), "engineer: ", ["'nan' is no number"], id="not-finite"),
    pytest.param(
        ("poet,,none", "poet,3.0,none"),
        "poet: ",
        ["'3.0'", "match 'none'", "no figure"],
        id="none-with-a-figure",
    ),
    pytest.param(
        ("14.8,exact", ",exact"),
        "engineer: ",
        ["figure ''", "match 'exact'"],
        id="exact-without-a-figure",
    ),
    pytest.param(
        ("14.8,exact", "14.8,exakt"),
        "engineer: ",
        ["'exakt'", "exact, group, none"],
        id="unknown-match",
    ),
]


class TestCriterionRefused:
    @pytest.mark.parametrize(("change", "where", "held"), CRITERIA_REFUSED)
    def test_one_line_with_file_row_finding_and_remedy(
        self, read, tmp_path, error_of, change, where, held
    ):
        line = error_of(read, change)
        assert line.startswith(f"{tmp_path / 'figures.csv'}: {where}")
        for words in held:
            assert words in line
