"""Impersonal twins: what they may be, their rows, and what is said of items beside them."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from evenruler.errors import UserError
from evenruler.instruments.questionnaires.declare import (
    SPREAD,
    Settings,
    load,
    minimum_detectable_effect,
)
from evenruler.instruments.questionnaires.declare.source import (
    QuestionnaireSource,
    ResponseScale,
    load_questionnaire,
    refuse_own_intensifiers,
)
from evenruler.instruments.questionnaires.rows import fill_templates
from tests.conftest import ROOT
from tests.instruments.questionnaires.test_rows import ITEM, SCALE, SOURCE
from tests.text_tables import read_cells, yaml_of_text

TWIN = yaml_of_text("""\
premise: At night the road meets a {TERM}.
hypothesis: This {INTENSIFIER} happens.
terms: {source: {swamp: swamp}, inverse: {bridge: bridge}}
""")
SHIPPED = ROOT / "data" / "sources" / "questionnaires"


def source(n: int = 1, **changes: Any) -> QuestionnaireSource:
    """Of one item, with n twins that differ in where the road lies."""
    twins = []
    for place in ("At night", "By day", "In rain")[:n]:
        premise = TWIN["premise"].replace("At night", place)
        twins.append({**TWIN, "premise": premise, **changes})
    return QuestionnaireSource.model_validate(
        {**SOURCE, "items": {"one": {**ITEM, "twins": twins}}}
    )


def first_items(questionnaire: Any, n: int) -> Any:
    """A questionnaire of the first n items of another."""
    kept_items = dict(list(questionnaire.items.items())[:n])
    return questionnaire.model_copy(update={"items": kept_items})


SETTINGS = Settings.model_validate({"embedder": "minilm"}, context={"profile": "quick"})


class TestLinter:
    @pytest.mark.parametrize(
        ("changes", "complaint"),
        read_cells("""
premise: At night I meet a {TERM} on the road. | 'I' is about a person
terms: {source: [swamp], inverse: [kind people]} | 'people' is about a person
{premise: "It {INTENSIFIER} rains.", hypothesis: "The road meets a {TERM}."} | its premise holds
hypothesis: This happens. | INTENSIFIER} 0 times
premise: At night the swamp meets a {TERM}. | the term 'swamp' stands in a template
"""),
    )
    def test_refuses(self, changes, complaint) -> None:
        with pytest.raises(ValidationError, match=complaint):
            source(**yaml_of_text(changes))

    def test_every_item_has_some_or_none(self) -> None:
        two = {
            "one": {**ITEM, "twins": [TWIN]},
            "two": {**ITEM, "premise": "By day I meet a {TERM}."},
        }
        with pytest.raises(
            ValidationError, match="'two' has no twin: either every item has some or none has"
        ):
            QuestionnaireSource.model_validate({**SOURCE, "items": two})

    def test_refuses_an_intensifier_in_its_template(self) -> None:
        scale = ResponseScale.model_validate(SCALE)
        with pytest.raises(UserError, match=r"'never' stands in a template") as raised:
            refuse_own_intensifiers(
                source(premise="The road never meets a {TERM}."), scale, Path("x.yaml")
            )
        assert raised.value.where == "x.yaml: items.one, twin 1"

    def test_warns_of_another_number_of_terms_and_of_few_or_none(self) -> None:
        single, more = (
            {"source": ["enemy ship", *also], "inverse": ["friendly ship"]}
            for also in ([], ["enemy boat"])
        )
        assert SETTINGS.twin_warnings(source(3, terms=single)) == []
        assert SETTINGS.twin_warnings(source(3, terms=more)) == [
            f"items.one: twin {twin} has 2 source terms, the item 1" for twin in (1, 2, 3)
        ]
        few = "1 twin (at least 3 needed): their mean says little"
        assert SETTINGS.twin_warnings(source(1, terms=single)) == [f"items.one: {few}"]
        (warning,) = SETTINGS.twin_warnings(source(0))
        assert warning.startswith("no item has a twin")

    def test_warns_of_another_valence_of_source_terms_and_of_what_the_normalisation_contrasts(
        self,
    ) -> None:
        """VADER gives "enemy" -.54, "friend" .49, "swamp" and "bridge" 0."""
        source_terms, contrast = SETTINGS.twin_warnings(source(3))
        assert source_terms.startswith(
            "items.one: source terms have valence -0.54, those of its twins 0.00; they may"
        )
        assert contrast.startswith(
            "items.one: source less inverse terms have valence -1.04, those of its twins 0.00"
        )


class TestDetects:
    def test_it_is_what_makes_i_the_furthest(self) -> None:
        """Twenty normal deviates lie within 2.54 SD in 8 of 10 studies; I is a mean of three."""
        expected = SPREAD * (2.541 + 0.842 / 3**0.5)
        assert minimum_detectable_effect(20) == pytest.approx(expected, abs=1e-3)

    def test_too_few_items_or_subjects_find_nothing(self) -> None:
        read = load(SHIPPED / "gad-7.yaml", SETTINGS, SHIPPED / "shared")
        trial = SETTINGS.model_copy(update={"subjects": 6})
        sentence = f"{minimum_detectable_effect(20):.2f} points between I and 20 others in 7 items"
        assert str(SETTINGS.detects(read)).startswith(sentence)
        assert SETTINGS.subjects == 20
        assert trial.detects(read) is None
        assert SETTINGS.detects(first_items(read, 5)) is None

    def test_too_few_items_are_warned_of(self) -> None:
        read = load(SHIPPED / "gad-7.yaml", SETTINGS, SHIPPED / "shared")
        few = "{} (at least 6 needed): no verdict is possible"
        for n, expected in ((1, [few.format("1 item")]), (6, [])):
            warnings = SETTINGS.warnings(first_items(read, n))
            assert [line for line in warnings if "verdict" in line] == expected


class TestRows:
    def test_stand_beside_those_of_the_item_with_ids_of_their_own(self) -> None:
        scale = ResponseScale.model_validate(SCALE)
        with_twins, without = (
            fill_templates("meetings", template, scale) for template in (source(2), source(0))
        )
        for table, n in (("items", 1), ("terms", 2), ("prompts", 4)):
            rows = getattr(with_twins, table)
            assert rows[:n] == getattr(without, table)
            assert [row["twin"] for row in rows] == sorted([0, 1, 2] * n)
            assert len({row["id"] for row in rows}) == 3 * n
        prompt, twin = with_twins.prompts[4], with_twins.items[1]
        assert prompt["premise"] == "At night the road meets a swamp."
        assert prompt["hypothesis"] == "This never happens."
        assert (twin["original"], twin["wording"]) == (None, None)


def n_words(template: str) -> int:
    return len(template.split())


class TestShipped:
    @pytest.mark.parametrize("name", sorted(path.stem for path in SHIPPED.glob("*.yaml")))
    def test_every_item_has_three_twins_of_its_form(self, name) -> None:
        read, _ = load_questionnaire(SHIPPED / f"{name}.yaml", SHIPPED / "shared/scales")
        assert SETTINGS.twin_warnings(read) == []
        assert read.twins == 3 * len(read.items)
        for original in read.items.values():
            for twin in original.twins:
                assert abs(n_words(twin.premise) - n_words(original.premise)) <= 6
                assert abs(n_words(twin.hypothesis) - n_words(original.hypothesis)) <= 1
