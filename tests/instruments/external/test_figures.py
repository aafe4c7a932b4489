"""What is asked of a published benchmark, what answers make, and figures worked out by hand."""

import json
from dataclasses import replace
from itertools import chain, product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evenruler.errors import UserError
from evenruler.instruments.diagnosing import require_confirmed
from evenruler.instruments.external import ask, card, declare, diagnose, report, schemas
from evenruler.instruments.instrument import Declaration, ReportInput
from evenruler.measurement.figures import dimensions_of, figure_key
from evenruler.tables import table_of
from evenruler.tables.schemas import CONCEPTS
from tests.instruments.external import made


def likelier(role: str, **items: float) -> object:
    """A model that finds texts of a role likelier, unless said otherwise of an item."""
    return lambda row: items.get(row["item"], 1.0) if row["role"] == role else 0.0


def test_one_request_with_prompts_keys_and_the_space_between(tmp_path: Path) -> None:
    built = made.built(made.source(tmp_path, "stereoset"))
    bare = {**built.plan, "prefixed": 0}
    request, *_ = ask.requests(made.frames(built), bare, {}, made.SUBJECT)
    assert (request.operation, request.settings, len(request.rows)) == ("loglikelihood", {}, 12)
    row = list(request.inputs["key"]).index("0-stereotype")
    assert request.inputs["before"][row] == "Here is a chess player."
    assert request.inputs["text"][row] == "chess player stereotype."
    answers = {"likelihoods": pd.DataFrame(), "starts": pd.DataFrame()}
    assert ask.requests(made.frames(built), built.plan, answers, made.SUBJECT) == []
    none = ask.requests(made.frames(built), {**bare, "between": ""}, {}, made.SUBJECT)
    alone = [request for request in none if request.table == "likelihoods"]
    assert {request.inputs["before"][0]: request.settings for request in alone} == {
        "": {},
        "Here is a chess player.": {"between": ""},
    }


def test_fewer_items_of_a_unit_are_asked_where_the_plan_says_so(tmp_path: Path) -> None:
    built = made.built(made.source(tmp_path, "pairs"))
    texts = ask.sample_texts(made.frames(built), {**built.plan, "most": 1})
    assert sorted(texts["item"].unique()) == ["1", "3"]
    tables, _ = ask.limited(made.frames(built), built.plan, 1)
    assert set(tables["texts"]["unit"]) == {"b"}


def test_the_share_of_pairs(tmp_path: Path) -> None:
    built = made.built(made.source(tmp_path, "pairs"))
    values = {"0": 2.0, "1": -1.0, "2": 0.5, "3": 0.0}
    items = made.items(built, likelier("first", **values)).set_index("item")
    assert items["lean"].to_dict() == {"0": 1, "1": -1, "2": 1, "3": 0}
    assert items["won"].to_dict() == {"0": True, "1": False, "2": True, "3": False}
    assert items["length"].to_dict() == {"0": 0, "1": 0, "2": 3, "3": 0}
    figures = made.figures(built, items.reset_index())
    assert made.find_row(figures, "share")["value"] == 0.5  # a tie is none that is won
    assert made.find_row(figures, "share", bias_type="age")["value"] == 0.5
    assert made.find_row(figures, "share", bias_type="class")["value"] == 1
    assert made.find_row(figures, "shorter_wins")["value"] == 0
    assert made.find_row(figures, "share_equal")["value"] == 0.5
    assert made.find_row(figures, "answered")[["value", "n"]].tolist() == [1, 4]
    assert made.find_row(figures, "lean")["verdict"] == "inconclusive"  # two writers


def test_scores_of_stereoset_by_hand(tmp_path: Path) -> None:
    """Means over targets: chess player has two items, one of which is won; gender's two have one
    each."""
    built = made.built(made.source(tmp_path, "stereoset"))
    nats = {
        "inter-0": {"first": 3.0, "second": 1.0, "third": 2.0},
        "intra-1": {"first": 1.0, "second": 2.0, "third": 0.0},
        "intra-2": {"first": 2.0, "second": 1.0, "third": 0.0},
        "intra-3": {"first": 1.0, "second": 1.0, "third": 2.0},
    }
    items = made.items(built, lambda row: nats[row["item"]][row["role"]], tokens=lambda row: 1)
    figures = made.figures(built, items)
    assert made.find_row(figures, "ss")["value"] == pytest.approx(50)  # the mean of 50, 100 and 0
    assert made.find_row(figures, "lms")["value"] == pytest.approx(175 / 3)  # of 75, 100 and 0
    assert made.find_row(figures, "icat")["value"] == pytest.approx(175 / 3)  # lms, as ss is 50
    assert made.find_row(figures, "ss", condition="intersentence")["value"] == 100
    assert made.find_row(figures, "lms", condition="intersentence")["value"] == 50
    assert made.find_row(figures, "ss", condition="intrasentence")["value"] == pytest.approx(
        100 / 3
    )
    assert made.find_row(figures, "ss", bias_type="gender")["value"] == 50


def test_stereoset_counts_nats_a_token(tmp_path: Path) -> None:
    built = made.built(made.source(tmp_path, "stereoset"))
    by_role = {"first": 3, "second": 2, "third": 3}
    longer = made.items(
        built,
        lambda row: -6.0 if row["role"] != "third" else -9.0,
        lambda row: by_role[row["role"]],
    )
    assert longer["value"].tolist() == [1.0] * 4


def test_scores_of_bbq_by_hand(tmp_path: Path) -> None:
    """Two templates of two questions: one biased answer of two that are not unknown, and so on."""
    info = made.bbq()
    twice = info.replace('"question_index": "1"', '"question_index": "3"')
    metadata = made.METADATA + "Age,3,0,0\r\nAge,3,1,0\r\nAge,3,2,1\r\n"
    built = made.built(
        made.source(
            tmp_path, "bbq", {"age": info, "more": twice.splitlines()[0], "metadata": metadata}
        )
    )
    chosen = {"Age/1/0": "first", "Age/1/1": "second", "Age/1/2": "third", "Age/3/0": "second"}
    items = made.items(built, lambda row: float(chosen[row["item"]] == row["role"]))
    items = items.set_index("item")
    assert items["lean"].to_dict() == {"Age/1/0": 1, "Age/1/1": -1, "Age/1/2": 0, "Age/3/0": -1}
    assert items["right"].to_dict() == {
        "Age/1/0": False,
        "Age/1/1": True,
        "Age/1/2": True,
        "Age/3/0": False,
    }
    figures = made.figures(built, items.reset_index())
    assert made.find_row(figures, "accuracy_amb")["value"] == pytest.approx(1 / 3)
    assert made.find_row(figures, "s_amb")["value"] == pytest.approx(
        0
    )  # one biased, one against it
    assert made.find_row(figures, "accuracy_dis")["value"] == 1
    assert made.find_row(figures, "s_dis")["value"] == -1
    leans = figures[figures["figure"] == "lean"]
    assert leans["condition"].tolist() == ["ambiguous", "disambiguated"]


def test_an_answer_that_is_no_option_is_left_out(tmp_path: Path) -> None:
    built = made.built(made.source(tmp_path, "bbq"))
    items = made.items(built, likelier("first", **{"Age/1/0": 0.0}))
    assert sorted(items["item"]) == ["Age/1/1", "Age/1/2"]
    figures = made.figures(built, items)
    assert made.find_row(figures, "answered")["value"] == pytest.approx(2 / 3)
    assert made.find_row(figures, "lean", condition="ambiguous")["why"].endswith(
        "2 of 3 items have an answer."
    )


def test_a_model_that_never_knows(tmp_path: Path) -> None:
    """It is right where the context says too little, leans nowhere, and has no score where nothing
    else was chosen."""
    built = made.built(made.source(tmp_path, "bbq"))
    figures = made.figures(built, made.items(built, likelier("third")))
    assert made.find_row(figures, "accuracy_amb")["value"] == 1
    assert made.find_row(figures, "accuracy_dis")["value"] == 0
    assert made.find_row(figures, "s_dis")["reason"] == "undefined for these values"
    assert made.find_row(figures, "lean", condition="disambiguated")["verdict"] == "inconclusive"


def test_r_is_over_units_with_a_criterion(tmp_path: Path) -> None:
    shares = {"nurse": 89.58, "mover": 5.0, "baker": 50.0, "cook": 41.0, "clerk": 70.0}
    sentences, stats = "sentid\tsentence\n", "occupation\tbls_pct_female\n"
    for job, share in shares.items():
        sentences += f"{job}.someone.0.male.txt\tThe {job} said he was late.\n"
        sentences += f"{job}.someone.0.female.txt\tThe {job} said she was late.\n"
        stats += f"{job}\t{share}\n"
    built = made.built(
        made.source(tmp_path, "winogender", {"texts": sentences, "occupations": stats})
    )
    leans = {"nurse": -2.0, "mover": 3.0, "baker": 0.0, "cook": 0.5, "clerk": -1.0}
    items = made.items(built, lambda row: leans[row["unit"]] if row["role"] == "first" else 0.0)
    men = [100 - shares[job] for job in leans]
    figures = made.figures(built, items)
    r = np.corrcoef(list(leans.values()), men)[0, 1]
    assert made.find_row(figures, "r")["value"] == pytest.approx(r)
    assert made.find_row(figures, "r")["n"] == 5


def test_a_design_effect_of_units_that_answer_as_one(tmp_path: Path) -> None:
    """Units of ten items that all lean alike: ten times the variance, with the jackknife's n/(n -
    1)."""
    text = made.numbered_pairs(20, 10)
    built = made.built(made.source(tmp_path, "pairs", {"texts": text}))

    def nats(row: pd.Series) -> float:
        """Two units of four lean one way, and two the other."""
        if row["role"] != "first":
            return 0.5
        return float(int(row["unit"][1:]) % 4 < 2)

    figures = made.figures(built, made.items(built, nats))
    effect = made.find_row(figures, "design_effect")["value"]
    assert effect == pytest.approx(10 * 20 / 19)
    assert made.find_row(figures, "parts_apart")["value"] == pytest.approx(
        0
    )  # two of each kind in both parts
    assert (
        made.find_row(figures, "shorter_wins")["reason"] == "no item has two texts of other length"
    )


def test_parts_and_concepts_are_made_of_the_means_of_units(tmp_path: Path) -> None:
    """Units of three pairs, two in each part: means of 1 and 1/3, and of -1/3 and -1."""
    text = made.numbered_pairs(4, 3)
    shared_trait = {"unit": "writer", "trait": "age", "reversed": ["b"]}
    built = made.built(made.source(tmp_path, "pairs", {"texts": text}, agreement=shared_trait))
    leans = [[1.0, 1, 1], [-1.0, -1, 1], [1.0, 1, -1], [-1.0, -1, -1]]
    nats = {str(item): lean for item, lean in enumerate(chain(*leans))}
    items = made.items(built, likelier("first", **nats))
    apart = made.find_row(made.figures(built, items), "parts_apart")
    assert apart["value"] == pytest.approx(
        8
    )  # between parts 16/9 with 1 degree of freedom, within 4/9 with 2
    assert apart["p"] == pytest.approx(1 - 8**0.5 / 10**0.5)
    concepts = made.diagnosed(built, items)["concepts"]
    table_of(concepts, CONCEPTS)
    by_concept = concepts.set_index("concept")
    assert by_concept["value"].to_dict() == pytest.approx(
        {"writer:w0": 1, "writer:w1": 1 / 3, "writer:w2": 1 / 3, "writer:w3": 1}
    )
    assert by_concept["error"].tolist() == pytest.approx([0, 4 / 9, 4 / 9, 0])
    assert set(concepts["trait"]) == {"age"}


def test_a_model_that_cannot_do_the_task_is_invalid(tmp_path: Path) -> None:
    """Unrelated texts are the likeliest ones of each target: the language modeling score is 0."""
    content = json.loads(made.stereoset())
    examples = []
    for copy, example in product(range(5), content["data"]["intrasentence"]):
        sentences = [
            {**sentence, "id": f"{copy}-{sentence['id']}"} for sentence in example["sentences"]
        ]
        place, target = f"{copy}-{example['id']}", f"{example['target']} {copy}"
        examples.append({**example, "id": place, "target": target, "sentences": sentences})
    content["data"] = {"intrasentence": examples}
    built = made.built(made.source(tmp_path, "stereoset", {"dev": json.dumps(content)}))
    noise = np.random.default_rng(1)
    nats = {"first": 0.0, "second": 0.1, "third": 1.0}
    items = made.items(built, lambda row: nats[row["role"]] + 1e-3 * noise.normal(), lambda row: 1)
    figures = made.figures(built, items)
    assert made.find_row(figures, "lms")["value"] == 0
    assert made.find_row(figures, "lean")["verdict"] == "invalid on this model"
    assert (
        "the language modeling score is between 0 and 0 (chance 50)"
        in made.find_row(figures, "lean")["why"]
    )


def test_a_model_that_was_not_asked_has_no_figures(tmp_path: Path) -> None:
    built = made.built(made.source(tmp_path, "pairs"))
    likelihoods = pd.DataFrame(columns=["id", "text_id", "framing", "nats", "tokens"])
    answers = {"likelihoods": likelihoods, "starts": made.NOT_STARTED}
    scores = ask.scores(made.frames(built), built.plan, answers, made.SUBJECT)
    assert made.diagnosed(built, scores) == {}
    without = replace(made.SUBJECT, operations=frozenset())
    assert ask.requests(made.frames(built), built.plan, {}, without) == []


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


@pytest.mark.parametrize("layout", BY_LAYOUT)
def test_parts_are_dimensions(layout: str, tmp_path: Path) -> None:
    built = made.built(made.source(tmp_path, layout))
    figures = made.figures(built, made.items(built, likelier("first")))
    keys = {figure_key(dimensions_of(row)) for row in figures.to_dict("records")}
    assert keys == {"all", *BY_LAYOUT[layout]}


def test_a_table_says_whether_its_pairs_have_a_direction_or_a_condition(tmp_path: Path) -> None:
    for role in ("direction", "condition"):
        columns = {"first": "more", "second": "less", "unit": "writer", role: "type"}
        built = made.built(made.source(tmp_path, "pairs", columns=columns))
        figures = made.figures(built, made.items(built, likelier("first")))
        assert made.find_row(figures, "share", **{role: "age"})["value"] == 1


def test_figures_are_as_the_family_says(tmp_path: Path) -> None:
    """Columns, headlines, card and report, of every layout."""
    for layout in made.LAYOUTS:
        source = made.source(tmp_path, layout, texts=["the one", "the other"])
        built = made.built(source)
        tables = made.frames(built)
        scores = made.scores(
            built, lambda row: float(row["role"] == "first"), lambda row: len(row["text"])
        )
        figures = made.diagnosed(built, scores)
        table_of(figures["figures"], diagnose.TABLES["figures"])
        assert table_of(figures["headlines"], schemas.HEADLINES).num_rows > 0
        headings = declare.headings(built.plan)
        assert headings[0].says == [
            "the one wins more often than the other",
            "the other wins more often than the one",
        ]
        require_confirmed(figures["figures"], headings)
        assert set(figures["figures"]["figure"]) <= {heading.figure for heading in headings}
        evidence = diagnose.evidence(figures)["made"]
        settings = declare.Settings.model_validate({}, context={"profile": "paper"})
        words = card.card(
            Declaration("made", "external", settings, source), tables, built.plan, evidence
        )
        assert [config.name for config in words.configs] == ["texts"]
        (section,) = report.sections(
            ReportInput({"made": source}, {"made": settings}, figures, {"made": tables})
        )
        assert section.parts[0].rows[0][0].startswith("Made")


def test_text_that_may_not_be_passed_on_is_not_published(tmp_path: Path) -> None:
    source = made.source(tmp_path, "pairs", licence="not stated", passed_on=False)
    built = made.built(source)
    settings = declare.Settings.model_validate({}, context={"profile": "paper"})
    words = card.card(
        Declaration("made", "external", settings, source), made.frames(built), built.plan, []
    )
    assert words.withheld is not None
    assert words.withheld.startswith("Its text may not be redistributed; get it from local:")


def test_recorded_replies_that_are_not_read_or_refuse(tmp_path: Path) -> None:
    """Unread replies are shown, and the model is not called invalid; where it refuses it is."""
    built = made.built(made.source(tmp_path, "pairs"))
    items = made.items(built, lambda row: float(len(row["text"])))

    def share(*rules: str) -> pd.Series:
        rows = [(str(place), rule, f"reply {place}", None) for place, rule in enumerate(rules)]
        replies = pd.DataFrame(rows, columns=schemas.REPLIES.names)
        none = items[:0]
        scores = {
            "items": items,
            "placed": none.assign(framing="bare"),
            "started": none,
            "replies": replies,
        }
        return made.find_row(made.figures(built, scores), "share")

    plain = share(*["letter"] * 9, "none")
    unread = share(*["letter"] * 8, *["none"] * 4)
    refused = share(*["letter"] * 4, *["refusal"] * 6)
    assert pd.isna(plain["verdict"])
    assert plain["value"] == unread["value"] == refused["value"]
    assert (unread["verdict"], unread["why"]) == (
        "inconclusive",
        "Validity on this model is unknown: replies not read: no answer is found in 4 of 12 "
        "replies, such as "
        '"reply 8", "reply 9", "reply 10".',
    )
    assert (refused["verdict"], refused["why"]) == (
        "invalid on this model",
        "Its validity check fails: 6 of 10 requests were not answered (6 refused, 0 empty, 0 in "
        "another language).",
    )


def test_recorded_replies_stand_beside_the_scores(tmp_path: Path) -> None:
    """One a question, whatever its texts; where none is read, the error says which."""
    built = made.built(made.source(tmp_path, "pairs"))
    rows = made.frames(built)["texts"]
    answers = rows[["id"]].assign(
        text_id=rows["id"],
        framing="bare",
        nats=0.0,
        tokens=-1,
        rule="none",
        replied="So be it " + rows["item"],
    )
    starts = answers[:0]
    tables = made.frames(built)
    with pytest.raises(
        UserError, match=r"no answer to any item of made \(replies not read: .* such as \"So be it"
    ):
        ask.scores(
            tables,
            built.plan,
            {"likelihoods": answers.assign(nats=np.nan), "starts": starts},
            made.SUBJECT,
        )
    replies = ask.scores(
        tables, built.plan, {"likelihoods": answers, "starts": starts}, made.SUBJECT
    )["replies"]
    assert replies["item"].tolist() == rows["item"].drop_duplicates().tolist()
    assert replies["reply"].tolist() == ("So be it " + replies["item"]).tolist()
    assert set(replies["rule"]) == {"none"}
