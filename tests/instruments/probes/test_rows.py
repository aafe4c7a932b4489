import copy
import hashlib

import pytest

from tests.instruments.probes.conftest import SOURCE


def texts(rows: list[dict], **where: str) -> list[str]:
    return [row["text"] for row in rows if row.items() >= where.items()]


def by_identity(rows: list[dict]) -> dict[tuple[str, ...], dict]:
    return {(row["set"], row["template"], row["attribute"], row["target"]): row for row in rows}


class TestSentences:
    def test_every_template_meets_every_attribute_and_target(self, compiled) -> None:
        built = compiled()

        assert len(built["probes"]) == 3 * 2 * 4
        assert built["rejected"] == []
        assert len(by_identity(built["probes"])) == 24
        assert len({row["id"] for row in built["probes"]}) == 24

    def test_the_article_agrees_with_the_word(self, compiled) -> None:
        probes = compiled("agree")["probes"]
        engineers = [
            f"The engineer is {words}." for words in ("a man", "an uncle", "a woman", "a girl")
        ]
        assert texts(probes, set="hand", template="plain", attribute="engineer") == engineers
        other = texts(probes, set="other", attribute="engineer", target="uncle")
        assert other == ["An engineer met an uncle."]
        assert {row["variant"] for row in probes} == {"agree"}

    def test_source_and_licence_are_those_of_the_set_or_else_of_the_file(self, compiled) -> None:
        built = compiled()
        of_file, of_others = ("the file", "cc-by-4.0"), ("the others", "mit")
        for row in built["probes"] + built["templates"]:
            expected = of_file if row["set"] == "hand" else of_others
            assert (row["source"], row["licence"]) == expected
        assert {(row["source"], row["licence"]) for row in built["attributes"]} == {of_file}


class TestIds:
    def test_an_id_says_what_a_row_is(self, compiled) -> None:
        row = by_identity(compiled()["probes"])["hand", "plain", "baker", "girl"]

        named = (
            '{"attribute":"baker","benchmark":"trades","family":"probes","framing":"bare","set":"hand",'
            '"target":"girl","template":"plain","variant":"agree"}'
        )
        assert row["id"] == hashlib.sha256(named.encode()).hexdigest()[:16]

    def test_and_the_hash_beside_it_what_it_says(self, compiled) -> None:
        row = by_identity(compiled()["probes"])["hand", "odd", "baker", "girl"]

        content = '["It is odd when a baker is a girl.",-1,"women",-1]'
        assert row["content_sha256"] == hashlib.sha256(content.encode()).hexdigest()


CONTROL = {
    "text": "It is odd when a {ATTRIBUTE} is a {TARGET}.",
    "keying": -1,
    "control": True,
}


class TestControls:
    """A template that stays out of scores is written out as any other."""

    @pytest.fixture
    def both(self, compiled):
        """Without and with one."""
        changed = copy.deepcopy(SOURCE["sets"])
        changed["hand"]["templates"]["odd"] = CONTROL
        return compiled(), compiled(sets=changed)

    def test_a_hash_says_that_it_is_one(self, both) -> None:
        row = by_identity(both[1]["probes"])["hand", "odd", "baker", "girl"]
        content = '["It is odd when a baker is a girl.",-1,"women",-1,"control"]'
        assert row["content_sha256"] == hashlib.sha256(content.encode()).hexdigest()

    def test_that_of_others_is_what_it_was_before_there_were_any(self, both) -> None:
        """As a published table had it: no checksum of a row that is no control has changed."""
        for built in both:
            row = by_identity(built["probes"])["hand", "plain", "engineer", "uncle"]
            assert (
                row["content_sha256"]
                == "26c82b256f96b3214041e161a50c57653d6bab95b981ccf3fd342c56630593df"
            )
            template = built["templates"][0]
            assert (template["set"], template["template"]) == ("hand", "plain")
            assert (
                template["content_sha256"]
                == "7c247d8a50de039bfc8d872b560ae4d00f850ea36902dc47a707662c034b976c"
            )


def test_a_sentence_that_a_set_has_already_is_rejected_with_the_reason(compiled) -> None:
    # "The old baker" comes twice: an old baker in "plain", a baker in "old".
    both = {
        "plain": "The {ATTRIBUTE} is a {TARGET}.",
        "old": "The old {ATTRIBUTE} is a {TARGET}.",
    }
    sets = {"hand": {"title": "By hand", "templates": both}}
    built = compiled(attributes=["baker", "old baker"], sets=sets)
    rows = by_identity(built["probes"])
    assert len(rows) == 4 * 3
    assert len(built["rejected"]) == 4
    for row in built["rejected"]:
        assert (row["template"], row["attribute"]) == ("old", "baker")
        same = rows["hand", "plain", "old-baker", row["target"]]
        assert row["reason"] == f"same sentence as {same['id']}"
