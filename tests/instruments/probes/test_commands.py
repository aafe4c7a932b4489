"""`evenruler ratings` and `evenruler evolve` as a user runs them."""

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from evenruler.errors import UserError
from evenruler.instruments.probes.commands import app, ratings

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


def fill_sheet(rater: str, **columns: object) -> None:
    """Write the sheet as a rater sends it back, named after the rater."""
    filled = pd.read_csv("study/raters/sheet.csv").assign(rater=rater, **columns)
    filled.to_csv(f"{rater}.csv", index=False, encoding="utf-8-sig")


DOMAINS = ("occupation-gender", "probes-occupation-gender-evolved")


def test_a_sheet_is_made_filled_and_read(repository) -> None:
    output = run(
        "sheet",
        *DOMAINS,
        "--human",
        "human.txt",
        "--out",
        "study",
    )
    assert output == "5 probes of 3 sets; for raters: study/raters\nnot for raters: study/key.csv\n"
    raters = repository / "study/raters"
    shown = {path.name: path.read_text(encoding="utf-8") for path in raters.iterdir()}
    assert set(shown) == {"sheet.csv", "instructions.txt"}
    key = pd.read_csv("study/key.csv")
    by_set = key.sort_values("template").groupby("set")["template"].apply(" ".join)
    assert by_set.to_dict() == {"evolved": "g2 g3", "human": "line-1 line-3", "seed": "dream odd"}
    assert shown["sheet.csv"].startswith("\ufeffid,text,")
    assert shown["instructions.txt"].count("Construct: association of occupations with") == 1
    secrets = ["occupation-gender", "evolved", "seed", "human", "line-1", "g2", key["secret"][0]]
    for content in shown.values():
        assert not [secret for secret in secrets if secret in content]
    fill_sheet(
        "ana",
        clarity=[1, 2, 3, 4, 5],
        relevance=3,
        naturalness=4,
    )
    fill_sheet(
        "ben",
        clarity=[2, 3, 4, 5, 1],
        relevance=3,
        naturalness=4,
    )
    output = run(
        "read",
        "ana.csv",
        "ben.csv",
        "--key",
        "study/key.csv",
        "--out",
        "found",
    )
    assert output.startswith("# Ratings of 5 probes by 2 raters\n")
    assert "counted in each: 1 probes.\n" in output
    rated = pd.read_csv("found/ratings.csv")
    assert len(rated) == 2 * 5 * 4
    assert rated.loc[rated["criterion"] == "subtlety", "rating"].isna().all()
    statistics = pd.read_csv("found/statistics.csv")
    is_mean = "criterion == 'clarity' and statistic == 'mean' and set == 'evolved'"
    (mean,) = statistics.query(is_mean)["value"]
    texts = pd.read_csv(raters / "sheet.csv")["text"]
    means = pd.Series([1.5, 2.5, 3.5, 4.5, 3.0], texts)
    assert mean == means[[SEED["dream"], EVOLVED["g2"]]].mean()


def test_no_text_of_a_sheet_is_a_formula_and_it_is_read_with_and_without_its_quote(
    repository,
) -> None:
    """Templates are words of an operator model, and sheets go to people with spreadsheets."""
    path = repository / "data/built/probes/occupation-gender/templates.parquet"
    formulas = ["-{TARGET} is {ATTRIBUTE}", "=HYPERLINK(A1) {TARGET} {ATTRIBUTE}"]
    pd.read_parquet(path).assign(text=formulas).to_parquet(path)
    run("sheet", "occupation-gender", "--out", "study")
    texts = pd.read_csv("study/raters/sheet.csv")["text"]
    assert sorted(texts) == [f"'{formula}" for formula in formulas]
    assert sorted(pd.read_csv("study/key.csv")["text"]) == sorted(texts)
    fill_sheet("ana", clarity=3, relevance=3)
    fill_sheet(
        "=ben",
        clarity=3,
        relevance=3,
        text=texts.str[1:],
    )
    output = run(
        "read",
        "ana.csv",
        "=ben.csv",
        "--key",
        "study/key.csv",
        "--out",
        "found",
    )
    assert output.startswith("# Ratings of 2 probes by 2 raters\n")
    assert {*pd.read_csv("found/ratings.csv")["rater"]} == {"ana", "'=ben"}


def test_a_key_in_use_is_not_written_over(repository, error_of) -> None:
    run("sheet", "occupation-gender")
    path = Path("data/ratings/occupation-gender/key.csv")
    before = path.read_bytes()
    line = error_of(run, "sheet", "occupation-gender", "--seed", "1")
    assert line.startswith(f"{path}: the key of another sheet;")
    assert path.read_bytes() == before


def test_sets_are_chosen(repository, error_of) -> None:
    assert run("sheet", *DOMAINS, "--sets", "evolved").startswith("2 probes of 1 sets;")
    assert (
        error_of(run, "sheet", *DOMAINS, "--sets", "evolve")
        == "--sets: no set 'evolve'; did you mean 'evolved'?"
    )


@pytest.mark.parametrize(
    ("name", "content", "message"),
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
        ("h.csv", "texts\na\n", "h.csv: no column 'text';"),
        (
            "h.csv",
            "text,domain\nA {TARGET} is {ATTRIBUTE}.,ages\n",
            "h.csv: line 2: no domain 'ages';",
        ),
    ],
)
def test_what_people_wrote_is_checked(repository, error_of, name, content, message) -> None:
    Path(name).write_text(content)
    assert error_of(run, "sheet", "occupation-gender", "--human", name).startswith(message)


def test_with_two_constructs_a_file_says_what_each_template_is_of(repository, error_of) -> None:
    sources, built = Path("data/sources/probes"), Path("data/built/probes")
    text = (sources / "occupation-gender.yaml").read_text()
    construct = "construct: association of occupations with gender"
    (sources / "ages.yaml").write_text(text.replace(construct, "construct: ages"))
    shutil.copytree(built / "occupation-gender", built / "ages")
    both = ("sheet", "occupation-gender", "ages", "--human")
    line = error_of(run, *both, "human.txt")
    assert line.startswith("human.txt: line 1: no domain; give a CSV with the columns text and")
    Path("h.csv").write_text('domain,text\nages,"A {TARGET}, perhaps, is {ATTRIBUTE}."\n')
    assert run(*both, "h.csv", "--out", "s").startswith("5 probes of 2 sets")
    human = pd.read_csv("s/key.csv").query("set == 'human'").iloc[0]
    assert (human["domain"], human["template"]) == ("ages", "line-2")


def test_what_is_not_there_is_named(repository, error_of) -> None:
    assert "no instrument 'occupation' of the family probes" in error_of(run, "sheet", "occupation")
    shutil.rmtree("data/built")
    assert error_of(run, "sheet", "occupation-gender").endswith("not built yet; run `make repro`")
    assert (
        error_of(run, "read", "a.csv", "a.csv", "--key", "k.csv")
        == "a.csv: given twice; give each sheet once"
    )


@pytest.fixture
def recorded(repository, monkeypatch):
    """Declarations whose operator was asked; the reply is a line that names it."""
    declarations = []

    def record(declaration, load, generations_folder):
        declarations.append(declaration)
        return f"{declaration.settings.evolve.operator}\n", ["guided run"]

    monkeypatch.setattr("evenruler.instruments.probes.evolve.record_operator_replies", record)
    monkeypatch.setenv("EVENRULER_CACHE", str(repository / "cache"))
    monkeypatch.setenv("EVENRULER_PROFILE", "")  # the command sets it
    return declarations


def evolve(*words: str) -> list[str]:
    result = CliRunner().invoke(app, ["evolve", "occupation-gender-evolved", *words])
    if isinstance(result.exception, UserError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output.splitlines()


class TestOperator:
    def test_a_server_rewords_without_examples_and_its_replies_have_a_folder(
        self, repository, recorded
    ) -> None:
        *_, path_line, operator_line, model_line = evolve("--operator", "endpoint:big-one")
        path = "data/sources/probes/replies/big-one/occupation-gender-evolved.jsonl"
        assert path_line == f"{path}: 1 replies"
        assert (repository / path).read_text() == "big-one\n"
        (declaration,) = recorded
        assert not declaration.settings.evolve.shots
        assert operator_line == (
            "to replay them, say in params.yaml under instruments.occupation-gender-evolved"
            ".evolve: operator: big-one, shots: false"
        )
        words, _, written = model_line.partition(": big-one: ")
        assert words == "and under models"
        entry = json.loads(written)
        assert (entry["kind"], entry["source"]) == ("chat", "endpoint:big-one")
        assert entry["profile"] == "none"

    def test_a_model_of_the_catalogue(self, recorded) -> None:
        lines = evolve("--operator", "qwen2-5-32b-instruct")
        assert "operator: qwen2-5-32b-instruct, shots: true" in lines[-1]

    def test_not_another_model_of_the_same_name(self, recorded, error_of) -> None:
        assert error_of(evolve, "--operator", "endpoint:gemma-2-2b") == (
            "--operator endpoint:gemma-2-2b: params.yaml has another model 'gemma-2-2b'; rename "
            "that one"
        )
        assert recorded == []

    def test_not_the_model_that_selects_at_the_profile_of_the_paper(
        self, recorded, error_of
    ) -> None:
        message = error_of(evolve, "--profile", "paper", "--operator", "smollm3-3b")
        assert message.startswith("params.yaml: instruments.occupation-gender-evolved.evolve.oper")
        assert recorded == []
