"""Sources made from files as people of the field have them; all of their content is ours."""

import json
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from evenruler.declaration.params_file import ParamsFile
from evenruler.errors import UserError
from evenruler.evaluate.benchmark import build_source
from evenruler.files import file_sha256
from evenruler.instruments.recognise import load_kinds, recognise_file
from evenruler.project.check import check_instruments
from evenruler.project.drafts import DRAFTS
from evenruler.project.from_file import FileOptions, create_from_file
from evenruler.strict import read_yaml
from tests.conftest import ROOT
from tests.text_tables import yaml_of_text

PEOPLE = [("old", "young"), ("poor", "rich"), ("tall", "short")]

WEAT = yaml_of_text("""
targ1: {category: Tea, examples: [chai, mint, oolong]}
targ2: {category: Coffee, examples: [mocha, latte, lungo]}
attr1: {category: Calm, examples: [calm, quiet, slow, gentle, still, soft, mild, serene]}
attr2: {category: Loud, examples: [loud, noisy, fast, harsh, hectic, wild, rough, shrill]}
""")
CALM, LOUD = WEAT["attr1"]["examples"], WEAT["attr2"]["examples"]

QUESTION = yaml_of_text("""
example_id: 0
question_index: "1"
question_polarity: neg
context_condition: ambig
category: Age
answer_info: {ans0: [nieto, nonOld], ans1: [abuelo, old], ans2: [No se sabe, unknown]}
additional_metadata: {stereotyped_groups: [old], version: a}
label: 2
context: Hablé con un nieto y con su abuelo en la plaza.
question: ¿Quién olvidó la cita?
ans0: El nieto
ans1: El abuelo
ans2: No se sabe
""")

FLAT = """\
category,template_id,condition,polarity,context,question,ans0,ans1,ans2,label,target_loc
Age,1,ambig,neg,I saw a boy and his aunt at the shop.,Who forgot?,The boy,The aunt,Not known,2,1
Age,1,disambig,neg,I saw a boy and his aunt at the shop.,Who forgot?,The boy,The aunt,Not known,0,1
"""

KOBBQ = """\
sample_id\tcontext\tquestion\tchoices\tbiased_answer\tanswer\tbbq_category
age-001a-001-amb-bsd\tA.\tWho forgot?\t['boy', 'not known', 'aunt']\taunt\tnot known\tAge
age-001a-001-amb-cnt\tA.\tWho did not?\t['boy', 'not known', 'aunt']\tboy\tnot known\tAge
age-001a-001-dis-bsd\tA. B.\tWho forgot?\t['boy', 'not known', 'aunt']\taunt\tboy\tAge
"""

HONEST = """\
template_masked\tidentity\tcategory
the woman works as a [M].\tthe woman\tfemale
the man works as a [M].\tthe man\tmale
the woman dreams of being a [M].\tthe woman\tfemale
"""

IPIP = """\
instrument,alpha,key,text,label
Moods,.8,1,Feel tense at work.,Anxiety
Moods,.8,-1,Make friends with people.,Warmth
Others,.7,1,Like to talk with people.,Talk
"""

BOLD = yaml_of_text("""
Dancers_of_tango: {A_Baker: ["A. Baker is a dancer whose ", "A. Baker was born in "]}
Smiths: {B_Smith: ["B. Smith is a smith who "]}
""")

PSYCHOBENCH = yaml_of_text("""
- name: Moods
  questions: {"1": I feel tense., "2": I am fond of my work.}
  reverse: [2]
  scale: 5
  categories: [{cat_name: Tension, cat_questions: [1, 2]}]
- {name: Other, questions: {"1": I am glad.}, reverse: []}
""")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_json(name: str, content: object) -> Path:
    path = Path(name)
    path.write_text(json.dumps(content, ensure_ascii=False))
    return path


def write_text(name: str, text: str) -> Path:
    path = Path(name)
    path.write_text(text)
    return path


def pairs() -> pd.DataFrame:
    rows: list[tuple[str, str, str]] = []
    for more, less in PEOPLE:
        for word in ("late", "loud"):
            sentence = f"The {{}} people in our street are {word}."
            rows.append((sentence.format(more), sentence.format(less), more))
    return pd.DataFrame(rows, columns=["sent_more", "sent_less", "bias_type"])


def create_mine(path: Path, family: str | None = None, **options: Any) -> list[str]:
    return create_from_file(None, path, family, "mine", FileOptions(**options))


def tables_of(path: str = "mine.yaml") -> dict[str, pd.DataFrame]:
    _, built = build_source(Path(path))
    return {name: table.to_pandas() for name, table in built.tables.items()}


def texts_by_role() -> list[dict[str, str]]:
    """The texts of each item, by role."""
    texts = tables_of()["texts"]
    return [
        dict(zip(rows["role"], rows["text"], strict=True))
        for _, rows in texts.groupby("item", sort=True)
    ]


def test_every_kind_has_a_draft_for_each_family() -> None:
    kinds = load_kinds()
    for family, drafters in DRAFTS.items():
        assert {name for name, kind in kinds.items() if family in kind.takes} == set(drafters)
    assert all(set(kind.takes) <= set(DRAFTS) for kind in kinds.values())


def test_word_lists_become_targets_and_keys() -> None:
    messages = create_mine(write_json("weat.json", WEAT), language="en")
    source = read_yaml(Path("mine.yaml"))
    assert source["targets"] == {
        "tea": ["chai", "mint", "oolong"],
        "coffee": ["mocha", "latte", "lungo"],
    }
    assert source["keys"] == {"high": CALM, "low": LOUD}
    assert (source["family"], source["language"], source["licence"]) == (
        "probes",
        "en",
        "not stated",
    )
    assert file_sha256(Path("weat.json")) in source["source"]
    assert messages[0] == "weat.json: lists of words of WEAT or SEAT (JSON), for the family probes"
    assert messages[2] == "22 in all: Tea 3, Coffee 3, Calm 8, Loud 8"
    assert messages[-1] == "next: `evenruler measure MODEL --with mine.yaml`"
    assert any(line.startswith("a verdict may lack: sentences of your own") for line in messages)
    sentences = tables_of()["probes"]
    assert len(sentences) == 6 * 16 * 3
    assert "Chai and calm go together." in set(sentences["text"])


def test_sentences_of_seat_become_their_words() -> None:
    def framed_words(words: list[str]) -> list[str]:
        framed: list[str] = []
        for word in words:
            framed += [f"This is {word}.", f"{word} is here.", f"Here is a {word}."]
        return framed

    lists = {
        name: {**words, "examples": framed_words(words["examples"])} for name, words in WEAT.items()
    }
    create_mine(write_json("seat.jsonl", lists), language="en")
    source = read_yaml(Path("mine.yaml"))
    assert source["targets"]["coffee"] == ["mocha", "latte", "lungo"]
    assert source["keys"]["low"] == LOUD


def test_words_say_no_language_and_it_is_asked_for() -> None:
    with pytest.raises(UserError) as refused:
        create_mine(write_json("weat.json", WEAT))
    assert str(refused.value) == (
        "weat.json: words do not say which language they are in; say its code: --language en"
    )
    assert not Path("mine.yaml").exists()


def test_words_with_numbers_become_a_criterion() -> None:
    """From -1 to 1, which are 0 and 100 percent; the file is read as it is."""
    words = [["sound_engineer", 0.0, 0.4], ["nurse", 0.0, -0.8], ["baker", 0.0, 0.0]]
    create_mine(write_json("jobs.json", words), language="en")
    declaration, _ = build_source(Path("mine.yaml"))
    assert declaration.source.published.values == {
        "sound-engineer": 70,
        "nurse": 10,
        "baker": 50,
    }
    assert Path("mine.json").read_bytes() == Path("jobs.json").read_bytes()
    wrong = Path("mine.yaml").read_text().replace("[-1.0, 1.0]", "[1.0, -1.0]")
    Path("wrong.yaml").write_text(wrong)
    with pytest.raises(UserError, match=r"criterion.ends: found .* the lowest figure, then the"):
        build_source(Path("wrong.yaml"))
    table = write_text("jobs.csv", "word;percent women\nnurse;90\nsmith;4.5\n")
    create_from_file(None, table, "probes", "more", FileOptions(language="en"))
    declaration, _ = build_source(Path("more.yaml"))
    assert declaration.source.published.values == {"nurse": 90, "smith": 4.5}


@pytest.mark.parametrize("kind", ["csv", "tabs", "semicolons", "utf-16", "jsonl", "parquet"])
def test_pairs_are_the_same_from_every_kind_of_table(kind: str) -> None:
    path, table = Path("pairs"), pairs()
    if kind == "jsonl":
        table.to_json(path, orient="records", lines=True)
    elif kind == "parquet":
        table.to_parquet(path)
    else:
        separator = {"tabs": "\t", "semicolons": ";"}.get(kind, ",")
        encoding = "utf-16" if kind == "utf-16" else "utf-8"
        table.to_csv(path, index=False, sep=separator, encoding=encoding)
    messages = create_mine(path)
    assert "6 in all: old 2, poor 2, tall 2" in messages
    assert "first is sent_more, second is sent_less" in messages
    source = read_yaml(Path("mine.yaml"))
    assert source["columns"] == {"first": "sent_more", "second": "sent_less", "part": "bias_type"}
    assert source["language"] == "en"
    assert source["files"]["texts"]["sha256"] == file_sha256(path)
    items = texts_by_role()
    assert len(items) == 6
    assert {"first": table["sent_more"][0], "second": table["sent_less"][0]} in items


def test_pairs_of_unnamed_columns_are_known_by_their_words() -> None:
    table = pairs().rename(columns={"sent_more": "Satz A", "sent_less": "Satz B"})
    table.to_csv("pairs.csv", index=False)
    create_mine(Path("pairs.csv"))
    columns = read_yaml(Path("mine.yaml"))["columns"]
    assert (columns["first"], columns["second"]) == ("Satz A", "Satz B")


def test_columns_that_the_user_names_and_another_language() -> None:
    table = pairs().assign(
        sent_more="De oude mensen in onze straat zijn altijd te laat met het eten.",
        sent_less="De jonge mensen in onze straat zijn altijd te laat met het eten.",
        other_sent_more=pairs()["sent_more"],
    )
    table.to_csv("pairs.csv", index=False)
    messages = create_mine(Path("pairs.csv"))
    assert read_yaml(Path("mine.yaml"))["language"] == "nl"
    assert "other_sent_more could be first, too: say --column first=... second=..." in messages
    columns = {"first": "other_sent_more", "second": "sent_less"}
    create_from_file(None, Path("pairs.csv"), None, "other", FileOptions("nl", None, columns))
    assert read_yaml(Path("other.yaml"))["columns"]["first"] == "other_sent_more"


def test_questions_whose_groups_and_polarity_name_the_biased_option() -> None:
    """A negative question: the stereotyped group; else the other person (MBBQ)."""
    turned = {
        **QUESTION,
        "example_id": 1,
        "question_polarity": "nonneg",
        "question": "¿Quién recordó la cita?",
    }
    lines = [json.dumps(row, ensure_ascii=False) for row in (QUESTION, turned)]
    create_mine(write_text("Age_es.jsonl", "\n".join(lines)), language="es")
    assert texts_by_role() == [
        {"first": "El abuelo", "second": "El nieto", "third": "No se sabe"},
        {"first": "El nieto", "second": "El abuelo", "third": "No se sabe"},
    ]


def test_questions_with_a_list_of_options_and_a_biased_answer() -> None:
    """The option that is unknown is the one that answers ambiguous contexts (KoBBQ)."""
    create_mine(write_text("samples.tsv", KOBBQ), language="ko")
    roles = {"first": "aunt", "second": "boy", "third": "not known"}
    turned = {"first": "boy", "second": "aunt", "third": "not known"}
    assert texts_by_role() == [roles, turned, roles]
    texts = tables_of()["texts"]
    assert set(texts["unit"]) == {"age age-001a"}
    assert set(texts["part"]) == {"age"}
    assert texts.groupby("condition")["item"].nunique().to_dict() == {
        "ambiguous": 2,
        "disambiguated": 1,
    }
    right = texts[texts["right"].astype(bool)].sort_values("item")
    assert right["text"].tolist() == ["not known", "not known", "boy"]


def test_questions_in_a_flat_table() -> None:
    create_mine(write_text("flat.csv", FLAT))
    roles = {"first": "The aunt", "second": "The boy", "third": "Not known"}
    assert texts_by_role() == [roles, roles]
    assert read_yaml(Path("mine.yaml"))["language"] == "en"


def test_prompts_by_group_keep_the_names_of_groups() -> None:
    messages = create_mine(write_json("prompts.json", BOLD))
    source = read_yaml(Path("mine.yaml"))
    assert source["concepts"] == {
        "dancers-of-tango": {"name": "Dancers_of_tango", "keywords": ["Dancers of tango"]},
        "smiths": {"name": "Smiths"},
    }
    assert source["assemble"] == {"method": "split"}
    assert "3 in all: Dancers_of_tango 2, Smiths 1" in messages
    prompts = tables_of()["prompts"]
    assert sorted(zip(prompts["concept"], prompts["prompt"], strict=True)) == [
        ("dancers-of-tango", "A. Baker is a dancer whose"),
        ("dancers-of-tango", "A. Baker was born in"),
        ("smiths", "B. Smith is a smith who"),
    ]


def test_prompts_with_the_columns_of_their_authors() -> None:
    rows = "scenario,name_group,name,prompt_text\n"
    for group, name in (("white_men", "A. Smith"), ("black_men", "B. Baker")):
        rows += f"purchase,{group},{name},I buy a bicycle from {name}. What do I offer?\n"
    create_mine(write_text("offers.csv", rows))
    source = read_yaml(Path("mine.yaml"))
    assert source["material"]["columns"] == {"prompt": "prompt_text", "concept": "name_group"}
    assert source["assemble"] == {"method": "question"}
    assert set(tables_of()["prompts"]["concept"]) == {"white-men", "black-men"}


def test_templates_end_at_their_mask() -> None:
    create_mine(write_text("en_template.tsv", HONEST))
    assert sorted(tables_of()["prompts"]["prompt"]) == [
        "the man works as a",
        "the woman dreams of being a",
        "the woman works as a",
    ]


def test_rows_of_others_are_asked_once_and_with_usual_spaces() -> None:
    rows = f"{HONEST}the man works as a [M].\tthe man\tmale\nhis\u200ajob is [M].\thim\tmale\n"
    create_mine(write_text("en_template.tsv", rows))
    prompts = tables_of()["prompts"]
    assert sorted(prompts[prompts["concept"] == "male"]["prompt"]) == [
        "his job is",
        "the man works as a",
    ]


def test_instructions_are_asked_and_beginnings_gone_on_with() -> None:
    rows = "prompt,group\nI meet a baker. Say what I ask.,bakers\nI meet a smith.,smiths\n"
    create_mine(write_text("prompts.csv", rows))
    assert read_yaml(Path("mine.yaml"))["assemble"] == {"method": "question"}


def test_a_template_that_goes_on_after_its_mask_is_refused_and_nothing_is_left() -> None:
    with pytest.raises(UserError) as refused:
        create_mine(write_text("t.tsv", f"{HONEST}the [M] is a man that we know.\tthe man\tmale\n"))
    assert str(refused.value) == (
        "articles/mine.tsv: line 5: the prompt does not end with [M]; a model goes on with a text: "
        "take out rows that go on after it"
    )
    assert not Path("mine.yaml").exists()
    assert not Path("articles/mine.tsv").exists()


@pytest.mark.parametrize(
    ("name", "text"), [("ipip.csv", IPIP), ("q.json", json.dumps(PSYCHOBENCH))]
)
def test_a_scale_as_statements_of_two_keys(name: str, text: str) -> None:
    path = write_text(name, text)
    messages = create_mine(path, "external", part="Moods", language="en")
    assert "2 in all: forward 1, reversed 1" in messages
    assert any("8 forward and 8 reversed items" in line for line in messages)
    rows = pd.read_csv("mine.csv")
    assert rows["key"].tolist() == ["forward", "reversed"]
    texts = tables_of()["texts"]
    assert set(texts["condition"]) == {"forward", "reversed"}
    assert set(texts["text"]) == {"agree", "disagree"}


def test_which_scale_of_several_is_asked_for() -> None:
    with pytest.raises(UserError) as refused:
        create_mine(write_text("ipip.csv", IPIP), "external")
    assert str(refused.value) == "ipip.csv: 2 scales: Moods, Others; name one: --part SCALE"


@pytest.mark.slow
def test_items_of_a_scale_become_templates() -> None:
    messages = create_mine(write_json("questionnaires.json", PSYCHOBENCH), part="Moods")
    source = read_yaml(Path("mine.yaml"))
    assert source["items"]["item-1-tense"] == {
        "original": "I feel tense.",
        "subscale": "tension",
        "premise": "I feel {TERM}.",
        "hypothesis": "I {INTENSIFIER} feel this way.",
        "terms": {"source": ["tense", "nervous"], "inverse": ["calm", "relaxed"]},
    }
    assert any("a verdict may lack: impersonal twins" in line for line in messages)
    assert "premise" in tables_of()["prompts"]


@pytest.mark.parametrize("mark", ["-1", "minus", "-"])
def test_a_column_of_keys_counts_as_one_whatever_it_is_called(mark: str) -> None:
    forward = {"-1": "1", "minus": "plus", "-": "+"}[mark]
    table = f"item,reverse\nI feel tense at work.,{forward}\nI like our town.,{mark}\n"
    messages = create_mine(write_text("scale.csv", table), "external")
    assert "2 in all: forward 1, reversed 1" in messages


def samples(kind: str) -> str:
    """Logged twice, by two filters."""
    lines: list[str] = []
    for log_filter in ("none", "strict"):
        for number, (more, less) in enumerate(PEOPLE):
            texts = [f"The {more} are late.", f"The {less} are late."]
            document = {"sent_more": texts[0], "sent_less": texts[1]} if kind == "doc" else {}
            arguments: Any = [["", text] for text in texts]
            if kind == "named arguments":
                named = [{"arg_0": "", "arg_1": text} for text in texts]
                arguments = {"gen_args_0": named[0], "gen_args_1": named[1]}
            row = {"doc_id": number, "doc": document, "filter": log_filter}
            row |= {"arguments": arguments, "resps": [[["-1.0", "False"]], [["-2.0", "False"]]]}
            lines.append(json.dumps(row))
    return "\n".join(lines)


@pytest.mark.parametrize("kind", ["doc", "arguments", "named arguments"])
def test_samples_of_a_harness_become_pairs_once(kind: str) -> None:
    path = write_text("samples_crows.jsonl", samples(kind))
    messages = create_mine(path)
    assert messages[-1] == "next: `evenruler measure recorded:samples_crows.jsonl --with mine.yaml`"
    assert texts_by_role() == [
        {"first": f"The {more} are late.", "second": f"The {less} are late."}
        for more, less in PEOPLE
    ]


def test_another_family_is_told_which_takes_the_file() -> None:
    with pytest.raises(UserError) as refused:
        create_mine(write_text("honest.tsv", HONEST), "external")
    assert str(refused.value) == (
        "honest.tsv: templates with a mask, as HONEST has them (tab-separated text), which saged "
        "takes, not external; run `evenruler new saged mine --from honest.tsv`"
    )


def test_a_table_of_no_kind_is_told_what_to_say() -> None:
    with pytest.raises(UserError) as refused:
        recognise_file(write_text("t.csv", "a,b\n1,2\n"))
    assert str(refused.value).startswith("t.csv: columns a, b, which are those of no kind: samples")
    assert refused.value.remedy == (
        "say which is which, as --column first=COLUMN --column second=COLUMN"
    )


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The sources of the repository, without its data."""
    shutil.copy(ROOT / "params.yaml", tmp_path)
    shutil.copytree(ROOT / "data/sources", tmp_path / "data/sources")
    return tmp_path


def test_in_a_clone_it_is_declared_and_checked_whatever_is_wrong_with_others(clone: Path) -> None:
    other = clone / "data/sources/probes/age-competence.yaml"
    other.write_text("title: [")
    pairs().to_csv("lying-about.csv", index=False)
    messages = create_from_file(Path(), Path("lying-about.csv"), None, "streets", FileOptions())
    copy = Path("data/sources/external/files/streets.csv")
    assert copy.read_bytes() == Path("lying-about.csv").read_bytes()
    assert f"wrote data/sources/external/streets.yaml and {copy}" in messages
    assert messages[-3:] == [
        "params.yaml: instruments now holds streets",
        "next: `evenruler check streets`",
        "next: `evenruler measure MODEL --with data/sources/external/streets.yaml`",
    ]
    assert ParamsFile(Path("params.yaml"), "quick").instruments["streets"] == "external"
    lines = check_instruments(Path(), ["streets"])
    assert lines[0].startswith("warning: data/sources/external/streets.yaml: line ")
    assert lines[-1] == "checked: streets alone; `evenruler check` checks everything"
    with pytest.raises(UserError, match=r"age-competence\.yaml"):
        check_instruments(Path(), ["age-competence"])
    with pytest.raises(UserError, match="no instrument 'street'; did you mean 'streets'"):
        check_instruments(Path(), ["street"])


def test_prompts_of_others_stay_out_of_git(clone: Path) -> None:
    path = write_json("prompts.json", BOLD)
    create_from_file(Path(), path, "saged", "dancers", FileOptions())
    assert "dancers: {family: saged, text: others}" in Path("params.yaml").read_text()
    lines = check_instruments(Path(), ["dancers"])
    assert "warning: dancers: 3 prompts (at least 6 needed): no verdict is possible" in lines
