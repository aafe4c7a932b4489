"""`left_out` of params.yaml: written, read, and what becomes of the rest."""

from pathlib import Path

from evenruler.project.asking import left_out
from evenruler.strict import read_yaml

BEFORE = "# mine\nmodels: {a: 1} # here\n\nactive:\n  scale: quick\n"


def test_the_rest_stays_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "params.yaml"
    path.write_text(BEFORE)
    left_out.write(tmp_path, {})
    assert path.read_text() == BEFORE
    reasons = {"ask@probes-a": 'no "such"\nfile: ä # b', "rows@age": "torn"}
    left_out.write(tmp_path, reasons)
    assert path.read_text().startswith(BEFORE + "left_out: #")
    assert read_yaml(path)["left_out"] == {"ask@probes-a": 'no "such" file: ä # b', "rows@age": "torn"}
    left_out.write(tmp_path, {"rows@age": "torn"})
    assert read_yaml(path)["left_out"] == {"rows@age": "torn"}
    left_out.write(tmp_path, {})
    assert path.read_text() == BEFORE
