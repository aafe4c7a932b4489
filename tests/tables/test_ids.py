import hashlib

from evenruler.instruments.probes.declare.source import ProbeSource
from evenruler.instruments.probes.rows import compile_domain
from evenruler.tables import content_sha256, row_id
from tests.instruments.probes.conftest import settings_of


class TestRowId:
    def test_by_hand(self):
        # The first 16 of `printf '{"attribute":"ceo","benchmark":"jobs"}' | sha256sum`.
        written = b'{"attribute":"ceo","benchmark":"jobs"}'
        assert row_id(benchmark="jobs", attribute="ceo") == hashlib.sha256(written).hexdigest()[:16]
        assert row_id(benchmark="jobs", attribute="ceo") == "f21139c61693063a"

    def test_letters_beyond_ascii_count_as_utf_8(self):
        written = '{"attribute":"sœur"}'.encode()
        assert row_id(attribute="sœur") == hashlib.sha256(written).hexdigest()[:16]


class TestContentSha256:
    def test_by_hand(self):
        # `printf '["He is a nurse.",-1,null]' | sha256sum`
        written = b'["He is a nurse.",-1,null]'
        assert content_sha256("He is a nurse.", -1, None) == hashlib.sha256(written).hexdigest()
        assert (
            content_sha256("He is a nurse.", -1, None)
            == "91b0439822fbcb38b58481521fb0419d34924516f9a3d7c4342db34d3653f960"
        )


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
