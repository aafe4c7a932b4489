from collections import Counter

import pytest

from evenruler.instruments.questionnaires.declare.source import load_questionnaire, verb_error
from evenruler.instruments.questionnaires.rows import fill_templates
from tests.conftest import ROOT

SOURCES = ROOT / "data" / "sources"
SCALES = SOURCES / "questionnaires" / "shared" / "scales"

FEAR = """\
title: Fear
construct: fear as two items describe it
direction: positive means more afraid
original: {name: Fear-2, licence: cc0-1.0, reference: here, wording: held}
source: by hand
licence: cc-by-4.0
scale: moments
items:
  first:
    original: How often are you afraid?
    premise: In a crowd I am {TERM}.
    hypothesis: This {INTENSIFIER} happens.
    subscale: body
    terms:
      source: [afraid, ill at ease]
      inverse: [calm]
  second:
    original: How seldom do you dare to speak?
    premise: It is {TERM} for me to speak up.
    hypothesis: I {INTENSIFIER} feel so.
    keying: -1
    terms: {source: {easy-one: easy}, inverse: [hard]}
"""

MOMENTS = """\
title: Moments
source: by hand
levels:
  - {weight: -4, words: [never]}
  - {weight: -2.5, words: [seldom, very rarely]}
  - {weight: 4, words: [always]}
"""


@pytest.fixture
def read(tmp_path, file_with):
    """Reads the questionnaire and its scale, each with its changes."""

    def read(*changes: tuple[str, str], scale: tuple[tuple[str, str], ...] = ()):
        file_with("moments.yaml", MOMENTS, *scale)
        return load_questionnaire(file_with("fear.yaml", FEAR, *changes), tmp_path)

    return read


class TestWhatIsRead:
    def test_values(self, read) -> None:
        source, scale = read()

        first, second = source.items["first"], source.items["second"]
        assert first.terms.source == {"afraid": "afraid", "ill-at-ease": "ill at ease"}
        assert second.terms.source == {"easy-one": "easy"}
        assert (first.keying, second.subscale) == (1, None)
        assert [(level.weight, level.words) for level in scale.levels] == [
            (-4, {"never": "never"}),
            (-2.5, {"seldom": "seldom", "very-rarely": "very rarely"}),
            (4, {"always": "always"}),
        ]
        assert scale.intensifiers == ["never", "seldom", "very-rarely", "always"]

    def test_the_scale_is_of_frequency_by_default(self, tmp_path, file_with) -> None:
        file_with("frequency.yaml", MOMENTS)
        source, scale = load_questionnaire(
            file_with("fear.yaml", FEAR, ("scale: moments\n", "")), tmp_path
        )
        assert (source.scale, scale.title) == ("frequency", "Moments")

    def test_either_slot_may_stand_in_either_template(self, read) -> None:
        source, _ = read(
            ("In a crowd I am {TERM}.", "In a crowd I {INTENSIFIER} feel {TERM}."),
            ("This {INTENSIFIER} h", "This h"),
        )
        assert source.items["first"].hypothesis == "This happens."

    def test_a_term_inside_a_longer_word_is_none(self, read) -> None:
        assert (
            read(("In a crowd", "In a calmer crowd"))[0]
            .items["first"]
            .premise.startswith("In a calmer crowd")
        )

    def test_an_intensifier_inside_a_longer_word_is_none(self, read) -> None:
        assert (
            read(("In a crowd", "In the Nevermore"))[0]
            .items["first"]
            .premise.startswith("In the Nevermore")
        )


# (change to the questionnaire, where after the file, what is wrong and what to do)
REFUSED = [
    pytest.param(
        ("crowd I am {TERM}", "crowd I am so"),
        "items.first: premise and hypothesis hold {TERM} 0 times together, expected once; fix it",
        id="no-term",
    ),
    pytest.param(
        ("This {INTENSIFIER} h", "Being {TERM} {INTENSIFIER} h"),
        "items.first: premise and hypothesis hold {TERM} 2 times together, expected once; fix it",
        id="term-twice",
    ),
    pytest.param(
        ("crowd I am {TERM}", "crowd I am {TERMS}"),
        "items.first: unknown slot {TERMS}; did you mean '{TERM}'?; fix it",
        id="unknown-slot",
    ),
    pytest.param(
        ("crowd I am {TERM}", "crowd I am {TERM}}"),
        "items.first: a brace belongs to no slot; fix it",
        id="brace",
    ),
    pytest.param(
        ("inverse: [calm]", "inverse: {calm: calm, other: Ill At Ease}"),
        "items.first.terms: 'ill at ease' is both a source and an inverse term; fix it",
        id="overlap-but-for-case",
    ),
    pytest.param(
        ("This {INTENSIFIER} happens", "This {INTENSIFIER} leaves me ill at ease"),
        "items.first: the term 'ill at ease' stands in a template, which should be neutral; fix it",
        id="term-in-hypothesis",
    ),
    pytest.param(
        ("{INTENSIFIER} feel so", "{INTENSIFIER} feel so, Very Rarely not"),
        "items.second: the intensifier 'very rarely' stands in a template; take it out: "
        "{INTENSIFIER} says how often",
        id="intensifier-in-hypothesis",
    ),
    pytest.param(
        ("I {INTENSIFIER} feel so", "It {INTENSIFIER} happen"),
        "items.second: 'It {INTENSIFIER} happen': subject and verb do not agree; fix it",
        id="verb-does-not-agree",
    ),
    pytest.param(
        ("I {INTENSIFIER} feel so", "It {INTENSIFIER} happened"),
        "items.second: 'It {INTENSIFIER} happened': a habit is told in the present, not as "
        "'happened'; fix it",
        id="verb-in-the-past",
    ),
]

# (change to the scale, where after the file, what is wrong and what to do)
SCALE_REFUSED = [
    pytest.param(
        ("weight: -2.5", "weight: -4.0"),
        "weights [-4.0, -4.0, 4.0] do not rise from level to level; fix it",
        id="equal-weights",
    ),
]


class TestWhatIsRefused:
    @pytest.mark.parametrize(("change", "line"), REFUSED)
    def test_one_line_with_file_item_finding_and_remedy(
        self, read, tmp_path, error_of, change, line
    ) -> None:
        assert error_of(read, change) == f"{tmp_path / 'fear.yaml'}: {line}"

    @pytest.mark.parametrize(("change", "line"), SCALE_REFUSED)
    def test_a_scale_too(self, read, tmp_path, error_of, change, line) -> None:
        assert error_of(read, scale=(change,)) == f"{tmp_path / 'moments.yaml'}: {line}"

    def test_a_word_at_two_levels_under_two_slugs(self, read, error_of) -> None:
        assert "two levels" in error_of(
            read, scale=(("[always]", "{always: always, ever: Never}"),)
        )

    def test_a_weight_that_is_not_finite(self, read, error_of) -> None:
        assert "weight" in error_of(read, scale=(("{weight: 4,", "{weight: .inf,"),))

    def test_two_items_that_ask_the_same(self, read, tmp_path, error_of) -> None:
        again = "  third:\n    original: And now?\n    premise: In a crowd I am {TERM}.\n"
        again += (
            "    hypothesis: This {INTENSIFIER} happens.\n    terms: {source: [tense], "
            "inverse: [fine, Calm]}\n"
        )
        assert error_of(read, ("  second:", f"{again}  second:")) == (
            f"{tmp_path / 'fear.yaml'}: items 'first' and 'third' ask the same of 'Calm'; fix it"
        )

    def test_the_same_templates_may_ask_another_thing(self, read) -> None:
        again = "  third:\n    original: And now?\n    premise: In a crowd I am {TERM}.\n"
        again += (
            "    hypothesis: This {INTENSIFIER} happens.\n    terms: {source: [tense], "
            "inverse: [fine]}\n"
        )
        assert list(read(("  second:", f"{again}  second:"))[0].items) == [
            "first",
            "third",
            "second",
        ]

    def test_an_unknown_scale_is_answered_with_the_nearest(self, read, tmp_path, error_of) -> None:
        assert error_of(read, ("scale: moments", "scale: moment")) == (
            f"{tmp_path / 'moment.yaml'}: no scale 'moment'; did you mean 'moments'?; fix `scale` "
            "or write it"
        )

    def test_an_unknown_questionnaire_too(self, tmp_path, file_with, error_of) -> None:
        file_with("fear.yaml", FEAR)
        path = tmp_path / "fears.yaml"
        assert error_of(load_questionnaire, path, tmp_path) == (
            f"{path}: no source for the questionnaire 'fears'; did you mean 'fear'?; "
            "write the file or check the name under `instruments` in params.yaml"
        )


class TestDisagreement:
    @pytest.mark.parametrize(
        "template",
        [
            "I {INTENSIFIER} focus on it.",
            "Things like this {INTENSIFIER} happen to me.",
            "This {INTENSIFIER} happens.",
            "It {INTENSIFIER} can happen.",
            "He {INTENSIFIER} passes.",
            "You {INTENSIFIER} pass.",
            "I {INTENSIFIER} need help.",
            "I am {INTENSIFIER} like this.",
            "{INTENSIFIER} I feel so.",
        ],
    )
    def test_sound(self, template) -> None:
        assert verb_error(template) is None

    @pytest.mark.parametrize(
        ("template", "named"),
        [
            ("It {INTENSIFIER} happen.", "It {INTENSIFIER} happen"),
            ("it {INTENSIFIER} are so.", "it {INTENSIFIER} are"),
            ("She {INTENSIFIER} need help.", "She {INTENSIFIER} need"),
            ("I {INTENSIFIER} feels so.", "I {INTENSIFIER} feels"),
            ("They {INTENSIFIER} is late.", "They {INTENSIFIER} is"),
        ],
    )
    def test_of_subject_and_verb(self, template, named) -> None:
        assert verb_error(template) == f"{named!r}: subject and verb do not agree"

    @pytest.mark.parametrize(("subject", "verb"), [("It", "happened"), ("They", "Needed")])
    def test_the_past_is_no_habit(self, subject, verb) -> None:
        assert verb_error(f"{subject} {{INTENSIFIER}} {verb} here.") == (
            f"'{subject} {{INTENSIFIER}} {verb}': a habit is told in the present, not as {verb!r}"
        )

    @pytest.mark.parametrize(
        "template",
        [
            "It {INTENSIFIER} still happens.",
            "She {INTENSIFIER} really worries.",
            "I {INTENSIFIER} shed tears.",
        ],
    )
    def test_sound_but_hard(self, template) -> None:
        assert verb_error(template) is None


class TestShipped:
    @pytest.mark.parametrize(
        ("name", "n_items", "n_prompts", "wording", "reversed_items"),
        [
            ("gad-7", 7, 1344, "held", 0),
            ("phq-9", 9, 1728, "held", 0),
            ("soc-13", 13, 2496, "paraphrased", None),
            ("trust-in-people", 6, 1152, "held", 2),
            ("ipip-extraversion", 10, 1920, "held", 5),
            ("women-roles", 8, 1536, "held", 3),
            ("immigrants", 12, 2304, "held", 6),
        ],
    )
    def test_they_load_and_have_their_prompts(
        self, name, n_items, n_prompts, wording, reversed_items
    ) -> None:
        source, scale = load_questionnaire(SOURCES / "questionnaires" / f"{name}.yaml", SCALES)

        built = fill_templates(name, source, scale)
        assert (len(source.items), len(built.prompts)) == (n_items, n_prompts)
        assert built.rejected == []
        assert source.original.wording == wording
        if reversed_items is not None:
            assert sum(shipped.keying == -1 for shipped in source.items.values()) == reversed_items
        for shipped in source.items.values():
            assert {len(terms) for terms in vars(shipped.terms).values()} <= {2, 3, 4}

    def test_the_scale_is_that_of_the_paper(self) -> None:
        _, scale = load_questionnaire(SOURCES / "questionnaires" / "gad-7.yaml", SCALES)
        weight_by_word: dict[str, float] = {}
        for level in scale.levels:
            weight_by_word |= dict.fromkeys(level.words.values(), level.weight)
        assert weight_by_word == {
            "never": -4,
            "very rarely": -3,
            "seldom": -2,
            "rarely": -2,
            "frequently": 2,
            "often": 2,
            "very frequently": 3,
            "always": 4,
        }

    def test_soc_13_has_its_three_subscales(self) -> None:
        source, _ = load_questionnaire(SOURCES / "questionnaires" / "soc-13.yaml", SCALES)
        assert Counter(item.subscale for item in source.items.values()) == {
            "comprehensibility": 5,
            "manageability": 4,
            "meaningfulness": 4,
        }
