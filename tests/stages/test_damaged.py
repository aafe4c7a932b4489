"""A damaged object of DVC's cache in a whole clone: its stage runs again, and writes what stood
there."""

import hashlib
import shutil
import stat

import pytest

from tests.stages.conftest import Clone

pytestmark = [pytest.mark.slow, pytest.mark.long]


def test_a_damaged_table_is_built_again(built: Clone) -> None:
    before = built.contents("data/built/framing/age")
    table = "data/built/framing/age/prompts.parquet"
    md5 = hashlib.md5(before[table]).hexdigest()
    damaged = built.folder / ".dvc/cache/files/md5" / md5[:2] / md5[2:]
    mode = stat.S_IMODE(damaged.stat().st_mode)
    damaged.chmod(0o644)
    with damaged.open("r+b") as file:
        file.seek(400)
        file.write(b"?" * 200)
    damaged.chmod(mode)
    shutil.rmtree(built.folder / "data/built/framing/age")
    printed = built.run("evenruler", "repro")
    assert (
        f"{damaged.relative_to(built.folder)}: damaged in DVC's cache, and removed; rows@age "
        "writes it again" in printed
    )
    assert built.contents("data/built/framing/age") == before
    assert damaged.read_bytes() == before[table]
    assert "Running stage" not in built.run("evenruler", "repro")
    assert built.run("git", "status", "--porcelain") == ""
