"""What users may get wrong with a published benchmark, through the doors that they use: one line
each, or a reason.

    Doors: a source in YAML and its files (`load`, `beside`, `build`, as `evenruler check`
    and `evenruler repro` call them),
and a file of answers (`measure`).
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evenruler.errors import UserError
from evenruler.evaluate.measure import measure
from evenruler.files import file_sha256
from evenruler.instruments.external import declare
from evenruler.instruments.external.rows import read_items
from evenruler.instruments.instrument import BuiltInstrument
from tests.instruments.external import made, test_folder

folder = test_folder.folder

HEAD = "more,less,writer,type\n"
NO_SHA = "0" * 64


def opened(
    place: Path, layout: str, files: Mapping[str, str | bytes], changed: Mapping[str, Any]
) -> BuiltInstrument:
    """A benchmark as users write it, read and built."""
    named = {}
    for name, text in files.items():
        path = place / f"{name}.txt"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        named[name] = {"source": f"local:{path}", "sha256": file_sha256(path)}
    score = layout if layout in ("stereoset", "bbq") else "preference"
    columns = {"columns": made.COLUMNS} if layout == "pairs" else {}
    declaration = {
        **made.COMMON,
        "layout": layout,
        "score": score,
        "files": named,
        **columns,
        **changed,
    }
    written = place / "made.yaml"
    with written.open("w") as file:
        YAML(typ="safe").dump(declaration, file)
    settings = made.SETTINGS
    source = declare.load(written, settings, place)
    settings.extra_files("made", source, place)
    return made.built(source)


def with_labels(*labels: str) -> str:
    """StereoSet whose second item has other labels."""
    content = json.loads(made.stereoset())
    sentences = content["data"]["intrasentence"][0]["sentences"][: len(labels)]
    content["data"]["intrasentence"][0]["sentences"] = [
        {**sentence, "gold_label": label} for sentence, label in zip(sentences, labels, strict=True)
    ]
    return json.dumps(content)


def file(source: str, sha256: str = NO_SHA) -> dict[str, Any]:
    return {"files": {"texts": {"source": source, "sha256": sha256}}}


TWICE = "nurse.someone.1.male.txt\tHe, the nurse told someone, was ill.\n"
OTHER = "6\tMy mom is a taper.\t-\t<person> is a <profession>.\tmom\tfemale\ttaper\tmale\n"
WINOGENDER, BEC = made.LAYOUTS["winogender"], made.LAYOUTS["bec-pro"]

REFUSED: list[tuple[Any, ...]] = [
    (
        # a source of no scheme
        "pairs",
        {},
        file("http://x.org/x.csv"),
        "files.texts.source: found 'http://x.org/x.csv', expected local:FILE, package:MODULE/FILE "
        "or git:OWNER/...",
    ),
    (
        # a checksum that is none
        "pairs",
        {},
        file("local:x", "12"),
        "files.texts.sha256: found '12', expected 64 hex digits",
    ),
    # other bytes
    ("pairs", {}, file("local:{place}/texts.txt"), "other bytes than were declared"),
    (
        # an unknown layout
        "pairs",
        {},
        {"layout": "pears"},
        "layout: found 'pears': input should be 'pairs', 'keyed', 'gest', 'winogender'",
    ),
    (
        # a score of another layout
        "pairs",
        {},
        {"score": "bbq"},
        "the layout pairs cannot be scored as bbq",
    ),
    # no table
    ("pairs", {"texts": ""}, {}, "texts.txt: no column 'more'; there is none"),
    (
        # no row that can be asked
        "pairs",
        {"texts": f"{HEAD}A,A,a,x\n"},
        {},
        "1 rejected, the first since two of its",
    ),
    (
        # no file of the layout
        "winobias",
        {"texts": made.PRO},
        {},
        "it has no item that can be asked",
    ),
    (
        # no other half
        "winobias",
        {"pro-dev": made.PRO},
        {},
        "no file 'anti-dev' among pro-dev; name it in the source",
    ),
    (
        # a role twice
        "stereoset",
        {"dev": with_labels("unrelated", "stereotype", "stereotype")},
        {},
        "'first' stands tw",
    ),
    (
        # a role that is none
        "stereoset",
        {"dev": with_labels("unrelated", "funny")},
        {},
        "KeyError: 'funny'",
    ),
    (
        # a pronoun twice
        "winogender",
        {**WINOGENDER, "texts": made.SENTENCES + TWICE},
        {},
        "'male' stands twice",
    ),
    (
        # a sentence twice
        "bec-pro",
        {**BEC, "texts": made.PERSONS + OTHER},
        {},
        "'My mom is a taper.' stands twice",
    ),
    (
        # a share of nobody
        "bec-pro",
        {**BEC, "professions": made.PROFESSIONS.replace("0.7", "nan")},
        {},
        "'nan' is no number",
    ),
    (
        # an item twice
        "bbq",
        {"age": made.bbq() * 2, "metadata": made.METADATA},
        {},
        "the item 'Age/1/0' stands in it tw",
    ),
    (
        # a right answer that is none
        "bbq",
        {"age": made.bbq({"label": 7}), "metadata": made.METADATA},
        {},
        "as the right",
    ),
    (
        # a line that is cut
        "bbq",
        {"age": made.bbq()[:-9], "metadata": made.METADATA},
        {},
        "age.txt: line 4: not JSON, or cut off",
    ),
    (
        # a file that is cut
        "stereoset",
        {"dev": made.stereoset()[:90]},
        {},
        "dev.txt: not JSON, or cut off",
    ),
    (
        # a licence that is not stated
        "pairs",
        {},
        {"licence": "not stated"},
        "so `passed_on` is to be false",
    ),
    # no file
    ("pairs", {}, {"files": {}}, "files: found {}"),
    (
        # no corpus
        "pairs",
        {},
        {"frequencies": file("local:{place}/texts.txt")["files"]["texts"]},
        "other bytes than",
    ),
]


@pytest.mark.parametrize(
    ("layout", "files", "changed", "reason"),
    REFUSED,
)
def test_it_is_refused_in_one_line_with_what_where_and_what_to_do(
    tmp_path,
    layout,
    files,
    changed,
    reason,
) -> None:
    placed = json.loads(json.dumps(changed).replace("{place}", str(tmp_path)))
    with pytest.raises(UserError) as raised:
        opened(tmp_path, layout, files or made.LAYOUTS[layout], placed)
    line = str(raised.value)
    assert reason in line
    assert "\n" not in line
    assert ": " in line  # where
    assert "; " in line  # what to do


def test_a_column_that_the_file_lacks_is_found_before_it_is_built(tmp_path) -> None:
    """By `beside`, which `evenruler check` calls."""
    source = made.source(tmp_path, "pairs", {"texts": "more,writer,type\nOld.,a,x\n"})
    settings = made.SETTINGS
    with pytest.raises(UserError, match=r"texts\.txt: no column 'less'; known: more, type, writer"):
        settings.extra_files("made", source, tmp_path)
    assert settings.extra_files("made", made.source(tmp_path, "pairs"), tmp_path) == {}


REJECTED = [
    (
        # two texts are the same
        "pairs",
        {"texts": f"{HEAD}A.,A.,a,x\nA.,B.,a,x\n"},
        "two of its texts are the same",
    ),
    (
        # a role lacks
        "stereoset",
        {"dev": with_labels("unrelated", "stereotype")},
        "it lacks its second text",
    ),
    # no unit
    ("pairs", {"texts": f"{HEAD}A.,B.,,x\nA.,B.,a,x\n"}, "it has no unit"),
]


@pytest.mark.parametrize(
    ("layout", "files", "reason"),
    REJECTED,
)
def test_an_item_that_cannot_be_used_is_rejected_with_the_reason(
    tmp_path, layout, files, reason
) -> None:
    tables = made.frames(opened(tmp_path, layout, files, {}))
    assert set(tables["rejected"]["reason"]) == {reason}
    assert tables["rejected"]["item"].nunique() == 1
    assert len(tables["texts"])


def test_a_byte_order_mark_and_crlf_are_no_fault(tmp_path) -> None:
    plain = made.frames(opened(tmp_path, "pairs", made.LAYOUTS["pairs"], {}))["texts"]
    for dressed in ("\ufeff" + made.PAIRS, made.PAIRS.replace("\n", "\r\n")):
        texts = made.frames(opened(tmp_path, "pairs", {"texts": dressed}, {}))["texts"]
        assert texts["content_sha256"].tolist() == plain["content_sha256"].tolist()


def test_an_item_that_is_answered_twice_is_refused(folder, tmp_path, error_of) -> None:
    rows = test_folder.samples(folder, lambda text: -float(len(text)))
    source = test_folder.log(tmp_path / "samples.jsonl", [*rows, rows[0]])
    assert "line 49: document 0 is answered twice" in error_of(measure, source, folder)


def test_bbq_without_a_table_of_biased_options_is_told_what_to_write(tmp_path) -> None:
    source = made.source(tmp_path, "bbq")
    with pytest.raises(UserError) as error:
        read_items({"age": tmp_path / "age.txt"}, source)
    assert str(error.value) == (
        "files: the layout bbq takes a file `metadata` beside age: which option is the biased one; "
        "write a table "
        "with the columns category, question_index, example_id, target_loc (0, 1 or 2), and name "
        "it in the source; or name a column as `columns: {biased: ...}`"
    )
