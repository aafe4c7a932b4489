import hashlib

from evenruler.tables import content_sha256, row_id


class TestRowId:
    def test_by_hand(self):
        # The first 16 of `printf '{"attribute":"ceo","benchmark":"jobs"}' | sha256sum`.
        written = b'{"attribute":"ceo","benchmark":"jobs"}'
        assert row_id(benchmark="jobs", attribute="ceo") == hashlib.sha256(written).hexdigest()[:16]
        assert row_id(benchmark="jobs", attribute="ceo") == "f21139c61693063a"


class TestContentSha256:
    def test_by_hand(self):
        # `printf '["He is a nurse.",-1,null]' | sha256sum`
        written = b'["He is a nurse.",-1,null]'
        assert content_sha256("He is a nurse.", -1, None) == hashlib.sha256(written).hexdigest()
        assert (
            content_sha256("He is a nurse.", -1, None)
            == "91b0439822fbcb38b58481521fb0419d34924516f9a3d7c4342db34d3653f960"
        )
