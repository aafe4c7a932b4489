"""What an entry of `instruments` may say of a domain."""

from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evenruler.errors import UserError
from evenruler.instruments.instrument import ToolUse
from evenruler.instruments.saged.declare import Settings, Source, load, takes
from evenruler.models.declarations import Catalogue
from evenruler.strict import validate
from tests.instruments.saged.domains import SOURCE, settings

ROLES = {
    "no-role": "",
    "mayor": {"text": "You are a mayor.", "profile": "paper"},
    "judge": {"text": "You judge."},
}
MOOD = {
    "kind": "classifier",
    "model": "moods",
    "score": {"sad": 0, "glad": 1},
    "profile": "paper",
}
FEATURES = {
    "vader": {"kind": "lexicon", "profile": "quick"},
    "mood": MOOD,
    "near": {"kind": "distance", "metric": "cosine"},
}


OPEN = {
    "kind": "classifier",
    "source": "hub:a/moods",
    "licence": "mit",
    "origin": "a",
}


def test_roles_and_features_are_those_of_the_scale() -> None:
    quick, paper = (
        settings(scale, roles=ROLES, features=FEATURES, embedder="e")
        for scale in ("quick", "paper")
    )
    assert quick.roles == {"no-role": "", "judge": "You judge."}
    assert list(paper.roles.items())[1] == ("mayor", "You are a mayor.")
    assert (
        list(quick.features),
        list(paper.features),
    ) == (["vader", "near"], ["mood", "near"])


@pytest.mark.parametrize("mask", [True, False])
def test_names_are_masked_or_not_in_what_all_features_measure(mask: bool) -> None:
    near = {**FEATURES["near"], "mask": not mask}
    domain = settings("paper", features={**FEATURES, "near": near}, embedder="e", mask=mask)
    assert {feature.mask for feature in domain.features.values()} == {mask}
    by_itself = settings("paper", features={**FEATURES, "near": near}, embedder="e")
    assert [feature.mask for feature in by_itself.features.values()] == [True, not mask]


def test_a_feature_whose_tool_is_not_pinned_is_left_out_and_the_others_stay() -> None:
    catalogue = Catalogue.model_validate({"models": {"moods": OPEN}})
    paper = settings("paper", features=FEATURES, embedder="e").having(catalogue)
    assert list(paper.features) == ["near"]
    assert paper.waiting == "mood: moods is not pinned; run `evenruler pin moods`"
    alone = settings("paper", features={"mood": FEATURES["mood"]}, embedder="e").having(catalogue)
    assert (list(alone.features), alone.waiting) == (["mood"], "")  # so the domain waits
    pinned = Catalogue.model_validate({"models": {"moods": {**OPEN, "revision": "a" * 40}}})
    whole = settings("paper", features=FEATURES, embedder="e").having(pinned)
    assert (list(whole.features), whole.waiting) == (["mood", "near"], "")


@pytest.mark.parametrize(
    ("declaration", "line"),
    [
        ("items: {trial: 2}", "items: found {'trial': 2}, expected one for trial and one for"),
        ("items: {trial: 2, standard: 1, full: 0}", "items: found 0"),
        (
            "roles: {mayor: {txt: You are a mayor.}}",
            "roles: mayor: found {'txt': 'You are a mayor.'}",
        ),
        (
            "roles: {mayor: {text: You, profile: big}}",
            "roles: mayor: no profile 'big', there are quick and",
        ),
        ("templates: {plain: Say.}", "the template 'plain' does not hold {PROMPT} once"),
        (
            "features: {near: {kind: distance, metric: l2}}",
            "'near' needs a `model`, or the instrument an",
        ),
        ("disparities: {headline: mode}", "headline names 'mode', which is not under `statistics`"),
        ("features: {vader: {kind: lexicon, profile: paper}}", "features: found {}"),
    ],
)
def test_a_mistake_is_one_line(error_of, declaration, line) -> None:
    content = YAML(typ="safe").load(declaration)
    context = {"profile": "quick"}
    printed = error_of(validate, Settings, content, Path("params.yaml"), context=context)
    assert line in printed


def written(tmp_path: Path, **changes: Any) -> Path:
    path = tmp_path / "fruit.yaml"
    YAML().dump(SOURCE | changes, path)
    return path


def test_models_that_are_named_stand_with_what_they_must_be_able_to(tmp_path) -> None:
    judge = {"kind": "scorer", "model": "judge", "question": "{GENERATION}", "low": 0, "high": 1}
    features = {**FEATURES, "asked": judge, "other": FEATURES["near"] | {"model": "f"}}
    fruit_settings = settings("paper", embedder="e", features=features)
    changes = """
assemble: {method: question, per_concept: 5, model: writer}
branch: {roots: [apple], replacements: found, judge: reader}
find: {by: [model], model: finder, replacements: auto}
"""
    (tmp_path / "found").mkdir()
    replacements = "replacements: {apple: {pear: {apple: pear}, fig: {apple: fig}}}"
    (tmp_path / "found/fruit.yaml").write_text(replacements)
    path = written(tmp_path, **YAML(typ="safe").load(changes))
    source = load(path, fruit_settings, tmp_path / "shared")
    assert fruit_settings.uses(source) == [
        ToolUse("e", "embed", "embedder"),
        ToolUse("moods", "classify", "features.mood.model"),
        ToolUse("judge", "generate", "features.asked.model"),
        ToolUse("f", "embed", "features.other.model"),
        ToolUse("writer", "generate", "assemble.model", tool=False),
        ToolUse("reader", "generate", "branch.judge", tool=False),
        ToolUse("finder", "generate", "find.model", tool=False),
    ]


def able(**branch: Any) -> str:
    """Why a domain with this in `branch` is refused; empty where it is not."""
    source = Source.model_validate({**SOURCE, "branch": {**SOURCE["branch"], **branch}})
    entry = {"kind": "chat", "source": "endpoint:big-one", "licence": "by its terms", "origin": "o"}
    try:
        settings().require_able(source, Catalogue.model_validate({"models": {"big": entry}}), str)
    except UserError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(
    ("rows", "every_row", "wrong", "refusal"),
    [
        (0, None, 0, ""),
        (125, None, 0, ""),
        (185, None, 1, ""),
        (
            124,
            None,
            0,
            "0 of 124 branched rows that were read are wrong, which leaves up to 3.0% (Wilson, "
            "95%) where 3% may be: read all, or 125 with no more wrong; name a model as",
        ),
        (100, 100, 3, ""),
        (100, 100, 4, "4 of 100 branched rows that were read are wrong; "),
        (100, 101, 3, "3 of 100 branched rows that were read are wrong, which leaves up to 8.5%"),
    ],
)
def test_few_enough_of_the_rows_that_were_read_may_be_wrong(
    rows, every_row, wrong, refusal
) -> None:
    line = able(read={"rows": rows, "of": every_row, "wrong": wrong, "by": "us"})
    if refusal:
        assert line.startswith(f"Fruit: branch: {refusal}")
    else:
        assert line == ""


def test_branched_rows_want_a_judge_or_a_reader() -> None:
    assert able().startswith("Fruit: branch: its branched rows are neither judged nor read")
    assert able(judge="big") == ""
    assert able(judge="bug").startswith("branch.judge: no model 'bug'")


def test_names_that_are_also_of_something_else_are_warned_of() -> None:
    maps = {
        "apple": {
            "pear": {"Turkey": "France", "Georgia": "Ohio", "Turkish": "French"},
            "fig": {"Georgia": "Utah"},
        }
    }
    source = Source.model_validate({**SOURCE, "branch": {"roots": ["apple"], "replacements": maps}})
    assert settings().warnings(source)[:-1] == [
        "Georgia, Turkey: something else is called so too; read its rows"
    ]
    unread = {**SOURCE["branch"], "read": {"rows": 0, "wrong": 0, "by": "us"}}
    warnings = settings().warnings(Source.model_validate({**SOURCE, "branch": unread}))
    assert warnings[:-1] == [
        "its rows were not read yet: they are built, and no model is asked about them"
    ]
    for branch in (SOURCE["branch"], None):
        assert len(settings().warnings(Source.model_validate({**SOURCE, "branch": branch}))) == 1


@pytest.mark.parametrize(
    ("concepts", "n_known", "declared", "warning"),
    [
        (2, 0, None, None),
        (1, 39, None, "1 concept (at least 2 needed)"),
        (2, 19, "old-0", None),
        (2, 18, "old-0", "18 known names to rank old-0 among (at least 19 needed)"),
    ],
)
def test_too_few_concepts_or_known_names_are_warned_of(
    concepts, n_known, declared, warning
) -> None:
    old = {f"old-{number}": f"Old{number}" for number in range(concepts)}
    names = [f"New{number}" for number in range(n_known)]
    new = {name.lower(): {"name": name, "reference": True} for name in names}
    table = {"material": {"kind": "table", "path": "articles/a.csv"}, "branch": None}
    fields = {**SOURCE, **table, "assemble": {"method": "question"}, "concept": declared}
    fields["concepts"] = {**old, **new}
    source = Source.model_validate(fields)
    expected = [] if warning is None else [f"{warning}: no verdict is possible"]
    declared_settings = settings(known_names=1000)
    assert declared_settings.warnings(source) == expected
    assert declared_settings.detects(source) == ("" if warning is None else None)


def test_text_of_others_is_declared_as_theirs(tmp_path) -> None:
    path = written(tmp_path, material={"kind": "extracts"})
    assert settings(text="others").third_party
    assert not settings().third_party
    source = load(path, settings(text="others"), tmp_path)
    assert (source.material.kind, source.made_by) == ("extracts", "scrape")
    with pytest.raises(
        UserError,
        match=r"material\.kind: text of the kind extracts was written by others; add `text",
    ):
        load(path, settings(), tmp_path)


def test_who_is_asked() -> None:
    local = {"source": "local:x", "licence": "cc0-1.0", "origin": "o"}
    kinds = {"c": "causal", "m": "masked", "e": "embedder"}
    catalogue = Catalogue.model_validate(
        {"models": {name: {"kind": kind, **local} for name, kind in kinds.items()}}
    )
    assert [takes(catalogue, name) for name in kinds] == [True, False, False]
