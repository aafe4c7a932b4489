import hashlib
from collections.abc import Callable
from typing import Any

import pytest

from evenruler.instruments.questionnaires import schemas
from evenruler.instruments.questionnaires.declare.source import QuestionnaireSource, ResponseScale
from evenruler.instruments.questionnaires.rows import QuestionnaireRows, fill_templates
from evenruler.tables import read_frame, write_table
from tests.text_tables import yaml_of_text

ITEM = yaml_of_text("""\
original: How often do you meet one?
premise: At night I meet a {TERM}.
hypothesis: This {INTENSIFIER} happens.
keying: -1
subscale: night
terms: {source: {enemy: enemy}, inverse: {pal: friend}}
""")
SOURCE = yaml_of_text("""\
title: Meetings
construct: meetings
direction: positive means fewer enemies
original: {name: M-1, licence: cc0-1.0, reference: here, wording: paraphrased}
source: by hand
licence: cc-by-4.0
""") | {"items": {"one": ITEM}}
SCALE = yaml_of_text("""\
title: Two
source: by hand
levels:
  - {weight: -4, words: [never]}
  - {weight: 2.5, words: {often: very often}}
""")


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def translated() -> Callable[..., QuestionnaireRows]:
    """The tables of the questionnaire, with keys of its item replaced, and others of its own."""

    def make(
        item: dict[str, Any] | None = None,
        slug: str = "one",
        name: str = "meetings",
        scale: Any = None,
        **changes: Any,
    ) -> QuestionnaireRows:
        source = {**SOURCE, "items": {slug: {**ITEM, **(item or {})}}, **changes}
        return fill_templates(
            name,
            QuestionnaireSource.model_validate(source),
            ResponseScale.model_validate(scale or SCALE),
        )

    return make


COMMON = {"variant": "agree", "framing": "bare", "source": "by hand", "licence": "cc-by-4.0"}


def prompt_row(
    term: str, polarity: str, word: str, intensifier: str, level: int, weight: float, how: str
) -> dict:
    """A prompt written out. Identity and content are spelled as JSON, sorted and without blanks."""
    identity = (
        f'{{"benchmark":"meetings","family":"questionnaires","framing":"bare","intensifier":"{intensifier}",'
        f'"item":"one","term":"{term}","variant":"agree"}}'
    )
    premise, hypothesis = f"At night I meet {word}.", f"This {how} happens."
    content = f'["{premise}","{hypothesis}","{polarity}",{level},{weight},-1]'
    return {
        "id": sha256(identity)[:16],
        "content_sha256": sha256(content),
        **COMMON,
        "questionnaire": "meetings",
        "subscale": "night",
        "item": "one",
        "twin": 0,
        "keying": -1,
        "term": term,
        "polarity": polarity,
        "intensifier": intensifier,
        "level": level,
        "weight": weight,
        "premise": premise,
        "hypothesis": hypothesis,
    }


class TestRows:
    def test_prompts_in_full(self, translated) -> None:
        assert translated().prompts == [
            prompt_row("enemy", "source", "an enemy", "never", 1, -4.0, "never"),
            prompt_row("enemy", "source", "an enemy", "often", 2, 2.5, "very often"),
            prompt_row("pal", "inverse", "a friend", "never", 1, -4.0, "never"),
            prompt_row("pal", "inverse", "a friend", "often", 2, 2.5, "very often"),
        ]

    def test_items_in_full(self, translated) -> None:
        content = (
            '["How often do you meet one?","night",-1,"At night I meet a {TERM}.","This '
            '{INTENSIFIER} happens."]'
        )
        assert translated().items == [
            {
                "id": sha256('{"benchmark":"meetings","family":"questionnaires","item":"one"}')[
                    :16
                ],
                "content_sha256": sha256(content),
                **COMMON,
                "item": "one",
                "twin": 0,
                "subscale": "night",
                "keying": -1,
                "original": "How often do you meet one?",
                "wording": "paraphrased",
                "premise": "At night I meet a {TERM}.",
                "hypothesis": "This {INTENSIFIER} happens.",
            }
        ]

    def test_items_that_hold_the_published_wording_say_whose_it_is(self, translated) -> None:
        original = {"name": "M-1", "licence": "free to print", "reference": "A and B, 1999"}
        original |= {"wording": "held"}
        built = translated(original=original)
        assert [(row["source"], row["licence"]) for row in built.items] == [
            ("by hand; wording: M-1 (A and B, 1999)", "cc-by-4.0; wording: free to print")
        ]
        for row in [*built.terms, *built.prompts]:
            assert (row["source"], row["licence"]) == ("by hand", "cc-by-4.0")

    def test_terms_in_full(self, translated) -> None:
        assert translated().terms == [
            {
                "id": sha256(
                    f'{{"benchmark":"meetings","family":"questionnaires","item":"one","term":"{term}"}}',
                )[:16],
                "content_sha256": sha256(f'["{word}","{polarity}"]'),
                **COMMON,
                "item": "one",
                "twin": 0,
                "term": term,
                "word": word,
                "polarity": polarity,
            }
            for term, word, polarity in [("enemy", "enemy", "source"), ("pal", "friend", "inverse")]
        ]

    def test_a_slot_that_begins_a_sentence_gets_its_capital(self, translated) -> None:
        built = translated({"hypothesis": "{INTENSIFIER} I do."})
        assert [row["hypothesis"] for row in built.prompts] == [
            "Never I do.",
            "Very often I do.",
        ] * 2

    def test_words_of_one_level_share_its_number_and_weight(self, translated) -> None:
        levels = [{"weight": -1, "words": ["rarely", "seldom"]}, {"weight": 1, "words": ["often"]}]
        built = translated(scale={**SCALE, "levels": levels})
        described = [(row["intensifier"], row["level"], row["weight"]) for row in built.prompts]
        assert described[:2] == [("rarely", 1, -1), ("seldom", 1, -1)]
        assert described[2] == ("often", 2, 1)

    def test_the_stem_is_put_before_the_original(self, translated) -> None:
        built = translated(original={**SOURCE["original"], "stem": "Think of last week."})
        assert built.items[0]["original"] == "Think of last week. How often do you meet one?"


def changed(
    before: QuestionnaireRows, after: QuestionnaireRows, column: str
) -> dict[str, list[bool]]:
    """By table, whether each row differs in a column."""
    differs = {}
    for table in ("items", "terms", "prompts"):
        rows = zip(getattr(before, table), getattr(after, table), strict=True)
        differs[table] = [old[column] != new[column] for old, new in rows]
    return differs


NONE = {"items": [False], "terms": [False] * 2, "prompts": [False] * 4}
ALL = {"items": [True], "terms": [True] * 2, "prompts": [True] * 4}


class TestIds:
    @pytest.mark.parametrize(
        ("changes", "contents"),
        [
            ("item: {premise: 'I see a {TERM}.'}", {"items": [True], "prompts": [True] * 4}),
            ("item: {original: 'Do you meet one?'}", {"items": [True]}),
            (
                "item: {terms: {source: {enemy: rival}, inverse: {pal: friend}}}",
                {"terms": [True, False], "prompts": [True, True, False, False]},
            ),
            (
                "scale: {title: Two, source: by hand, levels: [{weight: -3, words: [never]}, "
                "{weight: 2.5, words: {often: very often}}]}",
                {"prompts": [True, False, True, False]},
            ),
        ],
    )
    def test_a_change_of_content_keeps_the_ids(self, translated, changes, contents) -> None:
        before, after = translated(), translated(**yaml_of_text(changes))
        assert changed(before, after, "id") == NONE
        assert changed(before, after, "content_sha256") == NONE | contents

    @pytest.mark.parametrize("changes", [{"slug": "two"}, {"name": "others"}])
    def test_another_slug_is_another_row(self, translated, changes) -> None:
        before, after = translated(), translated(**changes)
        assert changed(before, after, "id") == ALL
        assert changed(before, after, "content_sha256") == NONE


OTHER = {
    **ITEM,
    "premise": "At night I {TERM}.",
    "terms": {"source": ["meet an enemy"], "inverse": ["sleep"]},
}
"""An item one prompt of which `ITEM` has, too."""


class TestRejected:
    def test_the_same_prompt_of_two_items(self, translated, tmp_path) -> None:
        built = translated(items={"one": ITEM, "two": OTHER})
        write_table(built.rejected, schemas.REJECTED, tmp_path / "table.parquet")
        rejected = read_frame(tmp_path / "table.parquet").set_index("reason")
        assert rejected["term"].to_dict() == {
            f"same prompt as {row['id']}": "meet-an-enemy" for row in built.prompts[:2]
        }
        sleep = [(row["item"], row["term"]) for row in built.prompts[4:]]
        assert sleep == [("two", "sleep")] * 2
