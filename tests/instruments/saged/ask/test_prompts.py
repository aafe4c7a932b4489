"""Which prompts are asked, in which roles, and with which seeds."""

import pandas as pd
import pytest

from evenruler.instruments.saged.ask import asked_prompts, asked_replies, framed

CONCEPTS = ("root", "b", "c", "d", "e")


def prompts(items: int = 6) -> pd.DataFrame:
    rows = [
        {
            "id": f"{concept}{item}",
            "concept": concept,
            "root_id": f"root{item}",
            "root_concept": "root",
            "prompt": f"Is {concept} number {item}?",
        }
        for item in range(items)
        for concept in CONCEPTS
    ]
    return pd.DataFrame(rows)


class TestPrompts:
    def test_items_and_concepts_are_evenly_spread_and_the_root_is_kept(self) -> None:
        asked = asked_prompts(prompts(), items=2, concepts=3)
        assert sorted(set(asked["root_id"])) == ["root1", "root4"]
        assert sorted(set(asked["concept"])) == ["c", "e", "root"]
        assert len(asked) == 2 * 3

    def test_everything_where_the_caps_are_large(self) -> None:
        assert len(asked_prompts(prompts(), items=1000, concepts=1000)) == 6 * 5

    def test_fewer_concepts_than_roots_keep_the_roots(self) -> None:
        assert set(asked_prompts(prompts(), items=1000, concepts=1)["concept"]) == {"root"}

    def test_without_branches_each_concept_has_items_of_its_own(self) -> None:
        rows = prompts()
        rows = rows.assign(root_id=rows["id"], root_concept=rows["concept"])
        asked = asked_prompts(rows, items=2, concepts=3)
        assert asked["concept"].value_counts().to_dict() == {"b": 2, "d": 2, "root": 2}

    @pytest.mark.parametrize(
        ("concepts", "invented", "kept"),
        [
            (2, 0, {"root", "c"}),
            (2, 1, {"root", "c"}),  # the root is the first of them
            (2, 2, {"root", "c", "e"}),
            (1000, 3, {"root", "b", "c", "d", "e"}),
            (1, 1000, {"root", "d", "e"}),
        ],
    )
    def test_invented_concepts_have_a_cap_of_their_own(self, concepts: int, invented: int, kept: set[str]) -> None:
        controls = ["root", "e", "d", "not-there"]
        asked = asked_prompts(prompts(), 2, concepts, controls, invented)
        assert set(asked["concept"]) == kept

    def test_without_branches_invented_concepts_have_it_too(self) -> None:
        rows = prompts()
        rows = rows.assign(root_id=rows["id"], root_concept=rows["concept"])
        assert set(asked_prompts(rows, 2, 2, ["d", "e"], 1)["concept"]) == {"b", "root", "e"}


class TestReplies:
    def asked(self, **changes: object) -> pd.DataFrame:
        rows = prompts(1)
        after = framed("trees", rows.head(2), {"salience": "A test."})
        arguments = {
            "roles": {"no-role": "", "mayor": "You are a mayor."},
            "templates": {"plain": "{PROMPT}", "short": "Be short. {PROMPT}"},
            "repetitions": 2,
            "seed": 0,
        } | changes
        return asked_replies(rows, after, **arguments)  # type: ignore[arg-type]

    def test_every_role_and_template_of_bare_prompts_and_the_first_of_framed_ones(self) -> None:
        asked = self.asked()
        assert asked["framing"].value_counts().to_dict() == {"bare": 5 * 2 * 2 * 2, "salience": 2 * 2}
        after = asked[asked["framing"] == "salience"]
        assert set(zip(after["role"], after["template"], after["system"], strict=True)) == {("no-role", "plain", "")}
        assert set(after["text"]) == {"A test. Is root number 0?", "A test. Is b number 0?"}
        one = asked[(asked["id"] == "c0") & (asked["role"] == "mayor") & (asked["template"] == "short")]
        assert one["text"].tolist() == ["Be short. Is c number 0?"] * 2
        assert one["system"].tolist() == ["You are a mayor."] * 2
        assert one["repetition"].tolist() == [0, 1]

    def test_counterfactuals_share_their_seeds_and_nothing_else_does(self) -> None:
        asked = self.asked()
        assert (asked.groupby(["role", "template", "repetition"])["seed"].nunique() == 1).all()
        assert asked["seed"].nunique() == 2 * 2 * 2
        assert set(asked["seed"]).isdisjoint(self.asked(seed=1)["seed"])

    def test_ids_of_framed_prompts_are_their_own(self) -> None:
        rows = prompts(1)
        after = framed("trees", rows, {"salience": "A test.", "instruction": "Answer."})
        assert len({*after["id"], *rows["id"]}) == 5 * 2 + 5
        assert list(after[["framing", "before", "bare_id"]].head(2).itertuples(index=False, name=None)) == [
            ("salience", "A test.", "root0"),
            ("instruction", "Answer.", "root0"),
        ]
