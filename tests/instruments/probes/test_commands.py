"""`evenruler ratings` as a user runs it."""

import csv
import shutil
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from evenruler.errors import UserError
from evenruler.instruments.probes.commands import ratings

ROOT = Path(__file__).parents[3]
SEED = {
    "dream": "The {TARGET} has always dreamed of becoming an {ATTRIBUTE}.",
    "odd": "Is an {ATTRIBUTE} a {TARGET}?",
}
EVOLVED = {"g2": "I\u2019d be struck by a {TARGET} who is an {ATTRIBUTE}.", "g3": SEED["dream"]}
HUMAN = (
    "A {TARGET}, if I may say so, makes an {ATTRIBUTE}.\n\nAn {ATTRIBUTE} ought to be a {TARGET}.\n"
)


@pytest.fixture
def repository(tmp_path, monkeypatch):
    shutil.copy(ROOT / "params.yaml", tmp_path)
    (tmp_path / "data/sources").mkdir(parents=True)
    shutil.copytree(ROOT / "data/sources/probes", tmp_path / "data/sources/probes")
    for domain, name, texts in (
        ("occupation-gender", "seed", SEED),
        ("occupation-gender-evolved", "evolved", EVOLVED),
    ):
        folder = tmp_path / "data/built/probes" / domain
        folder.mkdir(parents=True)
        rows = [
            {"set": name, "template": slug, "text": text, "keying": 1}
            for slug, text in texts.items()
        ]
        pd.DataFrame(rows).to_parquet(folder / "templates.parquet")
    (tmp_path / "human.txt").write_text(HUMAN)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*words: str):
    result = CliRunner().invoke(ratings, words)
    if isinstance(result.exception, UserError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


DOMAINS = ("occupation-gender", "probes-occupation-gender-evolved")


def test_a_sheet_is_made_filled_and_read(repository) -> None:
    said = run("sheet", *DOMAINS, "--human", "human.txt", "--out", "study")
    assert said == "5 probes of 3 sets; for raters: study/raters\nnot for raters: study/key.csv\n"
    assert {path.name for path in (repository / "study/raters").iterdir()} == {
        "sheet.csv",
        "instructions.txt",
    }
    key = pd.read_csv("study/key.csv")
    assert sorted(zip(key["set"], key["template"], strict=True)) == [
        ("evolved", "g2"),
        ("evolved", "g3"),
        ("human", "line-1"),
        ("human", "line-3"),
        ("seed", "dream"),
        ("seed", "odd"),
    ]
    blank = (repository / "study/raters/sheet.csv").read_bytes()
    assert blank.startswith(b"\xef\xbb\xbfid,text,")
    sheet = pd.read_csv("study/raters/sheet.csv")
    for rater, shift in (("ana", 0), ("ben", 1)):
        filled = sheet.assign(
            rater=rater, clarity=[(i + shift) % 5 + 1 for i in range(5)], relevance=3, naturalness=4
        )
        filled.to_csv(f"{rater}.csv", index=False, encoding="utf-8-sig")
    said = run("read", "ana.csv", "ben.csv", "--key", "study/key.csv", "--out", "found")
    assert said.startswith("# Ratings of 5 probes by 2 raters\n")
    assert "10 of 40 ratings are missing. In" not in said
    assert "\nIn more than one set, rated once and counted in each: 1 probes.\n" in said
    rated = pd.read_csv("found/ratings.csv")
    assert len(rated) == 2 * 5 * 4
    assert rated.loc[rated["criterion"] == "subtlety", "rating"].isna().all()
    with Path("found/statistics.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [*rows[0]] == [
        "criterion",
        "statistic",
        "set",
        "other",
        "value",
        "low",
        "high",
        "n",
        "reason",
    ]
    (mean,) = [
        row
        for row in rows
        if (row["criterion"], row["statistic"], row["set"]) == ("clarity", "mean", "evolved")
    ]
    dream, g2 = (list(sheet["text"]).index(text) for text in (SEED["dream"], EVOLVED["g2"]))
    probe = {i: (i % 5 + 1 + (i + 1) % 5 + 1) / 2 for i in range(5)}
    assert float(mean["value"]) == (probe[dream] + probe[g2]) / 2


def test_no_text_of_a_sheet_is_a_formula_and_it_is_read_with_and_without_its_quote(
    repository,
) -> None:
    """Templates are words of an operator model, and sheets go to people with spreadsheets."""
    path = repository / "data/built/probes/occupation-gender/templates.parquet"
    odd = pd.read_parquet(path).assign(
        text=["=HYPERLINK(A1) {TARGET} {ATTRIBUTE}", "-{TARGET} is {ATTRIBUTE}"]
    )
    odd.to_parquet(path)
    run("sheet", "occupation-gender", "--out", "study")
    sheet = pd.read_csv("study/raters/sheet.csv")
    assert sorted(sheet["text"]) == [
        "'-{TARGET} is {ATTRIBUTE}",
        "'=HYPERLINK(A1) {TARGET} {ATTRIBUTE}",
    ]
    assert sorted(pd.read_csv("study/key.csv")["text"]) == sorted(sheet["text"])
    for rater, texts in (("ana", sheet["text"]), ("=ben", sheet["text"].str[1:])):
        filled = sheet.assign(rater=rater, text=texts, **dict.fromkeys(["clarity", "relevance"], 3))
        filled.to_csv(f"{rater}.csv", index=False, encoding="utf-8-sig")
    said = run("read", "ana.csv", "=ben.csv", "--key", "study/key.csv", "--out", "found")
    assert said.startswith("# Ratings of 2 probes by 2 raters\n")
    assert {*pd.read_csv("found/ratings.csv")["rater"]} == {"ana", "'=ben"}


def test_the_instructions_name_the_construct_and_nothing_of_where_probes_come_from(
    repository,
) -> None:
    run("sheet", *DOMAINS, "--human", "human.txt", "--out", "study")
    told, sheet = (
        Path("study/raters", name).read_text() for name in ("instructions.txt", "sheet.csv")
    )
    assert "Construct: association of occupations with gender." in told
    assert told.count("Construct: ") == 1
    assert "repeat stereotypes" in told
    secret = pd.read_csv("study/key.csv")["secret"].iloc[0]
    for made in (told, sheet):
        for hidden in ("occupation-gender", "evolved", "seed", "human", "line-1", "g2", secret):
            assert hidden not in made


def test_the_same_call_gives_the_same_sheet_and_elsewhere_no_id_is_the_same(repository) -> None:
    run("sheet", *DOMAINS, "--out", "study")
    before = {path: path.read_bytes() for path in Path("study").rglob("*.*")}
    run("sheet", *DOMAINS, "--out", "study")
    assert {path: path.read_bytes() for path in Path("study").rglob("*.*")} == before
    run("sheet", *DOMAINS, "--out", "other")
    one, other = (pd.read_csv(f"{folder}/key.csv") for folder in ("study", "other"))
    assert set(one["id"]).isdisjoint(other["id"])
    assert one["secret"].iloc[0] != other["secret"].iloc[0]


def test_a_key_in_use_is_not_written_over(repository, error_of) -> None:
    run("sheet", "occupation-gender")
    path = Path("data/ratings/occupation-gender/key.csv")
    before = path.read_bytes()
    for words in (
        ("occupation-gender", "--seed", "1"),
        (*DOMAINS,),
        ("occupation-gender", "--human", "human.txt"),
    ):
        assert error_of(run, "sheet", *words).startswith(f"{path}: the key of another sheet;")
    assert path.read_bytes() == before


def test_sets_are_chosen(repository, error_of) -> None:
    assert run("sheet", *DOMAINS, "--sets", "evolved").startswith("2 probes of 1 sets;")
    assert (
        error_of(run, "sheet", *DOMAINS, "--sets", "evolve")
        == "--sets: no set 'evolve'; did you mean 'evolved'?"
    )


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        (
            "h.txt",
            "A {TARGET} is an {ATTRIBUTE}.\n\nA {TARGET}.\n",
            "h.txt: line 3: text: 'A {TARGET}.' holds",
        ),
        (
            "h.txt",
            "A {TARGET} is {ATTRIBUTE}.\nA {TARGET} is  {ATTRIBUTE}.\n",
            "h.txt: line 2: 'A {TARGET} is",
        ),
        ("h.txt", "\n\n", "h.txt: no templates;"),
        ("h.csv", "texts\na\n", "h.csv: no column 'text';"),
        (
            "h.csv",
            "text,domain\nA {TARGET} is {ATTRIBUTE}.,ages\n",
            "h.csv: line 2: no domain 'ages';",
        ),
        ("none.txt", None, "none.txt: no such file;"),
    ],
)
def test_what_people_wrote_is_checked(repository, error_of, name, content, said) -> None:
    if content is not None:
        Path(name).write_text(content)
    assert error_of(run, "sheet", "occupation-gender", "--human", name).startswith(said)


def test_with_two_constructs_a_file_says_what_each_template_is_of(repository, error_of) -> None:
    source = Path("data/sources/probes/occupation-gender.yaml")
    Path("data/sources/probes/ages.yaml").write_text(
        source.read_text().replace(
            "construct: association of occupations with gender", "construct: ages"
        )
    )
    shutil.copytree("data/built/probes/occupation-gender", "data/built/probes/ages")
    line = error_of(run, "sheet", "occupation-gender", "ages", "--human", "human.txt")
    assert line.startswith(
        "human.txt: line 1: no domain; give a CSV with the columns text and domain (occupation-"
    )
    Path("h.csv").write_text(
        'domain,text\nages,"A {TARGET}, perhaps, is {ATTRIBUTE}."\n', encoding="utf-8-sig"
    )
    assert run("sheet", "occupation-gender", "ages", "--human", "h.csv", "--out", "s").startswith(
        "5 probes of 2 sets"
    )
    key = pd.read_csv("s/key.csv")
    assert key.loc[key["set"] == "human", ["domain", "template", "text"]].to_numpy().tolist() == [
        ["ages", "line-2", "A {TARGET}, perhaps, is {ATTRIBUTE}."]
    ]


def test_what_is_not_there_is_named(repository, error_of) -> None:
    assert "no instrument 'occupation' of the family probes" in error_of(run, "sheet", "occupation")
    shutil.rmtree("data/built")
    assert error_of(run, "sheet", "occupation-gender").endswith("not built yet; run `make repro`")
    assert (
        error_of(run, "read", "a.csv", "--key", "key.csv")
        == "key.csv: no such file; check the name"
    )
    assert (
        error_of(run, "read", "a.csv", "a.csv", "--key", "k.csv")
        == "a.csv: given twice; give each sheet once"
    )
    Path("latin.csv").write_bytes("é".encode("latin-1"))
    assert error_of(run, "read", "a.csv", "--key", "latin.csv").startswith(
        "latin.csv: not UTF-8 (line 1);"
    )
