"""What the card of a contrast says, and what it says that it does not show, by how it is asked."""

from itertools import product
from typing import Any

import pandas as pd

from evenruler.evaluate.session import limit_warnings
from evenruler.instruments.card import Card
from evenruler.instruments.framing import card, schemas
from evenruler.instruments.framing.card import card as card_of
from evenruler.instruments.framing.declare import headings
from evenruler.instruments.framing.declare.source import ContrastSource, Settings
from evenruler.measurement.figures import figure_rows
from evenruler.measurement.headings import find_heading
from tests.instruments.framing.hair import built, declaration, hair, settings, with_placebos
from tests.instruments.framing.recording import record
from tests.instruments.framing.report.framings import source

MANY = settings(stimuli=10, orders=6)


def limits(source: ContrastSource, settings: Settings) -> list[str]:
    """Where there are six orders of options."""
    return card.contrast_limits(source, settings, 6)


def of_variant(limits: list[str]) -> list[str]:
    return [
        text for text in limits if text.startswith(("It was built in the variant", "In the task"))
    ]


def card_with(**changes: object) -> Card:
    declared = declaration(**changes)
    return card_of(declared, *built(declared), [])


def test_the_variant_alone_is_a_parameter() -> None:
    assert card_with().parameters == {"variant": "balanced"}


def test_validity_counts_placebos_and_says_what_is_not_done() -> None:
    declared = declaration(with_placebos())
    validity = card_of(declared, *built(declared), []).validity
    assert validity is not None
    assert "hold one of 6 placebos" in validity.only_the_phenomenon
    assert validity.errors == "Not done: no model was asked."
    assert validity.representative.startswith("12 stimuli in 2 tasks; ")


def test_coverage_and_cells_below_it_are_the_errors() -> None:
    declared = declaration()
    coverage = {"figure": "coverage", "model": "m"}
    excluded = {"figure": "excluded_cells", "model": "m", "value": 4.0}
    evidence = [{**coverage, "value": 0.166}, {**coverage, "cell": "bare", "value": 0.9}, excluded]
    validity = card_of(declared, *built(declared), evidence).validity
    assert validity is not None
    assert validity.errors.startswith(
        "Share of answers that name an option: m 0.17. Cells below their coverage: m 4. Reading of "
        "answers"
    )


def test_the_example_is_a_prompt_with_a_cue() -> None:
    declared = declaration()
    tables, plan = built(declared)
    shown = card_of(declared, tables, plan, []).example
    assert shown is not None
    row = tables["prompts"].set_index("id").loc[shown.id]
    assert row["framing"] != "bare"
    assert pd.isna(row["placebo"])


def test_the_card_holds_the_limits_of_the_contrast() -> None:
    assert list(card_with(profile="paper").limits) == limits(hair(), settings("paper"))


def test_a_score_is_read_with_its_direction_in_words() -> None:
    assert card_with().reading.endswith("Shares and shifts: a share says which pronoun.")


def test_headlines_go_first_and_every_factor_has_its_mean() -> None:
    _, plan = built(declaration(with_placebos(headlines=["salience, choice", "instruction"])))
    columns = headings(plan)
    *of_cues, probability, coverage = columns
    cues = [(column.figure, column.dimensions["cue"]) for column in of_cues]
    figures = ("change", "nonresponse_change", "effect")
    assert cues == list(product(figures, ("salience", "instruction")))
    choice = {"cue": "salience", "task": "choice", "outcome": "he"}
    whole = {"cue": "instruction", "task": None, "outcome": "he"}
    assert [column.dimensions for column in of_cues[:2]] == [choice, whole]
    assert (probability.figure, probability.dimensions) == ("shift_probability", {})
    assert (coverage.figure, coverage.dimensions) == ("coverage", {"cell": None})


def test_low_coverage_is_warned_of_below_the_floor_of_the_settings() -> None:
    _, plan = built(declaration(least_coverage=0.25))
    coverage = headings(plan)[-1]
    assert (coverage.figure_type, coverage.least) == ("fitness", None)
    parts = product(("token", "choice"), ("plain", "chat"))
    figures: list[dict[str, object]] = []
    for (readout, prompt_format), share in zip(parts, (0.24, 0.26, 0.39, 0.41), strict=True):
        part = {"prompt_format": prompt_format, "readout": readout}
        figures.append({"figure": "coverage", "model": "m", **part, "value": share})
    warnings = limit_warnings(figures, headings(plan))
    assert [line.partition(":")[0] for line in warnings] == ["plain, token", "plain, choice"]
    assert coverage.warning.format(value=0.034) == (
        "only 3.4% of the answers name an option; figures describe only these"
    )


STUDY = {
    "factors": {"salience": "the prompt names gender"},
    "tasks": {
        "one": {
            "title": "One",
            "cells": {"bare": "Of {STIMULUS}: {ANSWER}", "salience": "Sex of {STIMULUS}: {ANSWER}"},
        }
    },
}


def test_a_replicated_study_shows_its_measures_before_and_what_changes() -> None:
    groups = {"a": {"text": "a", "group": "x"}, "b": {"text": "b", "group": "y"}}
    of_study = {"p-at": ["s", "h"], "indirect-probing": ["gas", "gld", "add"]}
    mean_changes = {"p-at": ["as"], "indirect-probing": ["as", "as_of_gld_and_add"]}
    for study, measures in of_study.items():
        _, plan = built(declaration(hair(replicates=study, stimuli=groups, **STUDY)))
        phases = product(measures, ("before", "change"))
        expected = [*phases, *product(mean_changes[study], ["change"])]
        effect, probability, *shown, coverage = headings(plan)
        by_phase = [(column.figure, column.dimensions["phase"]) for column in shown]
        assert by_phase == expected
        around = [column.figure for column in (effect, probability, coverage)]
        assert around == ["effect", "shift_probability", "coverage"]


def test_where_words_and_replies_are_asked_for_in_two_ways_the_card_says_that_as_is_null() -> None:
    def as_limits(**changes: object) -> list[str]:
        texts = limits(hair(replicates="indirect-probing", **STUDY), settings(**changes))
        return [text for text in texts if text.startswith("AS of all three measures")]

    (limit,) = as_limits()
    assert "`prompt_formats: every`" in limit
    assert "`AS of GLD and ADD`" in limit
    assert as_limits(profile="paper") == []
    assert len(as_limits(profile="paper", generations=0)) == 1


def test_what_is_listed_below_is_coverage_by_cell_and_shifts_by_class() -> None:
    columns = card_with(source=hair(continuation={"outcome": "he", "keywords": ["she"]})).listed
    cells = ("bare", "instruction", "salience+instruction")
    expected = [("coverage", "completion", cell) for cell in cells]
    expected += [("coverage", "choice", cell) for cell in cells[1:]]
    shown = [(column.figure, *column.dimensions.values()) for column in columns[:5]]
    assert shown == expected
    rest = [(column.figure, column.dimensions.get("outcome")) for column in columns[5:]]
    of_classes = [("shift", "he"), ("shift", "she"), ("continuation", "he")]
    assert rest == [("excluded_cells", None), *of_classes]


def test_every_figure_on_the_card_is_one_of_the_table() -> None:
    """Of a contrast with everything, on a model that answers the same to anything."""
    changes = {
        "tasks": with_placebos().tasks,
        "continuation": {"outcome": "he", "keywords": ["she"]},
    }
    recorded = record(**changes)
    declared = declaration(hair(**changes), choices="every")
    hair_card = card_of(declared, recorded.tables, recorded.plan, [])
    rows = figure_rows(recorded.found["figures"])
    for heading in [*hair_card.quality, *hair_card.listed]:
        assert any(find_heading(row, [heading]) for row in rows), heading


def test_limits_of_every_contrast_go_first_and_the_variant_is_named() -> None:
    assert card.WORDS["limits"][0].startswith("The classes are words, not people")
    first = [*card.WORDS["limits"], "Hair alone.", "It was built in the variant `balanced`."]
    assert limits(hair(limits=["Hair alone."]), MANY)[: len(first)] == first


def test_slips_of_a_variant_are_named_where_it_is_built() -> None:
    """As in table 3 of the paper: other classes on offer in either cell, and two options that read
    the same."""
    tasks = {name: task.model_dump(exclude_unset=True) for name, task in hair().tasks.items()}
    balanced, paper = (
        {"he": "He", "she": "She"},
        {
            "instruction": {"he": "He", "the": "The"},
            "salience+instruction": {"he": "He", "she": "She"},
        },
    )
    tasks["choice"]["options"] = {"balanced": balanced, "paper": paper}
    even, twice = (
        'Reply A for "{STIMULUS}: he", B for "{STIMULUS}: ' + last + '". {ANSWER}'
        for last in ("she", "he")
    )
    cells = {"instruction": {"balanced": even, "paper": twice}, "salience+instruction": even}
    source = hair(tasks=tasks | {"sentence": {"title": "Sentence", "cells": cells}})
    assert of_variant(limits(source, settings(variant="paper", orders=6))) == [
        "It was built in the variant `paper`; `balanced` would have other prompts.",
        "In the task `Choice`, `she` is no option with instruction: a shift of it is the options' "
        "doing.",
        "In the task `Sentence`, two options read the same with instruction.",
    ]
    assert of_variant(limits(source, MANY)) == [
        "It was built in the variant `balanced`; `paper` would have other prompts."
    ]


def test_columns_that_are_described_are_there() -> None:
    described = card.WORDS["published"]["prompts"]["described"]
    assert set(described) <= set(schemas.PROMPTS.names)


LETTERS = "Where options are lettered, a model's preference for a letter is "
REPLIES = (
    "Replies are drawn as each model's entry says (temperature, top-p), or else its own "
    "files; other settings "
)
TOKEN = (
    "Verdicts are of the probability of words (`token`) where a model supports them, each in "
    "its own form."
)
NEEDS = (
    "A verdict needs 3 wordings of a cue and 12 placebos; {wordings} and {placebos} are asked at "
    "most at this profile, "
    "so every verdict is `inconclusive`."
)
NO_CONTROL = "No placebos for gender-salience and instruction: no control and no verdict."


def lettered(placebos: bool = True) -> ContrastSource:
    """Eight stimuli, one task with letters, placebos beside the one cue."""
    both = {
        "bare": "On {STIMULUS}: {OPTIONS} {ANSWER}",
        "gender-salience": "On gender, {STIMULUS}: {OPTIONS} {ANSWER}",
    }
    placebo = {
        "cells": {"gender-salience": "On {PLACEBO}, {STIMULUS}: {OPTIONS} {ANSWER}"},
        "texts": ["rain", "tea"],
    }
    task: dict[str, Any] = {"title": "Choosing", "cells": both, "option": "{LETTER}: {OPTION}"}
    task |= {
        "options": {"they": "They", "he": "He"},
        "placebos": {"gender-salience": placebo} if placebos else {},
    }
    return source(factors={"gender-salience": "the prompt names gender"}, tasks={"choosing": task})


def limits_of(contrast: ContrastSource, **changes: Any) -> list[str]:
    """Those that hang on how it is asked; there are six orders of options."""
    texts = card.contrast_limits(contrast, settings(**changes), n_orders=6)
    return texts[len(card.WORDS["limits"]) :]


def test_all_stimuli_all_orders_and_ten_replies_leave_little_to_say() -> None:
    sizes = {"stimuli": 12, "placebo_stimuli": 12, "orders": 6, "generations": 10, "least": 8}
    needs, letters, drawn, rough, verdicts = limits_of(lettered(), **sizes)
    assert needs == NEEDS.format(wordings=1, placebos=2)
    assert verdicts == TOKEN
    assert letters.startswith(f"{LETTERS}removed by prompts without content")
    assert drawn.startswith(REPLIES)
    assert rough == "Replies to each question: 10; the fewer, the less precise is `choice`."


def test_without_a_headline_nothing_is_said_of_verdicts() -> None:
    source = lettered().model_copy(update={"headline": None})
    assert not [
        line
        for line in limits_of(source, least=8)
        if line.startswith(("A verdict needs", "Verdicts are"))
    ]


def test_a_sample_says_of_how_many_stimuli_and_of_how_many_each_placebo_is() -> None:
    sizes = {"stimuli": 6, "placebo_stimuli": 3, "orders": 2, "calibrated": False, "generations": 0}
    assert limits_of(lettered(), **sizes) == [
        "Figures are for 6 of the 8 stimuli, evenly spread over the list: a sample.",
        "6 stimuli are fewer than the 10 that a verdict needs.",
        NEEDS.format(wordings=1, placebos=2),
        "Each placebo is asked about at most 3 of these 6; different placebos get different "
        "stimuli.",
        f"{LETTERS}part of its answers.",
        "A stimulus is asked about in 2 of up to 6 orders of options, other stimuli in others: "
        "letters are "
        "balanced over "
        "stimuli, not for each one.",
        "No replies are sampled, so there are no figures of `choice`.",
        TOKEN,
    ]


def test_where_words_are_read_and_nothing_stands_beside_the_cues() -> None:
    texts = limits_of(source(), least=2, generations=1, confirmed="choice", mass="first_token")
    assert (
        texts[0]
        == "A form counts by its first token alone, so words that only begin like it count too."
    )
    assert texts[1:3] == [NEEDS.format(wordings=1, placebos=0), NO_CONTROL]
    assert texts[3].startswith(REPLIES)
    assert texts[4].startswith(
        "One reply to each question is no distribution, so effects (APD) of `choice` "
    )
    assert texts[5].startswith("Verdicts are of sampled replies (`choice`) ")
    assert len(texts) == 6
