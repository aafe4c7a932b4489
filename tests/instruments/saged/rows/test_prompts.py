"""Sentences become prompts and counterfactual prompts."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import pytest

from evenruler.errors import UserError
from evenruler.instruments.saged.declare.source import Source
from evenruler.instruments.saged.rows.branching import (
    DOUBTFUL,
    FORM,
    NOTHING,
    OTHER,
    Branched,
    ReplacedSpan,
)
from evenruler.instruments.saged.rows.prompts import (
    _cut_after_replacements,
    count_items,
    rows_of,
)
from evenruler.instruments.saged.rows.questions import Question
from evenruler.instruments.saged.schemas import PROMPTS
from evenruler.tables.ids import content_sha256
from tests.instruments.saged.domains import SOURCE
from tests.instruments.saged.rows.branched import root_of

REPLACEMENTS = {"apple": {"orange": {"apple": "orange"}, "pear": {"apple": "pear"}}}


def domain(method: str = "split", per_concept: int = 10, **branch: Any) -> Source:
    return Source.model_validate(
        SOURCE
        | {
            "concepts": {name: name for name in ("apple", "orange", "pear")},
            "assemble": {
                "method": method,
                "per_concept": per_concept,
                **({"model": "m"} if method == "question" else {}),
            },
            "branch": {"roots": ["apple"], "replacements": REPLACEMENTS, **branch},
            "prefixes": None,
        }
    )


ORIGIN = {
    "content_sha256": "0",
    "root": None,
    "baseline": None,
    "note": None,
    "source_tag": "fruit.md",
    "title": "fruit.md",
    "section": "",
    "page_id": None,
    "revision_id": 7,
    "url": "u",
    "language": "en",
    "source": "us",
    "licence": "cc0-1.0",
}


def sentence(text: str, concept: str = "apple") -> dict[str, Any]:
    identity = {"id": content_sha256(text)[:16], "concept": concept, "keyword": concept}
    return ORIGIN | identity | {"sentence": text}


SECRET = Question("", (("No.", "secret"),))


def asks(sentences: Sequence[str], keywords: Sequence[str]) -> list[Question]:
    """A test double: asks what is good about the keyword of every sentence that is no secret."""
    return [
        SECRET if "secret" in text else Question(f"What is good about an {word}?")
        for text, word in zip(sentences, keywords, strict=True)
    ]


TREE = {
    "apple": "An apple keeps the doctor away from every apple tree.",
    "orange": "An orange keeps the doctor away from every orange tree.",
    "pear": "A pear keeps the doctor away from every pear tree.",
}


def test_branches_agree_in_prompt_and_baseline_and_differ_from_the_root_in_the_spans_alone() -> (
    None
):
    prompts = rows_of("fruit", domain(), [sentence(TREE["apple"])], asks).prompts
    root = prompts[0]
    assert {row["concept"]: row["baseline"] for row in prompts} == TREE
    assert [row["prompt"] for row in prompts] == [
        "An apple keeps",
        "An orange keeps",
        "A pear keeps",
    ]
    for row in prompts:
        for key in ("prompt", "baseline"):
            spans = tuple(ReplacedSpan(**span) for span in row[f"{key}_spans"])
            assert root_of(Branched(row[key], spans)) == root[key]
        assert row["root_id"] == root["id"]
        assert row["is_root"] == (row is root)
        assert set(row) == set(PROMPTS.names)
    assert len({row["id"] for row in prompts}) == 3
    shares = {
        row["concept"]: (
            row["items"],
            row["replaced"],
        )
        for row in count_items(prompts)
    }
    assert shares == {"apple": (1, 0.0), "orange": (1, 1.0), "pear": (1, 1.0)}


def test_questions_are_branched_for_themselves() -> None:
    built = rows_of("fruit", domain("question"), [sentence("Every apple tastes sweet.")], asks)
    assert [row["prompt"] for row in built.prompts] == [
        "What is good about an apple?",
        "What is good about an orange?",
        "What is good about a pear?",
    ]


def test_without_counterfactual_baselines_all_keep_that_of_the_root() -> None:
    unchanged = domain("question", counterfactual_baseline=False)
    prompts = rows_of("fruit", unchanged, [sentence("Every apple is sweet.")], asks).prompts
    assert {row["baseline"] for row in prompts} == {"Every apple is sweet."}
    assert all(row["baseline_spans"] == [] for row in prompts)


def asks_what_follows(sentences: Sequence[str], keywords: Sequence[str]) -> list[Question]:
    """A test double: another question for every last word; secrets are kept."""
    questions = []
    for text, word in zip(sentences, keywords, strict=True):
        last = text.split()[-1][:-1]
        question = Question(f"Is every {word} one that {last}?")
        questions.append(SECRET if "secret" in text else question)
    return questions


def test_a_prompt_is_asked_once() -> None:
    texts = ["Every apple grows.", "Surely an apple grows.", "An apple falls."]
    built = rows_of("fruit", domain("question"), list(map(sentence, texts)), asks_what_follows)
    roots = [row["prompt"] for row in built.prompts if row["is_root"]]
    assert sorted(roots) == ["Is every apple one that falls?", "Is every apple one that grows?"]
    assert [row["reason"] for row in built.rejected] == ["its prompt is that of another item"]


def test_what_became_no_prompt_is_there_with_its_reason_and_others_take_its_place() -> None:
    texts = [
        "Every apple is a secret.",
        "Every apple tastes sweet.",
        "Every apple falls.",
        "Every apple grows.",
    ]
    rows = [sentence(text) for text in texts] + [sentence("A pear is soft.", "pear")]
    built = rows_of("fruit", domain("question", per_concept=2), rows, asks_what_follows)
    assert sum(row["is_root"] for row in built.prompts) == 2
    reasons = [row["reason"] for row in built.rejected]
    assert reasons[0] == "its concept is no root"
    assert set(reasons[1:]) <= {"secret", "not drawn: 2 a concept are enough"}
    assert len(built.rejected) + 2 == len(rows)


def test_a_branch_that_a_sentence_does_not_fit_is_rejected_and_one_that_fits_none_is_no_item() -> (
    None
):
    rows = [
        sentence("Every apple and orange falls."),
        sentence("Every apple tree of Apple falls."),
        sentence("An apple falls to the ground."),
    ]
    built = rows_of("fruit", domain(), rows, asks)
    grounds = [
        "An apple falls to the ground.",
        "An orange falls to the ground.",
        "A pear falls to the ground.",
    ]
    assert [row["baseline"] for row in built.prompts] == grounds
    fields = itemgetter("sentence", "concept", "reason")
    assert set(map(fields, built.rejected)) == {
        ("Every apple and orange falls.", "apple", f"{OTHER}: 'orange'"),
        ("Every apple tree of Apple falls.", "apple", f"{DOUBTFUL}: 'Apple'"),
    }


def test_what_one_branch_cannot_say_is_rejected_for_it_alone() -> None:
    maps = {"orange": {"Apple": "the Orange"}, "pear": {"Apple": "Pear"}}
    concepts = {"apple": "Apple", "orange": "Orange", "pear": "Pear"}
    branch = {"roots": ["apple"], "replacements": {"apple": maps}}
    named = Source.model_validate(SOURCE | {"concepts": concepts, "branch": branch})
    modern = sentence("In modern Apple wool is dear.")
    (row,) = rows_of("fruit", named, [modern], asks).rejected
    assert (row["concept"], row["reason"]) == ("orange", f"{FORM}: 'Apple' by 'the Orange'")
    assert row["id"] != modern["id"]


def test_a_prompt_in_which_nothing_is_replaced_is_none() -> None:
    built = rows_of(
        "fruit",
        domain("question"),
        [sentence("Every apple falls.")],
        lambda *_: [Question("Does it fall?")],
    )
    assert built.prompts == []
    assert [row["reason"] for row in built.rejected] == [f"{NOTHING}: the prompt"]


def test_a_root_word_that_no_replacement_reaches_is_an_error_unless_allowed() -> None:
    maps = {"apple": REPLACEMENTS["apple"] | {"pear": {"apple": "pear", "cider": "perry"}}}
    rows = [sentence("Every apple tastes of cider.")]
    with pytest.raises(
        UserError,
        match=r"fruit: orange: 'cider' of the root is still in 'Every orange tastes of cider.'",
    ):
        rows_of("fruit", domain(replacements=maps), rows, asks)
    allowed = rows_of("fruit", domain(replacements=maps, allow_leaks=True), rows, asks).prompts
    assert [row["baseline"] for row in allowed[1:]] == [
        "Every orange tastes of cider.",
        "Every pear tastes of perry.",
    ]


def test_a_cut_inside_a_replacement_moves_behind_it_for_all() -> None:
    branched = Branched("A pear tree", (ReplacedSpan(0, 6, "An apple", "A pear"),))
    cuts = [_cut_after_replacements(cut, [branched]) for cut in (0, 2, 8, 9)]
    assert cuts == [0, 8, 8, 9]
    assert branched.up_to(8) == Branched("A pear", branched.spans)
    late = Branched("on a pear", (ReplacedSpan(3, 9, "an apple", "a pear"),))
    assert late.up_to(2) == Branched("on", ())
