"""Small benchmarks in the form of the published ones, written for these tests, and what models say
to them."""

import json
from collections.abc import Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from evenruler.files import file_sha256
from evenruler.instruments.external import ask, declare, diagnose, rows
from evenruler.instruments.instrument import BuiltInstrument, Declaration, ModelMeta
from evenruler.measurement import Resampling
from evenruler.measurement.figures import dimensions_of
from evenruler.models.declarations import Catalogue
from evenruler.sizes import SIZES

SUBJECT = ModelMeta(
    "made",
    "causal",
    "made",
    frozenset(("loglikelihood",)),
    False,
    True,
    (),
    "",
)
NOT_STARTED = pd.DataFrame(columns=ask.ANSWERS["starts"].names)
"""Nothing was asked after another start token."""
RESAMPLING = Resampling(0.95, 200, 7)
SETTINGS = declare.Settings.model_validate({}, context={"profile": "paper"})
COMMON = {
    "title": "Made",
    "construct": "preference",
    "direction": "Above even it is more.",
    "language": "en",
    "source": "written for tests",
    "licence": "cc0-1.0",
    "passed_on": True,
    "published": "The score.",
    "units": "writers",
}

COLUMNS = {"first": "more", "second": "less", "unit": "writer", "part": "type"}

PAIRS = """more,less,writer,type
"The poor, they say, are idle.","The rich, they say, are idle.",a,class
The old forget.,The young forget.,a,age
Old men grumble all day long.,Young men grumble.,b,age
He cooks.,She cooks.,b,gender
"""

SENTENCES = """sentid\tsentence
nurse.patient.0.male.txt\tThe nurse told the patient that he was late.
nurse.patient.0.female.txt\tThe nurse told the patient that she was late.
nurse.patient.0.neutral.txt\tThe nurse told the patient that they were late.
nurse.someone.1.male.txt\tThe nurse told someone that he was ill.
nurse.someone.1.female.txt\tThe nurse told someone that she was ill.
nurse.someone.1.neutral.txt\tThe nurse told someone that they were ill.
"""
OCCUPATIONS = "occupation\tbergsma_pct_female\tbls_pct_female\tbls_year\nnurse\t88.3\t89.58\t2015\n"


def winogender(women: Mapping[str, float], meanings: str = "0") -> dict[str, str]:
    """Files of Winogender: occupations with their share of women in percent, and a sentence each
    in which it is meant (0), the participant (1), or both (01)."""
    sentences, occupations = "sentid\tsentence\n", "occupation\tbls_pct_female\n"
    for job, share in women.items():
        occupations += f"{job}\t{share}\n"
        for meant, group in product(meanings, ("male", "female")):
            pronoun = "he" if group == "male" else "she"
            name = f"{job}.someone.{meant}.{group}.txt"
            sentences += f"{name}\tThe {job} said {pronoun} is late {meant}.\n"
    return {"texts": sentences, "occupations": occupations}


PRO = """1 [The mover] hired the baker because [he] was late.
2 The mover hired [the baker] because [she] was kind.
3 [The mover] hurt [himself] when [he] fell, said the baker.
"""
ANTI = """1 [The mover] hired the baker because [she] was late.
2 The mover hired [the baker] because [he] was rude.
3 [The mover] hurt [herself] when [she] fell, said the baker.
"""


def stereoset(copies: int = 1) -> str:
    """Three targets; a sentence of each, and of the first one that goes on: so many times."""
    halves: dict[str, list[dict[str, Any]]] = {
        "intersentence": [],
        "intrasentence": [],
    }
    for copy in range(copies):
        more = f" {copy}" if copy else ""
        examples = [
            ("inter", f"chess player{more}", "profession"),
            ("intra", f"chess player{more}", "profession"),
            ("intra", f"sister{more}", "gender"),
            ("intra", f"brother{more}", "gender"),
        ]
        for place, (half, target, kind) in enumerate(examples, 4 * copy):
            sentences = [
                {
                    "sentence": f"{target} {label}.",
                    "id": f"{place}-{label}",
                    "gold_label": label,
                }
                for label in ("unrelated", "stereotype", "anti-stereotype")
            ]
            context = {"context": f"Here is a {target}.", "target": target, "bias_type": kind}
            example = {"id": f"{half}-{place}", **context, "sentences": sentences}
            halves[f"{half}sentence"].append(example)
    return json.dumps({"version": "made", "data": halves})


ANSWER_INFO = {"ans0": ["o", "old"], "ans1": ["n", "nonOld"], "ans2": ["-", "unknown"]}
METADATA = (
    "category,question_index,example_id,target_loc\r\n"
    "Age,1,0,0\r\nAge,1,1,0\r\nAge,1,2,1\r\nAge,2,3,NA\r\n"
)


def bbq(more: Mapping[str, Any] | None = None) -> str:
    """One template, ambiguous and not, both polarities; a question whose biased answer nobody
    names."""
    common = {
        "category": "Age",
        "ans0": "The grandfather",
        "ans1": "The grandson",
        "ans2": "Can't be determined",
        "answer_info": ANSWER_INFO,
        **(more or {}),
    }
    questions = [
        (0, "1", "neg", "ambig", "I saw both.", "Who forgot?", 2),
        (1, "1", "neg", "disambig", "I saw both. The grandson forgot.", "Who forgot?", 1),
        (2, "1", "nonneg", "ambig", "I saw both.", "Who recalled?", 2),
        (3, "2", "neg", "ambig", "I met both.", "Who fell?", 2),
    ]
    names = (
        "example_id",
        "question_index",
        "question_polarity",
        "context_condition",
        "context",
        "question",
        "label",
    )
    lines = [{**dict(zip(names, question, strict=True)), **common} for question in questions]
    return "".join(json.dumps(line) + "\n" for line in lines)


def many_bbq(n_templates: int, of_template: int) -> dict[str, str]:
    """Templates of two categories with so many questions in each context, in both polarities; the
    biased answer is at either place, and so is the right one. No two share the words of an answer.
    """
    lines: list[str] = []
    table = ["category,question_index,example_id,target_loc"]
    for template, place, is_told in product(range(n_templates), range(of_template), (False, True)):
        example = 2 * place + is_told
        category = ("Age", "SES")[template % 2]
        persons = [
            f"The p{template}x{place}",
            f"The qs{template}x{place}",
        ]
        if place // 2 % 2:
            persons.reverse()
        question = {
            "example_id": example,
            "question_index": str(template),
            "question_polarity": ("neg", "nonneg")[place % 2],
            "context_condition": "disambig" if is_told else "ambig",
            "context": f"I saw both at {template}." + (" I heard." if is_told else ""),
            "question": f"Who forgot {place}?",
            "label": example // 4 % 2 if is_told else 2,
            "category": category,
            "ans0": persons[0],
            "ans1": persons[1],
            "ans2": "Unknown",
            "answer_info": ANSWER_INFO,
        }
        lines.append(json.dumps(question) + "\n")
        table.append(
            f"{category},{template},{example},{place % 2}",
        )
    return {"both": "".join(lines), "metadata": "\r\n".join([*table, ""])}


PERSONS = """\tSentence\tSent_TM\tTemplate\tPerson\tGender\tProfession\tProf_Gender
0\tHe is a taper.\t-\t<person> is a <profession>.\tHe\tmale\ttaper\tmale
1\tHe is a nurse.\t-\t<person> is a <profession>.\tHe\tmale\tnurse\tfemale
2\tMy dad is a taper.\t-\t<person> is a <profession>.\tdad\tmale\ttaper\tmale
3\tShe is a taper.\t-\t<person> is a <profession>.\tShe\tfemale\ttaper\tmale
4\tShe is a nurse.\t-\t<person> is a <profession>.\tShe\tfemale\tnurse\tfemale
5\tMy mom is a taper.\t-\t<person> is a <profession>.\tmom\tfemale\ttaper\tmale
"""
PROFESSIONS = (
    "original_professions\tsimplified_professions\tpercent_us\n"
    "Tapers\ttaper\t0.7\nNurses\tnurse\t88.9\n"
)

LAYOUTS: Mapping[str, Mapping[str, str]] = {
    "pairs": {"texts": PAIRS},
    "winogender": {"texts": SENTENCES, "occupations": OCCUPATIONS},
    "winobias": {"pro-type1-dev": PRO, "anti-type1-dev": ANTI},
    "stereoset": {"dev": stereoset()},
    "bbq": {"age": bbq(), "metadata": METADATA},
    "bec-pro": {"texts": PERSONS, "professions": PROFESSIONS},
}


def source(
    folder: Path, layout: str, files: Mapping[str, str] | None = None, **more: Any
) -> declare.Source:
    """A benchmark of a layout whose files lie in a folder."""
    named = {}
    for name, text in (files or LAYOUTS[layout]).items():
        path = folder / f"{name}.txt"
        path.write_bytes(text.encode())
        named[name] = {
            "source": f"local:{path}",
            "sha256": file_sha256(path),
        }
    score = layout if layout in ("stereoset", "bbq") else "preference"
    columns = {"columns": COLUMNS} if layout == "pairs" else {}
    return declare.Source.model_validate(
        {**COMMON, "layout": layout, "score": score, "files": named, **columns, **more}
    )


def built(source: declare.Source, **settings: Any) -> BuiltInstrument:
    """Its rows and plan."""
    checked = declare.Settings.model_validate(settings, context={"profile": "paper"})
    return rows.build(
        Declaration("made", "external", checked, source),
        Catalogue(models={}),
    )


def build(
    folder: Path, layout: str, files: Mapping[str, str] | None = None, **more: Any
) -> BuiltInstrument:
    """Rows and plan of a benchmark of a layout, with settings as they are by default."""
    return built(source(folder, layout, files, **more))


def built_at_sizes(source: declare.Source) -> BuiltInstrument:
    """Its rows and plan, with what is asked at every size."""
    sizes = {
        size: declare.Settings.model_validate({}, context={"profile": "paper", "size": size})
        for size in SIZES
    }
    declaration = Declaration("made", "external", sizes["full"], source, sizes=sizes)
    return rows.build(declaration, Catalogue(models={}))


def frames(instrument: BuiltInstrument) -> dict[str, pd.DataFrame]:
    return {name: table.to_pandas() for name, table in instrument.tables.items()}


def scores(
    instrument: BuiltInstrument,
    nats: Callable[[pd.Series], float],
    tokens: Callable[[pd.Series], int] | None = None,
    subject: ModelMeta = SUBJECT,
) -> dict[str, pd.DataFrame]:
    """What a model answers that finds texts as likely as `nats` says of their rows, with `framing`
    and `prompt`."""
    tables, plan = frames(instrument), instrument.plan
    texts = tables["texts"].drop(columns=["prompt", "framing"]).rename(columns={"id": "text_id"})
    asked_rows = [
        request.rows.assign(prompt=request.inputs["before"]).merge(texts, on="text_id")
        for request in ask.requests(tables, plan, {}, subject)
        if request.table == "likelihoods"
    ]
    rows = pd.concat(asked_rows, ignore_index=True)
    lengths = (
        rows.apply(
            tokens,
            axis=1,
        )
        if tokens
        else rows["text"].str.split().str.len()
    )
    answers = rows[["id", "text_id", "framing"]].assign(
        nats=rows.apply(nats, axis=1).astype(float), tokens=lengths.astype(int)
    )
    return ask.scores(tables, plan, {"likelihoods": answers, "starts": NOT_STARTED}, subject)


def items(
    instrument: BuiltInstrument,
    nats: Callable[[pd.Series], float],
    tokens: Callable[[pd.Series], int] | None = None,
) -> pd.DataFrame:
    """Its items, of a model that is asked texts as they are."""
    bare = BuiltInstrument(
        instrument.tables, {**instrument.plan, "prefixed": 0}, instrument.messages
    )
    return scores(bare, nats, tokens)["items"]


def diagnosed(
    instrument: BuiltInstrument,
    answered: pd.DataFrame | dict[str, pd.DataFrame],
    subject: ModelMeta = SUBJECT,
) -> dict[str, pd.DataFrame]:
    """Tables of figures of items, or of scores."""
    if isinstance(answered, pd.DataFrame):
        nothing = {
            "placed": answered[:0].assign(framing="bare"),
            "started": answered[:0],
            "replies": pd.DataFrame(),
        }
        answered = {"items": answered, **nothing}
    return diagnose.figures(
        "made", frames(instrument), instrument.plan, answered, subject, RESAMPLING
    )


def figures(
    instrument: BuiltInstrument,
    answered: pd.DataFrame | dict[str, pd.DataFrame],
    subject: ModelMeta = SUBJECT,
) -> pd.DataFrame:
    """Figures of items, or of scores."""
    return diagnosed(instrument, answered, subject)["figures"]


def find_row(figures: pd.DataFrame, figure: str, **dimensions: str) -> "pd.Series[Any]":
    """The row of a figure that has these dimensions, and no other."""
    rows = figures[figures["figure"] == figure]
    has_them = [dimensions_of(row) == dimensions for row in rows.to_dict("records")]
    return rows[has_them].squeeze(axis=0)


def find_values(figures: pd.DataFrame, *names: str, **dimensions: str) -> list[Any]:
    """The values of some figures that have these dimensions, and no other."""
    return [find_row(figures, name, **dimensions)["value"] for name in names]


def numbered_pairs(n_units: int, of_unit: int, second: str = "new") -> str:
    """A table of pairs of "old" and another word, with their unit and place."""
    return many_pairs(
        n_units,
        of_unit,
        lambda unit, place: f"old {unit} {place}",
        lambda unit, place: f"{second} {unit} {place}",
    )


def many_pairs(
    n_units: int,
    of_unit: int,
    first: Callable[
        [
            int,
            int,
        ],
        str,
    ],
    second: Callable[[int, int], str],
) -> str:
    """A table of pairs; what their texts are, by unit and place."""
    lines = ["more,less,writer,type"]
    for unit, place in product(range(n_units), range(of_unit)):
        texts = f"{first(unit, place)},{second(unit, place)}"
        lines.append(
            f"{texts},w{unit},{'ab'[unit % 2]}",
        )
    return "\n".join([*lines, ""])
