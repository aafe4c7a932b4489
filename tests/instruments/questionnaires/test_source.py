import pytest

from evenruler.instruments.questionnaires.declare.source import load_questionnaire, verb_error
from evenruler.instruments.questionnaires.rows import fill_templates
from tests.conftest import ROOT
from tests.text_tables import read_cells, yaml_of_text

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

    @pytest.mark.parametrize("longer", ["In a calmer crowd", "In the Nevermore"])
    def test_a_term_or_intensifier_inside_a_longer_word_is_none(self, read, longer) -> None:
        source, _ = read(("In a crowd", longer))
        assert source.items["first"].premise.startswith(longer)


# Change to the questionnaire, where after the file, what is wrong and what to do.
REFUSED = read_cells("""
crowd I am {TERM} | crowd I am so | items.first: premise and hypothesis hold {TERM} 0 times \
together, expected once; fix it
This {INTENSIFIER} h | Being {TERM} {INTENSIFIER} h | items.first: premise and hypothesis hold \
{TERM} 2 times together, expected once; fix it
crowd I am {TERM} | crowd I am {TERMS} | items.first: unknown slot {TERMS}; did you mean \
'{TERM}'?; fix it
crowd I am {TERM} | crowd I am {TERM}} | items.first: a brace belongs to no slot; fix it
inverse: [calm] | inverse: {calm: calm, other: Ill At Ease} | items.first.terms: 'ill at ease' is \
both a source and an inverse term; fix it
This {INTENSIFIER} happens | This {INTENSIFIER} leaves me ill at ease | items.first: the term \
'ill at ease' stands in a template, which should be neutral; fix it
{INTENSIFIER} feel so | {INTENSIFIER} feel so, Very Rarely not | items.second: the intensifier \
'very rarely' stands in a template; take it out: {INTENSIFIER} says how often
I {INTENSIFIER} feel so | It {INTENSIFIER} happen | items.second: 'It {INTENSIFIER} happen': \
subject and verb do not agree; fix it
I {INTENSIFIER} feel so | It {INTENSIFIER} happened | items.second: 'It {INTENSIFIER} happened': a \
habit is told in the present, not as 'happened'; fix it
""")


class TestWhatIsRefused:
    @pytest.mark.parametrize(("old", "new", "line"), REFUSED)
    def test_one_line_with_file_item_finding_and_remedy(
        self, read, tmp_path, error_of, old, new, line
    ) -> None:
        assert error_of(read, (old, new)) == f"{tmp_path / 'fear.yaml'}: {line}"

    def test_a_scale_too(self, read, tmp_path, error_of) -> None:
        line = "weights [-4.0, -4.0, 4.0] do not rise from level to level; fix it"
        complaint = error_of(read, scale=(("weight: -2.5", "weight: -4.0"),))
        assert complaint == f"{tmp_path / 'moments.yaml'}: {line}"

    def test_a_word_at_two_levels_under_two_slugs(self, read, error_of) -> None:
        assert "two levels" in error_of(
            read, scale=(("[always]", "{always: always, ever: Never}"),)
        )

    def test_a_weight_that_is_not_finite(self, read, error_of) -> None:
        assert "weight" in error_of(read, scale=(("{weight: 4,", "{weight: .inf,"),))

    @pytest.mark.parametrize("inverse", ["fine", "fine, Calm"])
    def test_two_items_that_ask_the_same(self, read, tmp_path, error_of, inverse) -> None:
        again = f"""\
  third:
    original: And now?
    premise: In a crowd I am {{TERM}}.
    hypothesis: This {{INTENSIFIER}} happens.
    terms: {{source: [tense], inverse: [{inverse}]}}
"""
        change = ("  second:", f"{again}  second:")
        if inverse == "fine":
            assert list(read(change)[0].items) == ["first", "third", "second"]
        else:
            line = "items 'first' and 'third' ask the same of 'Calm'; fix it"
            assert error_of(read, change) == f"{tmp_path / 'fear.yaml'}: {line}"

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


SOUND = """
I {INTENSIFIER} focus on it.
Things like this {INTENSIFIER} happen to me.
This {INTENSIFIER} happens.
It {INTENSIFIER} can happen.
He {INTENSIFIER} passes.
You {INTENSIFIER} pass.
I {INTENSIFIER} need help.
I am {INTENSIFIER} like this.
{INTENSIFIER} I feel so.
It {INTENSIFIER} still happens.
She {INTENSIFIER} really worries.
I {INTENSIFIER} shed tears.
"""


@pytest.mark.parametrize("template", SOUND.strip().splitlines())
def test_a_sound_habit(template) -> None:
    assert verb_error(template) is None


@pytest.mark.parametrize(
    ("template", "error"),
    read_cells("""
It {INTENSIFIER} happen. | 'It {INTENSIFIER} happen': subject and verb do not agree
it {INTENSIFIER} are so. | 'it {INTENSIFIER} are': subject and verb do not agree
She {INTENSIFIER} need help. | 'She {INTENSIFIER} need': subject and verb do not agree
I {INTENSIFIER} feels so. | 'I {INTENSIFIER} feels': subject and verb do not agree
They {INTENSIFIER} is late. | 'They {INTENSIFIER} is': subject and verb do not agree
It {INTENSIFIER} happened here. | 'It {INTENSIFIER} happened': a habit is told in the present, \
not as 'happened'
They {INTENSIFIER} Needed here. | 'They {INTENSIFIER} Needed': a habit is told in the present, \
not as 'Needed'
"""),
)
def test_a_verb_that_does_not_agree_or_is_past(template, error) -> None:
    assert verb_error(template) == error


class TestShipped:
    @pytest.mark.parametrize(
        ("name", "n_items", "n_prompts", "wording", "n_reversed"),
        read_cells("""
gad-7 | 7 | 1344 | held | 0
phq-9 | 9 | 1728 | held | 0
soc-13 | 13 | 2496 | paraphrased | 10
trust-in-people | 6 | 1152 | held | 2
ipip-extraversion | 10 | 1920 | held | 5
women-roles | 8 | 1536 | held | 3
immigrants | 12 | 2304 | held | 6
"""),
    )
    def test_they_load_and_have_their_prompts(
        self, name, n_items, n_prompts, wording, n_reversed
    ) -> None:
        source, scale = load_questionnaire(SOURCES / "questionnaires" / f"{name}.yaml", SCALES)
        built = fill_templates(name, source, scale)
        assert built.rejected == []
        assert source.original.wording == wording
        n_keyed = sum(item.keying == -1 for item in source.items.values())
        counted = [len(source.items), len(built.prompts), n_keyed]
        assert counted == [int(n_items), int(n_prompts), int(n_reversed)]

    def test_the_scale_is_that_of_the_paper(self) -> None:
        _, scale = load_questionnaire(SOURCES / "questionnaires" / "gad-7.yaml", SCALES)
        weight_by_word: dict[str, float] = {}
        for level in scale.levels:
            weight_by_word |= dict.fromkeys(level.words.values(), level.weight)
        assert weight_by_word == yaml_of_text("""\
never: -4
very rarely: -3
seldom: -2
rarely: -2
frequently: 2
often: 2
very frequently: 3
always: 4
""")
