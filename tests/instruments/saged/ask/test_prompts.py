"""Which prompts are asked, in which roles, and with which seeds."""

import pandas as pd

from evenruler.instruments.saged.ask import asked_replies, prefixed_prompts, with_items

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
    def test_items_are_evenly_spread_and_asked_of_every_concept(self) -> None:
        asked = with_items(prompts(), 2)
        assert sorted(set(asked["root_id"])) == ["root1", "root4"]
        assert len(asked) == 2 * 5
        assert len(with_items(prompts(), 1000)) == 6 * 5

    def test_without_branches_each_concept_has_items_of_its_own(self) -> None:
        rows = prompts()
        rows = rows.assign(root_id=rows["id"], root_concept=rows["concept"])
        assert with_items(rows, 2)["concept"].value_counts().to_dict() == dict.fromkeys(CONCEPTS, 2)


class TestReplies:
    def asked(self, **changes: object) -> pd.DataFrame:
        rows = prompts(1)
        after = prefixed_prompts("trees", rows.head(2), {"salience": "A test."})
        arguments = {
            "roles": {"no-role": "", "mayor": "You are a mayor."},
            "templates": {"plain": "{PROMPT}", "short": "Be short. {PROMPT}"},
            "repetitions": 2,
            "seed": 0,
        } | changes
        return asked_replies(rows, after, **arguments)  # type: ignore[arg-type]

    def test_every_role_and_template_of_bare_prompts_and_the_first_of_framed_ones(self) -> None:
        asked = self.asked()
        assert asked["framing"].value_counts().to_dict() == {
            "bare": 5 * 2 * 2 * 2,
            "salience": 2 * 2,
        }
        after = asked[asked["framing"] == "salience"]
        assert set(zip(after["role"], after["template"], after["system"], strict=True)) == {
            ("no-role", "plain", "")
        }
        assert set(after["text"]) == {"A test. Is root number 0?", "A test. Is b number 0?"}
        one = asked[
            (asked["id"] == "c0") & (asked["role"] == "mayor") & (asked["template"] == "short")
        ]
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
        after = prefixed_prompts("trees", rows, {"salience": "A test.", "instruction": "Answer."})
        assert len({*after["id"], *rows["id"]}) == 5 * 2 + 5
        assert list(
            after[["framing", "before", "bare_id"]].head(2).itertuples(index=False, name=None)
        ) == [
            ("salience", "A test.", "root0"),
            ("instruction", "Answer.", "root0"),
        ]
