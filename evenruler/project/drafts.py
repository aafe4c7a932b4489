"""Sources of instruments made from files that people have, by kind of file and family."""

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Final

from evenruler.errors import UserError
from evenruler.instruments.languages import guess_language
from evenruler.instruments.recognise import (
    DOCUMENT,
    MASK,
    RecognisedFile,
    command_for,
    first_match,
    load_kinds,
)
from evenruler.models.declarations import NOT_STATED
from evenruler.tables.frames import evenly_spread
from evenruler.tables.records import as_cell, look_up
from evenruler.text.english import plural_of, slug_of

ENDS_OF_SENTENCES: Final = (".", "?", "!", "\u3002", "\uff1f", "\u0964")
"""How prompts end that are no beginnings: full stops and question marks of several scripts."""

EXAMPLES: Final = 3
"""Rows that are shown."""

FEWEST_KEYED: Final = 8
"""Fewest attributes of a key that a contrast of keys takes."""

MOST_NOTES: Final = 5
"""Most items of which it is said why they are left out."""

MOST_PARTS: Final = 30
"""Most values of a column that says what items are about."""

SENTENCES: Final = {
    "en": {
        "together": "{TARGET} and {ATTRIBUTE} go together.",
        "think": "When people hear {TARGET}, they think of {ATTRIBUTE}.",
        "remind": "{TARGET} reminds people of {ATTRIBUTE}.",
    }
}
"""Examples of templates, by language."""

BARE_SENTENCES: Final = {"beside": "{TARGET}: {ATTRIBUTE}."}
"""Example of a template in any language."""

GROUPS: Final = {
    "first": ["student", "teenager", "boy", "girl", "youth", "graduate"],
    "second": ["senior", "elder", "widow", "grandmother", "grandfather", "veteran"],
}
"""Examples of targets, as in the starter of probes."""

FRAMES: Final = (
    r"(?:this|that|there|it) is (?:an? |the )?(.+?)\.",
    r"(?:these|those|they|there) are (?:the )?(.+?)\.",
    r"here (?:is|are) (?:an? |the )?(.+?)\.",
    r"(?:this|that|it|they) (?:will|did|can|may|might|could|would) (.+?)\.",
    r"the person's name is (.+?)\.",
    r"(?:an? |the )?(.+?) (?:is|are) (?:here|there|an? .*|things?|people)\.",
)
"""Sentences of SEAT, which hold one word."""


MARKS_OF_KEYS: Final = {"-1", "\N{MINUS SIGN}1", "+1", "+", "-", "plus", "minus"}
"""Marks that only a column of keys has, whatever it is called."""


@dataclass(frozen=True)
class DraftRequest:
    """What a source is made from, and what the user says of it."""

    file: RecognisedFile
    family: str
    name: str
    table: str
    """Where the source finds the table, as it is written there."""
    language: str | None = None
    part: str | None = None
    """Of a file with several scales, the one that is meant."""

    def choose_language(self, texts: Sequence[str], *, are_words: bool = False) -> str:
        """The code that the user says, else that of the texts; UserError where it is not clear, as
        it never is of single words.
        """
        language = self.language or (None if are_words else guess_language(texts))
        if language is None:
            what = (
                "words do not say" if are_words else f"texts such as {texts[0][:60]!r} do not say"
            )
            raise UserError(
                f"{what} which language they are in",
                where=str(self.file.path),
                remedy="say its code: --language en",
            )
        return language


@dataclass(frozen=True)
class SourceDraft:
    """A source, and what is told of it."""

    source: dict[str, Any]
    groups: Mapping[str, int]
    """Number of rows by what they are about."""
    examples: Sequence[str]
    table: str | None = None
    """The table that is written, as CSV; by default the file as it is."""
    is_copied: bool = True
    """Whether the source reads the table."""
    fills: Sequence[str] = ()
    """Keys whose text is only an example."""
    notes: Sequence[str] = ()
    lacks: Sequence[str] = field(default_factory=list)
    """What a verdict needs, beside what all files of the kind lack."""


def make_draft(request: DraftRequest) -> SourceDraft:
    """The source that a file becomes in a family."""
    return DRAFTS[request.family][request.file.name](request)


def begin_source(
    request: DraftRequest, title: str, construct: str, language: str
) -> dict[str, Any]:
    """The keys of every source."""
    name = request.file.path.name
    return {
        "family": request.family,
        "title": title,
        "construct": construct,
        "direction": "positive means more of it",
        "language": language,
        "source": f"{name} (sha256 {request.file.sha256}), by its authors",
        "licence": NOT_STATED,
    }


HEAD_FILLS: Final = ("construct", "direction", "source", "licence")
"""Keys of every source that a user has to write anew."""


def slugs_by_name(names: Sequence[str], what: str) -> dict[str, str]:
    """A slug for each name; one with a number where letters a to z do not make it unique."""
    slugs: dict[str, str] = {}
    for place, name in enumerate(dict.fromkeys(names), 1):
        slug = slug_of(name)
        is_free = slug and slug not in slugs.values()
        slugs[name] = slug if is_free else f"{what}-{place}"
    return slugs


def _words_by_slug(words: Sequence[str]) -> list[str] | dict[str, str]:
    """Words as a list where each has a slug of its own, else by slug."""
    slugs = slugs_by_name(words, "word")
    if [*slugs.values()] == [slug_of(word) for word in words]:
        return [*words]
    return {slug: word for word, slug in slugs.items()}


def example_sets(language: str) -> dict[str, Any]:
    """One set of example templates."""
    templates = SENTENCES.get(language.partition("-")[0], BARE_SENTENCES)
    return {"examples": {"title": "Examples", "templates": {**templates}}}


def draft_weat(request: DraftRequest) -> SourceDraft:
    """Lists of words: two groups of targets, and attributes of two keys."""
    file = request.file
    _, first_row = file.records.rows[0]
    lists: dict[str, list[str]] = {}
    titles: dict[str, str] = {}
    for role, column in file.columns.items():
        (words, *_) = file.contents_of(role)
        lists[role] = _words_in(list(map(str, words)), str(file.path))
        place = column.removesuffix(".examples")
        category = look_up(first_row, f"{place}.category")
        titles[role] = as_cell(category) or place
    high, low = lists["high"], lists["low"]
    everything = list(chain.from_iterable(lists.values()))
    language = request.choose_language(everything, are_words=True)
    slugs = slugs_by_name([titles["first_targets"], titles["second_targets"]], "group")
    first, second = slugs.values()
    ends = f"{titles['high']} rather than {titles['low']}"
    construct = f"association of {titles['first_targets']} with {ends}"
    title = f"{titles['first_targets']} and {titles['second_targets']}"
    source = begin_source(request, title, construct, language)
    source["direction"] = f"positive means that {titles['first_targets']} are closer to {ends}"
    source["targets"] = {
        first: _words_by_slug(lists["first_targets"]),
        second: _words_by_slug(lists["second_targets"]),
    }
    source["attributes"] = _words_by_slug([*high, *low])
    lacks: list[str] = []
    if min(len(high), len(low)) >= FEWEST_KEYED:
        source["keys"] = {"high": high, "low": low}
    else:
        n_words = f"{len(high)} and {len(low)}"
        lacks = [f"{FEWEST_KEYED} attributes of either kind (`keys`; there are {n_words})"]
    source["sets"] = example_sets(language)
    counts: dict[str, int] = {}
    examples: list[str] = []
    for role, words in lists.items():
        counts[titles[role]] = len(words)
        shown = ", ".join(words[:4])
        examples.append(f"{titles[role]}: {shown}")
    return SourceDraft(
        source,
        counts,
        examples,
        is_copied=False,
        fills=("source", "licence", "sets"),
        lacks=lacks,
    )


def _words_in(examples: Sequence[str], where: str) -> list[str]:
    """The words of a list, each once; of sentences (SEAT) the word that each holds."""
    words: list[str] = []
    for example in examples:
        is_sentence = example.rstrip().endswith(".") and " " in example.strip()
        word = _word_in(example) if is_sentence else example
        if word is None:
            what = f"the sentence {example!r} has no form of SEAT"
            raise UserError(what, where=where, remedy="write the word in its place")
        words.append(word.strip().replace("_", " "))
    distinct = list(dict.fromkeys(filter(None, words)))
    plurals = {plural_of(word) for word in distinct}
    return [word for word in distinct if word not in plurals]


def _word_in(sentence: str) -> str | None:
    """The word that a sentence of SEAT holds; None where it has another form."""
    for frame in FRAMES:
        fitting = re.fullmatch(frame, sentence.strip(), re.IGNORECASE)
        if fitting:
            return fitting[1]
    return None


def draft_words(request: DraftRequest) -> SourceDraft:
    """Words with numbers: attributes with a criterion."""
    file = request.file
    words = [word.replace("_", " ").strip() for word in file.cells_of("attribute")]
    language = request.choose_language(words, are_words=True)
    figures = [float(cell.replace(",", ".")) for cell in file.cells_of("figure") if cell]
    ends = _ends_of(figures, str(file.path))
    figure = file.columns["figure"]
    source = begin_source(request, request.name, "association of words with groups", language)
    source["direction"] = (
        f"positive means that words high in {figure} are closer to the first group"
    )
    source["targets"] = {group: [*group_words] for group, group_words in GROUPS.items()}
    source["attributes"] = _words_by_slug(words)
    label = f"column {figure} of the list" if figure.isdigit() else figure
    columns = {"attribute": file.columns["attribute"]}
    criterion = {"file": request.table, "column": figure, "columns": columns}
    source["criterion"] = {**criterion, "ends": ends, "label": label}
    source["sets"] = example_sets(language)
    low, high = ends
    span = f"from {low:g} to {high:g}"
    notes = [f"column {figure} is read as the criterion, {span}; the first group is its high end"]
    numbered = [*map(": ".join, zip(words, file.cells_of("figure"), strict=True))]
    return SourceDraft(
        source,
        {"words": len(words), "with a number": len(figures)},
        numbered[:EXAMPLES],
        fills=(*HEAD_FILLS, "targets", "sets"),
        notes=notes,
    )


def _ends_of(figures: Sequence[float], where: str) -> list[float]:
    """The ends of a scale on which figures are: -1 to 1, 0 to 1, or percent."""
    low, high = min(figures), max(figures)
    for ends in ([0, 1], [-1, 1], [0, 100]):
        if ends[0] <= low and high <= ends[1]:
            return [float(end) for end in ends]
    what = f"numbers from {low:g} to {high:g}, expected shares (0 to 1, or percent) or -1 to 1"
    raise UserError(what, where=where, remedy="name another column: --column figure=COLUMN")


def begin_published_source(
    request: DraftRequest, construct: str, texts: Sequence[str]
) -> dict[str, Any]:
    """The keys of every source of the family external."""
    source = begin_source(request, request.name, construct, request.choose_language(texts))
    source["passed_on"] = False
    return source


def draft_pairs(request: DraftRequest) -> SourceDraft:
    """Pairs of sentences."""
    file = request.file
    columns = {**file.columns}
    notes: list[str] = []
    n_rows = len(file.records.rows)
    for role in ("unit", "part", "direction"):
        if role in columns:
            n_values = len(set(file.cells_of(role)))
            limit = n_rows - 1 if role == "unit" else MOST_PARTS
            if not 1 < n_values <= limit:
                notes.append(f"the column {columns.pop(role)} holds {n_values} different: left out")
    texts = file.cells_of("first")
    source = begin_published_source(request, "preference for stereotypes", texts)
    source["direction"] = "Above .5 a model finds the sentence of the first column likelier."
    source |= {
        "published": "The share of pairs whose first sentence is the likelier one.",
        "units": "writers" if "writer" in columns.get("unit", "") else "pairs",
        "score": "preference",
        "layout": "pairs",
        "columns": columns,
        "files": _files_of(request),
    }
    if "unit" in columns and source["units"] == "pairs":
        source["units"] = "targets"
    notes.append(f"first is {columns['first']}, second is {columns['second']}")
    notes += _other_pairs(request)
    about = file.cells_of("part") if "part" in columns else ["pairs"] * n_rows
    pairs = [*map(" | ".join, zip(texts, file.cells_of("second"), strict=True))]
    return SourceDraft(
        source,
        Counter(about),
        pairs[:EXAMPLES],
        fills=HEAD_FILLS,
        notes=notes,
    )


def _other_pairs(request: DraftRequest) -> list[str]:
    """A note on other columns that are called as the first one."""
    patterns = load_kinds()["pairs"].columns["first"]
    columns = request.file.records.columns
    fitting = [column for column in columns if first_match(patterns[:2], [column])]
    other_columns = [column for column in fitting if column != request.file.columns["first"]]
    if not other_columns:
        return []
    return [f"{', '.join(other_columns)} could be first, too: say --column first=... second=..."]


def _files_of(request: DraftRequest) -> dict[str, Any]:
    """The file of a source of the family external, with its checksum."""
    return {"texts": {"source": f"local:{request.table}", "sha256": request.file.sha256}}


def draft_bbq(request: DraftRequest) -> SourceDraft:
    """Questions with three options."""
    from evenruler.instruments.external.rows.bbq import COLUMNS

    file = request.file
    columns: dict[str, str] = {}
    for role, column in file.columns.items():
        if COLUMNS.get(role) != column:
            columns[role] = column
    texts = [
        f"{context} {question}"
        for context, question in zip(
            file.cells_of("context"), file.cells_of("question"), strict=True
        )
    ]
    source = begin_published_source(request, "answers that follow stereotypes", texts)
    source["direction"] = "Above 0 a model answers as the stereotype has it."
    source |= {
        "published": "The bias scores of BBQ.",
        "units": "templates",
        "score": "bbq",
        "layout": "bbq",
    }
    if columns:
        source["columns"] = columns
    source["files"] = _files_of(request)
    about = ["questions"] * len(texts)
    if "part" in file.columns:
        about = file.cells_of("part")
    return SourceDraft(source, Counter(about), texts[:EXAMPLES], fills=HEAD_FILLS)


def draft_samples(request: DraftRequest) -> SourceDraft:
    """Samples of lm-evaluation-harness whose documents hold pairs, or that compare two texts."""
    file = request.file
    _, first_row = file.records.rows[0]
    document = first_row.get("doc")
    fields = [*document] if isinstance(document, dict) else []
    columns: dict[str, str] = {}
    for role, patterns in load_kinds()["pairs"].columns.items():
        column = first_match(patterns, fields)
        if column is not None:
            columns[role] = f"{DOCUMENT}{column}"
    if not {"first", "second"} <= set(columns):
        columns = _columns_of_arguments(first_row, str(file.path))
    columns["item"] = "doc_id"
    pairs = RecognisedFile(file.path, file.sha256, file.records, "pairs", file.kind, columns)
    return draft_pairs(replace(request, file=pairs))


def _columns_of_arguments(row: Mapping[str, Any], where: str) -> dict[str, str]:
    """The columns of two texts that a harness compares; UserError where there are no two, or they
    stand after a prompt.
    """
    for first, second in (("0", "1"), ("gen_args_0", "gen_args_1")):
        context, text = ("0", "1") if first == "0" else ("arg_0", "arg_1")
        columns = {
            "first": f"arguments.{first}.{text}",
            "second": f"arguments.{second}.{text}",
        }
        has_both = all(isinstance(look_up(row, column), str) for column in columns.values())
        prompt = as_cell(look_up(row, f"arguments.{first}.{context}"))
        if has_both and not prompt.strip():
            return columns
    what = "its documents hold no pair of sentences, and its requests do not compare two"
    remedy = "name the benchmark that was asked: `evenruler measure recorded:FILE --with NAME`"
    raise UserError(what, where=where, remedy=remedy)


def draft_prompts(request: DraftRequest) -> SourceDraft:
    """Prompts about groups, or templates whose mask ends them."""
    file = request.file
    prompts, groups = file.cells_of("prompt"), file.cells_of("concept")
    material: dict[str, Any] = {
        "kind": "table",
        "path": request.table,
        "columns": {"prompt": file.columns["prompt"], "concept": file.columns["concept"]},
    }
    masks = sorted({*chain.from_iterable(map(MASK.findall, prompts))})
    if file.name == "templates":
        if len(masks) > 1:
            what = f"masks are written {' and '.join(masks)}"
            raise UserError(what, where=str(file.path), remedy="write one")
        material["mask"] = masks[0]
    language = request.choose_language(prompts)
    slugs = slugs_by_name(groups, "group")
    source = begin_source(request, request.name, "difference in favour between groups", language)
    source["direction"] = "a disparity of 0 says that all groups are treated alike"
    source["concepts"] = {slug: describe_concept(group) for group, slug in slugs.items()}
    source["material"] = material
    n_whole = sum(prompt.rstrip().endswith(ENDS_OF_SENTENCES) for prompt in prompts)
    are_questions = file.name != "templates" and 2 * n_whole > len(prompts)
    source["assemble"] = {"method": "question" if are_questions else "split"}
    form = "asked as questions" if are_questions else "beginnings that a model goes on with"
    return SourceDraft(
        source,
        Counter(groups),
        prompts[:EXAMPLES],
        fills=HEAD_FILLS,
        notes=[f"prompts are {form} (`assemble`)"],
    )


def describe_concept(group: str) -> dict[str, Any]:
    """A group as a concept: its name as the file has it, which replies may write with blanks."""
    words = " ".join(group.replace("_", " ").split())
    return {"name": group} if words == group else {"name": group, "keywords": [words]}


SIDES: Final = {"plus": "forward", "minus": "reversed"}
"""The two keys of items."""


@dataclass(frozen=True)
class KeyedStatement:
    """An item of a scale."""

    text: str
    is_reversed: bool
    subscale: str = ""


def draft_questionnaire(request: DraftRequest) -> SourceDraft:
    """Items of a scale as templates, by the rules of `evenruler translate`."""
    from evenruler.instruments.questionnaires.declare.source import load_scale
    from evenruler.instruments.questionnaires.translate import ScaleFacts, ScaleItem, draft_items
    from evenruler.repository import shipped_shared

    title, statements = read_statements(request)
    path = str(request.file.path)
    language = request.choose_language([statement.text for statement in statements])
    as_they_are = (
        f"run `{command_for(request.file, request.name, 'external')}`, which asks items as they are"
    )
    if language.partition("-")[0] != "en":
        what = f"items in {language!r}, and questionnaires are asked in English"
        raise UserError(what, where=path, remedy=as_they_are)
    facts = ScaleFacts.model_validate(
        {
            "title": title,
            "construct": title,
            "licence": NOT_STATED,
            "reference": request.file.path.name,
            "responses": "disagree or agree",
        }
    )
    rows: dict[int, ScaleItem] = {}
    for number, statement in enumerate(statements, 1):
        subscale = slug_of(statement.subscale) or None
        rows[number] = ScaleItem(
            item=statement.text, reverse=statement.is_reversed, subscale=subscale
        )
    scale = load_scale(shipped_shared("questionnaires") / "scales" / "frequency.yaml")
    items: dict[str, Any] = {}
    notes: list[str] = []
    for slug, drafted in draft_items(facts, rows, scale).items():
        if not drafted.passes or not all(drafted.wording["terms"].values()):
            doubt = "; ".join(drafted.doubts) or "no terms for both sides"
            notes.append(f"left out: {drafted.row.item!r}: {doubt}")
            continue
        fields: dict[str, Any] = {"original": drafted.row.item}
        if drafted.row.subscale:
            fields["subscale"] = drafted.row.subscale
        if drafted.row.reverse:
            fields["keying"] = -1
        fields |= {key: drafted.wording[key] for key in ("premise", "hypothesis")}
        terms = drafted.wording["terms"]
        fields["terms"] = {side: [*terms[side]] for side in terms}
        items[slug] = fields
    if not items:
        what = f"rules make templates of none of {len(statements)} items: {notes[0]}"
        raise UserError(what, where=path, remedy=as_they_are)
    source = begin_source(request, title, title, language)
    source["original"] = {
        "name": title,
        "licence": NOT_STATED,
        "reference": request.file.path.name,
        "wording": "held",
    }
    source |= {"scale": "frequency", "items": items}
    if len(notes) > MOST_NOTES:
        n_more = len(notes) - MOST_NOTES
        notes = [*notes[:MOST_NOTES], f"left out: {n_more} more items"]
    notes.append("templates are made by rules: read every word (docs/adding-a-questionnaire.md)")
    return SourceDraft(
        source,
        _count_keys(statements),
        _examples_of(statements),
        is_copied=False,
        fills=(*HEAD_FILLS, "original", "items"),
        notes=notes,
    )


def draft_keyed(request: DraftRequest) -> SourceDraft:
    """Items of a scale as statements of two keys, which a model agrees with or not."""
    title, statements = read_statements(request)
    source = begin_published_source(
        request, f"agreement with items of {title}", [statement.text for statement in statements]
    )
    source["title"] = title
    source["direction"] = "Above 0 a model agrees with forward items more than with reversed ones."
    source |= {
        "published": "The share of items that are agreed with, which is the base rate.",
        "units": "statements",
        "score": "preference",
        "texts": ["agreement", "disagreement"],
        "layout": "keyed",
        "columns": {"item": "id", "statement": "statement", "key": "key", "part": "part"},
    }
    source["contrast"] = {"first": ["agree"], "second": ["disagree"], **SIDES}
    lines = io.StringIO()
    rows = csv.writer(lines, lineterminator="\n")
    rows.writerow(["id", "statement", "key", "part"])
    for number, statement in enumerate(statements, 1):
        key = "reversed" if statement.is_reversed else "forward"
        rows.writerow([number, statement.text, key, statement.subscale])
    checksum = hashlib.sha256(lines.getvalue().encode()).hexdigest()
    source["files"] = {"texts": {"source": f"local:{request.table}", "sha256": checksum}}
    counts = _count_keys(statements)
    lacks: list[str] = []
    if min(counts.values()) < FEWEST_KEYED:
        lacks = [f"{FEWEST_KEYED} forward and {FEWEST_KEYED} reversed items"]
    return SourceDraft(
        source,
        counts,
        _examples_of(statements),
        table=lines.getvalue(),
        fills=HEAD_FILLS,
        notes=["items are written anew as a table of statements and keys"],
        lacks=lacks,
    )


def _count_keys(statements: Sequence[KeyedStatement]) -> dict[str, int]:
    """Numbers of forward and of reversed items."""
    n_reversed = sum(statement.is_reversed for statement in statements)
    return {"forward": len(statements) - n_reversed, "reversed": n_reversed}


def _examples_of(statements: Sequence[KeyedStatement]) -> list[str]:
    """Some items, with their keys."""
    keys = {True: "reversed", False: "forward"}
    shown = evenly_spread(list(statements), EXAMPLES)
    return [f"{statement.text} ({keys[statement.is_reversed]})" for statement in shown]


def read_statements(request: DraftRequest) -> tuple[str, list[KeyedStatement]]:
    """The title of a scale and its items."""
    if request.file.name == "questionnaires":
        return _statements_of_psychobench(request)
    return _statements_of_table(request)


def _choose_part(request: DraftRequest, titles: Sequence[str]) -> str:
    """The scale that is meant, of those in a file; UserError where it is not clear."""
    distinct = list(dict.fromkeys(titles))
    if request.part in distinct:
        return request.part
    if request.part is None and len(distinct) == 1:
        return distinct[0]
    what = f"{len(distinct)} scales: {', '.join(distinct)[:300]}"
    if request.part is not None:
        what = f"no scale {request.part!r}; it has {what}"
    raise UserError(what, where=str(request.file.path), remedy="name one: --part SCALE")


def _statements_of_psychobench(request: DraftRequest) -> tuple[str, list[KeyedStatement]]:
    """The items of one questionnaire, by number, with the categories that hold them."""
    titles = request.file.cells_of("title")
    title = _choose_part(request, titles)
    _, scale = request.file.records.rows[titles.index(title)]
    questions = look_up(scale, request.file.columns["questions"])
    texts: dict[str, str] = {}
    if isinstance(questions, list):
        texts = {str(number): str(text) for number, text in enumerate(questions, 1)}
    else:
        texts = {str(number): str(text) for number, text in questions.items()}
    reverse_column = request.file.columns.get("reverse", "reverse")
    reversed_numbers = set(map(str, look_up(scale, reverse_column) or []))
    subscales: dict[str, str] = {}
    for category in scale.get("categories") or []:
        for number in category.get("cat_questions", []):
            subscales[str(number)] = str(category.get("cat_name", ""))
    return title, [
        KeyedStatement(text, number in reversed_numbers, subscales.get(number, ""))
        for number, text in texts.items()
    ]


def _statements_of_table(request: DraftRequest) -> tuple[str, list[KeyedStatement]]:
    """The items of one scale of a table; a column of 1 and -1 is a key, whatever it is called."""
    from evenruler.instruments.item_table import reversed_rows

    file = request.file
    n_rows = len(file.records.rows)
    titles = file.cells_of("title") if "title" in file.columns else [request.name] * n_rows
    titles = [title or titles[0] for title in titles]
    title = _choose_part(request, titles)
    subscales = [""] * n_rows
    if "subscale" in file.columns:
        subscales = file.cells_of("subscale")
    role = "key" if "key" in file.columns else "reverse"
    all_marks = file.cells_of(role)
    if {mark.strip().casefold() for mark in all_marks} & MARKS_OF_KEYS:
        role = "key"
    texts = file.cells_of("statement")
    lines = [number for number, _ in file.records.rows]
    marks: dict[int, str] = {}
    for place, line in enumerate(lines):
        if titles[place] == title:
            marks[line] = all_marks[place]
    is_reversed = reversed_rows(marks, role, str(file.path))
    statements: list[KeyedStatement] = []
    for place, line in enumerate(lines):
        if line in marks:
            statements.append(KeyedStatement(texts[place], is_reversed[line], subscales[place]))
    return title, statements


Drafters = Mapping[str, Callable[[DraftRequest], SourceDraft]]
"""By kind of file."""

OF_EXTERNAL: Final[Drafters] = {
    "samples": draft_samples,
    "bbq": draft_bbq,
    "bbq-choices": draft_bbq,
    "pairs": draft_pairs,
    "questionnaires": draft_keyed,
    "scale": draft_keyed,
}
OF_PROBES: Final[Drafters] = {"weat": draft_weat, "words": draft_words}
OF_QUESTIONNAIRES: Final[Drafters] = {
    "questionnaires": draft_questionnaire,
    "scale": draft_questionnaire,
}
OF_SAGED: Final[Drafters] = {
    "templates": draft_prompts,
    "grouped": draft_prompts,
    "prompts": draft_prompts,
}
DRAFTS: Final[Mapping[str, Drafters]] = {
    "external": OF_EXTERNAL,
    "probes": OF_PROBES,
    "questionnaires": OF_QUESTIONNAIRES,
    "saged": OF_SAGED,
}
"""By family."""
