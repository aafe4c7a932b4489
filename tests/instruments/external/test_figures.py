"""What is asked of a published benchmark, what answers make, and figures worked out by hand."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from evenruler.errors import UserError
from evenruler.instruments.diagnosing import require_confirmed
from evenruler.instruments.external import ask, card, declare, diagnose, report, schemas
from evenruler.instruments.instrument import Declaration, ReportInput
from evenruler.measurement.figures import dimensions_of, figure_key
from evenruler.tables import table_of
from evenruler.tables.schemas import CONCEPTS, SCALES
from tests.instruments.external import made
from tests.instruments.near import approx


def likelier(role: str, **items: float) -> object:
    """A model that finds texts of a role likelier, unless said otherwise of an item."""
    return lambda row: items.get(row["item"], 1.0) if row["role"] == role else 0.0


def score_first(nats: Sequence[float]) -> "Callable[[pd.Series[Any]], float]":
    """A model that finds first texts likelier by so many nats an item."""
    return lambda row: nats[int(row["item"])] if row["role"] == "first" else 0.0


def test_one_request_with_keys_and_the_space_between(tmp_path) -> None:
    built = made.build(tmp_path, "stereoset")
    frames, bare = made.frames(built), {**built.plan, "prefixed": 0}
    request, *_ = ask.requests(frames, bare, {}, made.SUBJECT)
    assert (request.operation, request.settings, len(request.rows)) == ("loglikelihood", {}, 12)
    row = list(request.inputs["key"]).index("0-stereotype")
    assert request.inputs["before"][row] == "Here is a chess player."
    assert request.inputs["text"][row] == "chess player stereotype."
    answers = dict.fromkeys(("likelihoods", "starts"), pd.DataFrame())
    assert ask.requests(frames, bare, answers, made.SUBJECT) == []


def test_fewer_items_of_a_unit_are_asked_where_the_plan_says_so(tmp_path) -> None:
    built = made.build(tmp_path, "pairs")
    texts = ask.sample_texts(
        made.frames(built),
        {**built.plan, "most": 1},
    )
    assert sorted(texts["item"].unique()) == ["1", "3"]
    tables, _ = ask.limited(
        made.frames(built),
        built.plan,
        1,
    )
    assert set(tables["texts"]["unit"]) == {"b"}


def test_the_share_of_pairs(tmp_path) -> None:
    built = made.build(tmp_path, "pairs")
    nats = {"0": 2.0, "1": -1.0, "2": 0.5, "3": 0.0}
    items = made.items(built, likelier("first", **nats))
    assert items["item"].tolist() == list(nats)
    assert items["lean"].tolist() == [1, -1, 1, 0]
    assert items["won"].tolist() == [True, False, True, False]
    assert items["length"].tolist() == [0, 0, 3, 0]
    figures = made.figures(built, items)
    # A tie is none that is won.
    assert made.find_values(figures, "share", "shorter_wins", "share_equal") == [0.5, 0, 0.5]
    assert made.find_values(figures, "share", bias_type="age") == [0.5]
    of_class = made.find_row(figures, "share", bias_type="class")
    assert of_class["value"] == 1
    assert of_class[["low", "high"]].isna().all()
    assert made.find_row(figures, "answered")[["value", "n"]].tolist() == [1, 4]
    assert made.find_row(figures, "lean")["verdict"] == "descriptive"  # two writers


def test_scores_of_stereoset_by_hand(tmp_path) -> None:
    """Means over targets: chess player has two items, one of which is won; gender's two have one
    each."""
    built = made.build(tmp_path, "stereoset")
    nats = {
        "inter-0": (3.0, 1, 2),
        "intra-1": (1.0, 2, 0),
        "intra-2": (2.0, 1, 0),
        "intra-3": (1.0, 1, 2),
    }
    roles = ("first", "second", "third")
    items = made.items(
        built,
        lambda row: nats[row["item"]][roles.index(row["role"])],
        tokens=lambda row: 1,
    )
    figures = made.figures(built, items)
    # Of 50, 100 and 0; of 75, 100 and 0; lms, as ss is 50.
    assert made.find_values(figures, "ss", "lms", "icat") == approx(
        [50, 175 / 3, 175 / 3],
    )
    assert made.find_values(figures, "ss", "lms", condition="intersentence") == [100, 50]
    assert made.find_values(figures, "ss", condition="intrasentence") == [approx(100 / 3)]
    assert made.find_values(figures, "ss", bias_type="gender") == [50]


def test_stereoset_counts_nats_a_token(tmp_path) -> None:
    built = made.build(tmp_path, "stereoset")
    nats = {"first": -6.0, "second": -6.0, "third": -9.0}
    tokens = {"first": 3, "second": 2, "third": 3}
    longer = made.items(
        built,
        lambda row: nats[row["role"]],
        lambda row: tokens[row["role"]],
    )
    assert longer["value"].tolist() == [1.0] * 4


def test_scores_of_bbq_by_hand(tmp_path) -> None:
    """Two templates of two questions: one biased answer of two that are not unknown, and so on."""
    questions = made.bbq()
    third = questions.replace('"question_index": "1"', '"question_index": "3"').splitlines()[0]
    metadata = made.METADATA + "Age,3,0,0\r\nAge,3,1,0\r\nAge,3,2,1\r\n"
    files = {"age": questions, "more": third, "metadata": metadata}
    built = made.build(tmp_path, "bbq", files)
    chosen = {"Age/1/0": "first", "Age/1/1": "second", "Age/1/2": "third", "Age/3/0": "second"}
    items = made.items(
        built,
        lambda row: float(
            chosen[row["item"]] == row["role"],
        ),
    )
    by_item = items.set_index("item").loc[list(chosen)]
    assert by_item["lean"].tolist() == [1, -1, 0, -1]
    assert by_item["right"].tolist() == [False, True, True, False]
    figures = made.figures(built, items)
    # Of ambiguous ones one is biased and one against it.
    names = ("accuracy_amb", "s_amb", "accuracy_dis", "s_dis")
    assert made.find_values(figures, *names) == approx(
        [1 / 3, 0, 1, -1],
    )
    # One headline: the lean in the other context is described.
    lean = made.find_row(figures, "lean", condition="ambiguous")
    assert lean["verdict"] == "descriptive"
    of_context = made.find_row(figures, "lean_of_context", condition="disambiguated")
    assert pd.isna(of_context["verdict"])


def test_an_answer_that_is_no_option_is_left_out(tmp_path) -> None:
    built = made.build(tmp_path, "bbq")
    items = made.items(built, likelier("first", **{"Age/1/0": 0.0}))
    assert sorted(items["item"]) == ["Age/1/1", "Age/1/2"]
    figures = made.figures(built, items)
    assert made.find_values(figures, "answered") == [approx(2 / 3)]
    lean = made.find_row(figures, "lean", condition="ambiguous")
    note = "Here word frequencies are not known; 2 of 3 items have an answer."
    assert lean["why"].endswith(note)


def test_a_model_that_never_knows(tmp_path) -> None:
    """It is right where the context says too little, leans nowhere, and has no score where nothing
    else was chosen."""
    built = made.build(tmp_path, "bbq")
    figures = made.figures(built, made.items(built, likelier("third")))
    assert made.find_values(figures, "accuracy_amb", "accuracy_dis") == [1, 0]
    assert made.find_row(figures, "s_dis")["reason"] == "undefined for these values"


def test_r_is_over_units_with_a_criterion(tmp_path) -> None:
    women = {"nurse": 89.58, "mover": 5.0, "baker": 50.0, "cook": 41.0, "clerk": 70.0}
    leans = {"nurse": -2.0, "mover": 3.0, "baker": 0.0, "cook": 0.5, "clerk": -1.0}
    built = made.build(tmp_path, "winogender", made.winogender(women))
    items = made.items(
        built,
        lambda row: leans[row["unit"]] if row["role"] == "first" else 0.0,
    )
    r = -np.corrcoef(
        list(leans.values()),
        list(women.values()),
    )[0, 1]
    row = made.find_row(made.figures(built, items), "r")
    assert row[["value", "n"]].tolist() == [approx(r), 5]


def test_a_design_effect_of_units_that_answer_as_one(tmp_path) -> None:
    """Units of ten items that all lean alike: ten times the variance, with the jackknife's n/(n -
    1)."""
    text = made.numbered_pairs(20, 10)
    built = made.build(tmp_path, "pairs", {"texts": text})

    def nats(row: pd.Series) -> float:
        is_first = row["role"] == "first"
        return (
            float(
                int(
                    row["unit"][1:],
                )
                % 4
                < 2
            )
            if is_first
            else 0.5
        )

    figures = made.figures(built, made.items(built, nats))
    assert made.find_values(figures, "design_effect") == approx([10 * 20 / 19])
    assert pd.isna(made.find_row(figures, "shorter_wins")["value"])


def test_concepts_are_made_of_the_means_of_units(tmp_path) -> None:
    """Units of three pairs: means of 1 and 1/3, and of -1/3 and -1, turned."""
    texts = {"texts": made.numbered_pairs(4, 3)}
    shared_trait = {"unit": "writer", "trait": "age", "reversed": ["b"]}
    built = made.build(tmp_path, "pairs", texts, agreement=shared_trait)
    leans = (
        1.0,
        1,
        1,
        -1.0,
        -1,
        1,
        1.0,
        1,
        -1,
        -1.0,
        -1,
        -1,
    )
    items = made.items(built, score_first(leans))
    concepts = made.diagnosed(built, items)["concepts"]
    table_of(concepts, CONCEPTS)
    assert concepts["concept"].tolist() == [f"writer:w{number}" for number in range(4)]
    assert concepts["value"].tolist() == approx(
        [1, 1 / 3, 1 / 3, 1],
    )
    assert concepts["error"].tolist() == approx(
        [0, 4 / 9, 4 / 9, 0],
    )
    assert set(concepts["trait"]) == {"age"}


def test_units_in_nats_are_stored_with_their_sd(tmp_path) -> None:
    """What says only which text was chosen has no scale."""
    text = made.numbered_pairs(6, 4)
    built = made.build(tmp_path, "pairs", {"texts": text})
    items = made.items(built, score_first(np.random.default_rng(1).normal(size=24)))
    scales = made.diagnosed(built, items)["scales"]
    table_of(scales, SCALES)
    by_unit = items.groupby("unit")["value"]
    assert scales["value"].tolist() == approx(by_unit.mean().tolist())
    assert scales["sd"].tolist() == approx(by_unit.std().tolist())
    assert scales["weight"].tolist() == approx([1 / 6] * 6)
    chosen = items.assign(value=items["lean"])
    assert made.diagnosed(built, chosen)["scales"].empty


def test_parts_have_figures_and_no_headlines_of_their_own(tmp_path) -> None:
    source = made.source(tmp_path, "pairs", {"texts": made.numbered_pairs(16, 6)})
    built = made.built(source)
    answered = made.items(built, score_first(np.random.default_rng(5).normal(size=96)))
    diagnosis = made.diagnosed(built, answered)
    parts = diagnosis["figures"].query("figure == 'lean_of_part'")
    assert parts["bias_type"].tolist() == ["a", "b"]
    assert parts[["verdict", "bound"]].isna().all(axis=None)
    assert parts["note"].tolist() == ["inconclusive"] * 2  # bare pairs have no control


def test_a_model_that_cannot_do_the_task_is_invalid(tmp_path) -> None:
    """Unrelated texts are the likeliest ones of each target: the language modeling score is 0."""
    files = {"dev": made.stereoset(copies=5)}
    built = made.build(tmp_path, "stereoset", files)
    noise = np.random.default_rng(1)
    nats = {"first": 0.0, "second": 0.1, "third": 1.0}
    items = made.items(
        built,
        lambda row: nats[row["role"]] + 1e-3 * noise.normal(),
        lambda row: 1,
    )
    figures = made.figures(built, items)
    lean, share = (made.find_row(figures, name) for name in ("lean", "lms"))
    assert (share["value"], share["verdict"]) == (0, "invalid")
    assert lean["verdict"] == "invalid"
    assert "reads -1.00 (p 0.0001)" in lean["why"]


def test_a_model_that_was_not_asked_has_no_figures(tmp_path) -> None:
    built = made.build(tmp_path, "pairs")
    tables = made.frames(built)
    likelihoods = pd.DataFrame(columns=["id", "text_id", "framing", "nats", "tokens"])
    answers = {"likelihoods": likelihoods, "starts": made.NOT_STARTED}
    scores = ask.scores(tables, built.plan, answers, made.SUBJECT)
    assert made.diagnosed(built, scores) == {}


KINDS = ("bias_type=gender", "bias_type=profession")
BY_LAYOUT = {
    "pairs": {"bias_type=age", "bias_type=class", "bias_type=gender"},
    "winogender": {"condition=means-the-occupation", "condition=means-the-participant"},
    "winobias": set(),
    "stereoset": {"condition=intersentence", "condition=intrasentence", *KINDS},
    "bbq": {"condition=ambiguous", "condition=disambiguated"},
    "bec-pro": {"direction=female-profession", "direction=male-profession"},
}
"""Dimensions of figures of the small benchmarks, beside those of all items."""


@pytest.mark.parametrize("layout", made.LAYOUTS)
def test_figures_are_as_the_family_says(layout, tmp_path) -> None:
    """Columns, headlines, dimensions, card and report, of every layout."""
    source = made.source(tmp_path, layout)
    built = made.built(source)
    by_instrument = {"made": made.frames(built)}
    scores = made.scores(
        built, lambda row: float(row["role"] == "first"), lambda row: len(row["text"])
    )
    diagnosis = made.diagnosed(built, scores)
    figures = diagnosis["figures"]
    table_of(figures, diagnose.TABLES["figures"])
    assert table_of(diagnosis["headlines"], schemas.HEADLINES).num_rows > 0
    keys = {figure_key(dimensions_of(row)) for row in figures.to_dict("records")}
    assert keys == {"all", *BY_LAYOUT[layout]}
    headings = declare.headings(built.plan)
    require_confirmed(figures, headings)
    assert set(figures["figure"]) <= {heading.figure for heading in headings}
    declaration = Declaration("made", "external", made.SETTINGS, source)
    facts = diagnose.evidence(diagnosis)["made"]
    words = card.card(declaration, by_instrument["made"], built.plan, facts)
    assert [config.name for config in words.configs] == ["texts"]
    shown = ReportInput({"made": source}, {"made": made.SETTINGS}, diagnosis, by_instrument)
    (section,) = report.sections(shown)
    assert section.parts[0].rows[0][0].startswith("Made")


def test_recorded_replies_that_are_not_read_or_refuse(tmp_path) -> None:
    """Unread replies leave a doubt; a model that refuses is invalid; neither changes a share."""
    built = made.build(tmp_path, "pairs")
    items = made.items(built, lambda row: float(len(row["text"])))
    placed = items[:0].assign(framing="bare")
    verdicts, values = [], set()
    for counts in (
        {"letter": 9, "none": 1},
        {"letter": 8, "none": 4},
        {"letter": 4, "refusal": 6},
    ):
        rules = Counter(counts).elements()
        rows = [
            (
                str(place),
                rule,
                f"reply {place}",
                None,
            )
            for place, rule in enumerate(rules)
        ]
        replies = pd.DataFrame(rows, columns=schemas.REPLIES.names)
        scores = {"items": items, "placed": placed, "started": items[:0], "replies": replies}
        share = made.find_row(made.figures(built, scores), "share")
        verdicts.append(share["verdict"])
        values.add(share["value"])
    assert pd.isna(verdicts[0])
    assert verdicts[1:] == ["descriptive", "invalid"]
    assert len(values) == 1


def test_recorded_replies_stand_beside_the_scores(tmp_path) -> None:
    """One a question, whatever its texts. A reply that chose none is no answer, and no tie; where
    none is read, the error says which.
    """
    built = made.build(tmp_path, "pairs")
    tables = made.frames(built)
    rows = tables["texts"]
    recorded = {"framing": "bare", "nats": 0.0, "tokens": -1, "rule": "none"}
    likelihoods = rows[["id"]].assign(
        text_id=rows["id"], replied="So be it " + rows["item"], **recorded
    )
    answers = {"likelihoods": likelihoods, "starts": likelihoods[:0]}
    first_text = rows.iloc[0]
    likelihoods.loc[rows["id"] == first_text["id"], "nats"] = 1.0
    scores = ask.scores(tables, built.plan, answers, made.SUBJECT)
    assert scores["items"]["item"].tolist() == [first_text["item"]]
    replies = scores["replies"]
    assert replies["item"].tolist() == rows["item"].drop_duplicates().tolist()
    assert replies["reply"].tolist() == ("So be it " + replies["item"]).tolist()
    assert set(replies["rule"]) == {"none"}
    answers["likelihoods"] = likelihoods.assign(nats=0.0)
    reason = r"no answer to any item of made \(no answer is found in .* such as \"So be it"
    with pytest.raises(UserError, match=reason):
        ask.scores(tables, built.plan, answers, made.SUBJECT)
