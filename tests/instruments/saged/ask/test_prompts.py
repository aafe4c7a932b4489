"""Which prompts are asked, in which roles, and with which seeds."""

from itertools import product
from typing import Any

import pandas as pd

from evenruler.instruments.saged.ask import asked_replies, prefixed_prompts, with_items

CONCEPTS = ("root", "b", "c", "d", "e")


def prompt(number: int, concept: str) -> dict[str, str]:
    return {
        "id": f"{concept}{number}",
        "concept": concept,
        "root_id": f"root{number}",
        "root_concept": "root",
        "prompt": f"Is {concept} number {number}?",
    }


def prompts(items: int = 6) -> pd.DataFrame:
    pairs = product(range(items), CONCEPTS)
    return pd.DataFrame([prompt(*pair) for pair in pairs])


class TestPrompts:
    def test_a_larger_size_begins_with_the_root_items_of_a_smaller_one(self) -> None:
        shuffled = prompts().sample(frac=1, random_state=3)
        two, whole = (with_items(shuffled, n) for n in (2, 1000))
        assert two["root_id"].tolist() == ["root0"] * 5 + ["root1"] * 5
        assert whole["root_id"].tolist()[:10] == two["root_id"].tolist()
        assert len(whole) == 6 * 5

    def test_without_branches_each_concept_has_items_of_its_own(self) -> None:
        rows = prompts()
        rows = rows.assign(
            root_id=rows["id"],
            root_concept=rows["concept"],
        )
        chosen = with_items(rows, 2)
        assert chosen["concept"].tolist() == sorted(CONCEPTS) * 2  # which take turns
        counts = chosen["concept"].value_counts()
        assert counts.to_dict() == dict.fromkeys(CONCEPTS, 2)


class TestReplies:
    def ask_replies(self, **changes: object) -> pd.DataFrame:
        rows = prompts(1)
        arguments: Any = {
            "roles": {"no-role": "", "mayor": "You are a mayor."},
            "templates": {"plain": "{PROMPT}", "short": "Be short. {PROMPT}"},
            "repetitions": 2,
            "seed": 0,
        }
        after = prefixed_prompts("trees", rows.head(2), {"salience": "A test."})
        return asked_replies(rows, after, **arguments | changes)

    def test_every_role_and_template_of_bare_prompts_and_the_first_of_framed_ones(self) -> None:
        requests = self.ask_replies()
        n_asked = requests["framing"].value_counts().to_dict()
        assert n_asked == {"bare": 5 * 2 * 2 * 2, "salience": 2 * 2}
        after = requests[requests["framing"] == "salience"]
        settings = after[["role", "template", "system"]].drop_duplicates()
        assert settings.to_numpy().tolist() == [["no-role", "plain", ""]]
        assert set(after["text"]) == {"A test. Is root number 0?", "A test. Is b number 0?"}
        short_mayor = requests.query("id == 'c0' and role == 'mayor' and template == 'short'")
        assert short_mayor[["text", "system", "repetition"]].values.tolist() == [
            ["Be short. Is c number 0?", "You are a mayor.", place] for place in (0, 1)
        ]

    def test_counterfactuals_share_their_seeds_and_nothing_else_does(self) -> None:
        requests = self.ask_replies()
        assert (requests.groupby(["role", "template", "repetition"])["seed"].nunique() == 1).all()
        assert requests["seed"].nunique() == 2 * 2 * 2
        assert set(requests["seed"]).isdisjoint(self.ask_replies(seed=1)["seed"])
