import hashlib

import pytest

from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.instruments.probes.rows import compile_domain
from evenruler.tables import content_sha256, row_id
from tests.instruments.probes.conftest import settings_of

IDENTITY = {
    "family": "probes",
    "benchmark": "jobs",
    "set": "hand",
    "template": "plain",
    "attribute": "nurse",
    "target": "man",
    "variant": "agree",
    "framing": "bare",
}


class TestRowId:
    def test_by_hand(self):
        # The first 16 of `printf '{"attribute":"ceo","benchmark":"jobs"}' | sha256sum`.
        written = b'{"attribute":"ceo","benchmark":"jobs"}'
        assert row_id(benchmark="jobs", attribute="ceo") == hashlib.sha256(written).hexdigest()[:16]
        assert row_id(benchmark="jobs", attribute="ceo") == "f21139c61693063a"

    def test_letters_beyond_ascii_count_as_utf_8(self):
        written = '{"attribute":"sœur"}'.encode()
        assert row_id(attribute="sœur") == hashlib.sha256(written).hexdigest()[:16]

    def test_the_order_of_the_parts_does_not_matter(self):
        assert row_id(**dict(reversed(IDENTITY.items()))) == row_id(**IDENTITY)

    @pytest.mark.parametrize("part", IDENTITY)
    def test_every_part_matters(self, part):
        assert row_id(**(IDENTITY | {part: "another"})) != row_id(**IDENTITY)

    @pytest.mark.parametrize("part", IDENTITY)
    def test_the_name_of_a_part_matters(self, part):
        renamed = {("other" if name == part else name): value for name, value in IDENTITY.items()}
        assert row_id(**renamed) != row_id(**IDENTITY)

    def test_parts_do_not_run_together(self):
        ids = {
            row_id(set="a-b", template="c"),
            row_id(set="a", template="b-c"),
            row_id(set="a", template="b", attribute="c"),
            row_id(set='a","template":"b', attribute="c"),
        }
        assert len(ids) == 4


class TestContentSha256:
    def test_by_hand(self):
        # `printf '["He is a nurse.",-1,null]' | sha256sum`
        written = b'["He is a nurse.",-1,null]'
        assert content_sha256("He is a nurse.", -1, None) == hashlib.sha256(written).hexdigest()
        assert (
            content_sha256("He is a nurse.", -1, None)
            == "91b0439822fbcb38b58481521fb0419d34924516f9a3d7c4342db34d3653f960"
        )

    @pytest.mark.parametrize(
        "other",
        [
            ("He is a nurse!", 1, "men"),
            ("He is a nurse.", -1, "men"),
            ("He is a nurse.", 1, "women"),
            ("He is a nurse.", "1", "men"),
            ("He is a nurse.", 1),
            ("He is a nurse.", 1, "men", None),
            ("men", 1, "He is a nurse."),
        ],
    )
    def test_any_change_shows(self, other):
        assert content_sha256(*other) != content_sha256("He is a nurse.", 1, "men")


def jobs(template: str) -> ProbeSource:
    """A domain of that one template."""
    return ProbeSource.model_validate(
        {
            "title": "Jobs",
            "construct": "c",
            "direction": "d",
            "source": "s",
            "licence": "l",
            "targets": {"men": ["man"], "women": ["woman"]},
            "attributes": ["nurse"],
            "sets": {"hand": {"title": "t", "templates": {"plain": template}}},
        }
    )


def test_an_edit_of_the_content_keeps_the_id_and_shows_in_the_hash():
    before, after = (
        compile_domain("jobs", jobs(template), settings_of())
        for template in ("A {ATTRIBUTE} is a {TARGET}.", "The {ATTRIBUTE} is a {TARGET}.")
    )
    assert [row["text"] for row in after["probes"]] == [
        "The nurse is a man.",
        "The nurse is a woman.",
    ]
    for old, new in (
        (before["probes"], after["probes"]),
        (before["templates"], after["templates"]),
    ):
        assert [row["id"] for row in new] == [row["id"] for row in old]
        assert not {row["content_sha256"] for row in new} & {row["content_sha256"] for row in old}
