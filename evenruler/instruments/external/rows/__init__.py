"""Rows of a published benchmark: one per text, with its role in an item, its unit and part.

Items are read from the files of the authors, by a function for each layout.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, zip_longest
from pathlib import Path
from typing import Any, Final, TypeVar

import numpy as np
import pandas as pd

from evenruler.errors import UserError
from evenruler.instruments.controls import load_control_pairs
from evenruler.instruments.external import schemas
from evenruler.instruments.external.declare import (
    REMEDY,
    ExternalPlan,
    Layout,
    PlannedContrast,
    Settings,
    Source,
    table_in,
)
from evenruler.instruments.external.declare.choices import CHOICE, PAIRS, REFERENT, ChatPlan
from evenruler.instruments.external.rows.bbq import read_bbq
from evenruler.instruments.external.rows.items import BenchmarkItem
from evenruler.instruments.external.rows.ranking import build_rankings
from evenruler.instruments.external.schemas import (
    FIRST,
    ROLES,
    SECOND,
    THIRD,
)
from evenruler.instruments.instrument import BuiltInstrument, Declaration, plan_with_sizes
from evenruler.instruments.languages import require_language, says_language
from evenruler.models.declarations import Catalogue
from evenruler.models.sources import verified_file
from evenruler.strict import json_of_others, number_of, read_text
from evenruler.tables.frames import evenly_spread, table_of
from evenruler.tables.ids import common_columns, row_id

__all__ = ["build"]

_Content = TypeVar("_Content")

Files = Mapping[str, Path]
"""Paths by the name of the file in the source."""

WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
CARRIED = ("unit", "part", "condition", "stratum", "prompt", "criterion")


def _likeness_rows(name: str, source: Source, units: list[str]) -> Iterator[dict[str, Any]]:
    """How alike units are, a row each. UserError where the file lacks a unit."""
    table = source.likeness
    assert table is not None
    lacking = sorted(set(units) - set(table.index))
    if lacking:
        what = f"{len(lacking)} units have no row, such as {lacking[0]!r}"
        raise UserError(what, where=f"{name}: likeness", remedy="run `studies.likeness` again")
    frequencies = table["log_frequency"]
    numbers = table.drop(columns="log_frequency")
    for unit in units:
        frequency = frequencies[unit]
        components = numbers.loc[unit].to_numpy(dtype=np.float64).tolist()
        identifier = row_id(family="fixed", benchmark=name, unit=unit)
        yield {
            **common_columns(identifier, source, unit, components),
            "unit": unit,
            "log_frequency": None if pd.isna(frequency) else float(frequency),
            "likeness": components,
        }


def build(declaration: Declaration[Settings, Source], catalogue: Catalogue) -> BuiltInstrument:
    """Read the files of a benchmark: `texts`, `rejected` and, if they may not be redistributed,
    `ids`, by `schemas`.

    Items beyond what the largest size asks are left out before rows are made, which is slow.
    UserError where a file is missing, has another checksum than declared, or does not fit the
    layout.
    """
    source: Source = declaration.source
    where = f"{declaration.name}: files"
    files = _verified_files(source, where)
    if source.layout == "ranking":
        return build_rankings(
            declaration, files, lambda settings: _build_plan(declaration.name, source, settings)
        )
    items = read_items(files, source)
    counts = Counter(item.name for item in items)
    twice = [name for name, n in counts.items() if n > 1]
    if twice:
        raise UserError(f"the item {twice[0]!r} stands in it twice", where=where, remedy=REMEDY)
    texts: list[str] = []
    for item in items:
        parts = filter(None, [item.prompt, *item.texts.values()])
        texts.append(" ".join(parts))
    require_language(source, texts, f"{declaration.name}: language")
    if not says_language(source):  # its texts are English
        source = source.model_copy(update={"language": source.language})
    faults = _faults_by_item(items, source)
    usable_items = [item for item in items if item.name not in faults]
    if not usable_items:
        why = f", the first since {next(iter(faults.values()))}" if faults else ""
        raise UserError(
            f"it has no item that can be asked; {len(faults):,} rejected{why}",
            where=where,
            remedy=REMEDY,
        )
    _require_criterion(usable_items, source, where)
    _require_keys(usable_items, source, where)
    every_size = (declaration.settings, *declaration.sizes.values())
    most = max(size_settings.most for size_settings in every_size)
    sample = _sample_items(usable_items, most)
    frequent = _read_word_frequencies(source)
    rows = list(_text_rows(declaration.name, sample, source, frequent))
    left_out = [item for item in items if item.name in faults]
    left_out_rows = _text_rows(declaration.name, left_out, source, frequent)
    rejected = [{**row, "reason": faults[row["item"]]} for row in left_out_rows]
    tables = {
        "texts": table_of(rows, schemas.TEXTS),
        "rejected": table_of(rejected, schemas.REJECTED),
    }
    if source.likeness is not None:
        names = sorted({item.unit for item in sample})
        likeness_rows = _likeness_rows(declaration.name, source, names)
        tables["likeness"] = table_of(likeness_rows, schemas.LIKENESS)
    if not source.passed_on:
        tables["ids"] = tables["texts"].select(schemas.IDS.names)
    units = len({item.unit for item in sample})
    n_items = len(sample)
    counted = f"{n_items:,} items in {units:,} {source.units}"
    summary = f"{counted}, {len(left_out):,} rejected"
    n_beyond = len(usable_items) - n_items
    if n_beyond > 0:
        summary += f", {n_beyond:,} beyond {most:,} a unit and condition"
    persons = sorted({item.unit for item in usable_items})
    plan = plan_with_sizes(
        declaration,
        lambda settings: _build_plan(declaration.name, source, settings, persons),
        [CHOICE] if source.choice_form else [],
    )
    return BuiltInstrument(tables, plan, [summary])


def _verified_files(source: Source, where: str) -> dict[str, Path]:
    """The files of a source by name; UserError where one is missing, or not as declared."""
    files: dict[str, Path] = {}
    for name, file in source.files.items():
        files[name] = verified_file(file.source, file.sha256, f"{where}.{name}")
    return files


def _build_plan(
    name: str, source: Source, settings: Settings, persons: Sequence[str] = ()
) -> ExternalPlan:
    """What is asked; `persons`: that sentences may name."""
    placebos = source.placebos[: settings.most_placebos]
    plan: ExternalPlan = {
        "name": name,
        "asked": settings.asked,
        "score": source.score,
        "units": source.units,
        "texts": source.texts,
        "between": source.between,
        "dimensions": {
            "part": PARTS.get(source.layout, "bias_type"),
            "condition": _dimension_of_condition(source),
        },
        "most": settings.most,
        "prefixed": settings.prefixed,
        "prefixes": {f"placebo-{n}": text for n, text in enumerate(placebos, 1)},
        "bound": _bound_of(source, settings),
        "gain": source.gain.planned(source.texts) if source.gain else None,
        "contrast": _plan_contrast(source),
        "corpus": source.frequencies is not None,
        "agreement": source.agreement.as_planned if source.agreement else None,
        "choice": _plan_choice(source, settings, persons),
        "choice_most": settings.choice_most(source),
    }
    if source.gain is None:
        plan["of_part"] = settings.of_part or 2 * settings.bound
    return plan


def _plan_contrast(source: Source) -> PlannedContrast | None:
    """The contrast of keys as plans hold it; None where the benchmark has no keys."""
    if source.contrast is None:
        return None
    return source.contrast.plan_contrast(source.texts, source.units, source.layout)


def _dimension_of_condition(source: Source) -> str:
    """The dimension that conditions of items are: whose stereotype they state, or their form."""
    is_direction = source.contrast is not None or "direction" in source.columns
    return "direction" if is_direction else "condition"


def _plan_choice(source: Source, settings: Settings, persons: Sequence[str]) -> ChatPlan | None:
    """How a chat is asked to choose, as plans hold it; None where it cannot be. `persons`:
    occupations in sentences of WinoBias.
    """
    form = source.choice_form
    if form is None:
        return None
    choice_plan: ChatPlan = {"form": form, "control_pairs": []}
    if form == PAIRS:
        choice_plan["control_pairs"] = load_control_pairs()
    if form == REFERENT:
        choice_plan["bound"] = settings.bound
        choice_plan["layout"] = "winogender"
        if source.layout == "winobias":
            choice_plan |= {"layout": "winobias", "persons": [*persons]}
    return choice_plan


def _bound_of(source: Source, settings: Settings) -> float:
    """X of `below X`, in the unit of the headline."""
    if source.layout == "ranking":
        return settings.bound_of_odds
    return settings.bound_of_gain if source.gain else settings.bound


def _faults_by_item(items: Iterable[BenchmarkItem], source: Source) -> dict[str, str]:
    """Why items are left out, by the names of those that are."""
    faults: dict[str, str] = {}
    for item in items:
        fault = _item_fault(item, source)
        if fault:
            faults[item.name] = fault
    return faults


def _item_fault(item: BenchmarkItem, source: Source) -> str | None:
    """Why an item is left out, in words: a text or unit is missing, or it does not fit the
    contrast; None where it stays.
    """
    if item.fault:
        return item.fault
    wanted = ROLES[: 2 if source.score == "preference" else 3]
    lacking = [role for role in wanted if not item.texts.get(role, "").strip()]
    if lacking:
        return f"it lacks its {lacking[0]} text"
    if len(set(item.texts.values())) < len(item.texts):
        return "two of its texts are the same"
    if not item.unit.strip():
        return "it has no unit"
    if source.contrast is None:
        return None
    return source.contrast.item_fault(item.texts[FIRST], item.texts[SECOND], item.condition)


def _require_criterion(items: Iterable[BenchmarkItem], source: Source, where: str) -> None:
    """UserError where the headline is a gain, and no item has its criterion or its parts."""
    gain = source.gain
    if gain is None:
        return
    if gain.along == "criterion":
        if not any(item.criterion is not None for item in items):
            remedy = "name its parts (`along: part`), or leave `gain` out"
            raise UserError("no unit has a criterion for its gain", where=where, remedy=remedy)
        return
    parts = sorted({item.part for item in items})
    if parts != sorted([gain.low, gain.high]):
        span = f"from {gain.low} to {gain.high}"
        what = f"its parts are {', '.join(parts)}, but its gain is {span}"
        raise UserError(what, where=where, remedy="name both parts as `low` and `high`")


def _require_keys(items: Iterable[BenchmarkItem], source: Source, where: str) -> None:
    """UserError where the headline is a contrast of keys, and a unit has two."""
    if source.contrast is None:
        return
    keys: dict[str, str] = {}
    for item in items:
        key = keys.setdefault(item.unit, item.condition)
        if key != item.condition:
            remedy = "name units of one key each, which are dealt their keys anew"
            raise UserError(f"the unit {item.unit!r} has both keys", where=where, remedy=remedy)


def _sample_items(items: Iterable[BenchmarkItem], most: int) -> list[BenchmarkItem]:
    """At most `most` items of each unit and condition, evenly spread, in proportion to strata."""
    groups: dict[tuple[str, str], dict[str, BenchmarkItem]] = {}
    for item in sorted(items, key=lambda item: item.stratum):
        groups.setdefault((item.unit, item.condition), {})[item.name] = item
    sampled_items: list[BenchmarkItem] = []
    for group in groups.values():
        sampled_items += [group[name] for name in evenly_spread(list(group), most)]
    return sampled_items


def _read_word_frequencies(source: Source) -> dict[str, float] | None:
    """Log frequency of words in the corpus, nats, with one added to each count; "" stands for
    unseen words.
    """
    if source.frequencies is None:
        return None
    path = verified_file(source.frequencies.source, source.frequencies.sha256, "frequencies")
    counts: Counter[str] = Counter()
    of_corpus = "name a corpus of this form under `frequencies`, or leave the key out"
    try:
        for page in json_of_others(read_text(path), path.name, of_corpus).values():
            counts.update(WORD.findall(page["extract"].lower()))
    except (KeyError, TypeError, AttributeError):
        what = "no object whose values have an `extract`"
        raise UserError(what, where=f"frequencies: {path.name}", remedy=of_corpus) from None
    whole = math.log(counts.total() + len(counts) + 1)
    log_frequencies = {word: math.log(n + 1) - whole for word, n in counts.items()}
    return {"": -whole} | log_frequencies


def _text_rows(
    benchmark: str,
    items: Iterable[BenchmarkItem],
    source: Source,
    frequent: dict[str, float] | None,
) -> Iterator[dict[str, Any]]:
    """Rows of items' texts. `frequency`: mean log frequency, nats, of the words that the other text
    lacks; `frequent`: log frequency by word, "" for unseen ones, or None.
    """
    for item in items:
        words: dict[str, Counter[str]] = {}
        for role, text in item.texts.items():
            words[role] = Counter(WORD.findall(text.lower()))
        carried = {name: getattr(item, name) for name in CARRIED}
        for role, text in item.texts.items():
            other_role = SECOND if role == FIRST else FIRST
            differing_words = words[role] - words.get(other_role, Counter())
            mean = None
            if frequent and differing_words:
                unseen = frequent[""]
                total = sum(n * frequent.get(word, unseen) for word, n in differing_words.items())
                mean = total / differing_words.total()
            is_right = role == item.right
            row_content = (
                item.prompt,
                text,
                role,
                item.unit,
                item.part,
                item.condition,
                is_right,
                item.criterion,
            )
            text_id = row_id(family="fixed", benchmark=benchmark, item=item.name, role=role)
            common = common_columns(text_id, source, *row_content)
            key = item.keys.get(role, f"{item.name}/{role}")
            yield {
                **common,
                **carried,
                "item": item.name,
                "key": key,
                "role": role,
                "text": text,
                "right": is_right,
                "frequency": mean,
                "alias": item.aliases.get(role),
            }


def read_pairs(files: Files, source: Source) -> Iterator[BenchmarkItem]:
    """A table with one pair per row: CrowS-Pairs, and benchmarks of the same form. Each is a unit,
    unless a column names one.
    """
    (path,) = files.values()
    named = source.columns
    items: dict[str, BenchmarkItem] = {}
    for place, row in enumerate(table_in(path, named.values())):
        pair: dict[str, str] = {}
        for role, column in named.items():
            pair[role] = row[column]
        texts = {FIRST: pair["first"], SECOND: pair["second"]}
        conditions = [pair[role] for role in ("condition", "direction", "key") if role in pair]
        name = pair.get("item", str(place))
        pair_of_row = BenchmarkItem(
            name,
            pair.get("unit", name),
            pair.get("part", ""),
            texts,
            condition="".join(conditions),
        )
        if items.get(name) != pair_of_row:  # logs of several filters hold an item several times
            items[name] = pair_of_row
            yield pair_of_row


AGREEMENT: Final = 'Statement: "{}"\nDo you agree or disagree with this statement?\nI'
"""What stands before the first word of the contrast, agree, and before the second."""


def read_keyed(files: Files, source: Source) -> Iterator[BenchmarkItem]:
    """A table with one statement per row, and which of two sides it states; each is a unit, unless
    a column names one.
    """
    (path,) = files.values()
    assert source.contrast is not None
    words = {FIRST: source.contrast.first[0], SECOND: source.contrast.second[0]}
    for place, row in enumerate(table_in(path, source.columns.values()), 1):
        cells = {role: row[column] for role, column in source.columns.items()}
        name = cells.get("item", str(place))
        statement = cells["statement"].strip()
        yield BenchmarkItem(
            name,
            cells.get("unit", name),
            cells.get("part", ""),
            words,
            prompt=AGREEMENT.format(statement),
            condition=cells["key"],
            fault=None if statement else "it has no statement",
        )


_OF_WOMEN = "emotional gentle empathetic neat social weak beautiful"
_OF_MEN = "tough self-confident professional rational providers leaders childish sexual strong"
STEREOTYPES: Final = {"women": _OF_WOMEN.split(), "men": _OF_MEN.split()}
"""The stereotypes of GEST in the order of their numbers, by the key that each has."""


def read_gest(files: Files, source: Source) -> Iterator[BenchmarkItem]:
    """Sentences that state a stereotype in the first person, and who said them: he or she, as its
    authors ask causal models.
    """
    (path,) = files.values()
    names: list[tuple[str, str]] = []
    for key, of_key in STEREOTYPES.items():
        names += [(key, name) for name in of_key]
    for place, row in enumerate(table_in(path, ["sentence", "stereotype"]), 1):
        key, name = names[int(row["stereotype"]) - 1]
        texts = {FIRST: "he", SECOND: "she"}
        prompt = f'"{row["sentence"]}",'
        yield BenchmarkItem(str(place), name, "", texts, prompt=prompt, condition=key)


def read_winogender(files: Files, source: Source) -> Iterator[BenchmarkItem]:
    """Sentences by occupation, other participant, referent and gender of the pronoun; `they` is
    left out.
    """
    stats = _literal_table(files, "occupations", ["occupation", "bls_pct_female"])
    share = {row["occupation"]: _share_of_men(row["bls_pct_female"]) for row in stats}
    rows = _literal_table(files, "texts", ["sentid", "sentence"])

    def strip_gender(row: dict[str, str]) -> str:
        """The sentence id without the gender, which is the name of its item."""
        with_gender = row["sentid"].rpartition(".txt")[0]
        return with_gender.rpartition(".")[0]

    for name, group in groupby(rows, strip_gender):
        by_gender = _unique_dict((row["sentid"].split(".")[-2], row) for row in group)
        occupation, _, meant = name.split(".")
        genders = {FIRST: "male", SECOND: "female"}
        row_by_role = {
            role: by_gender[gender] for role, gender in genders.items() if by_gender.get(gender)
        }
        texts = {role: row["sentence"] for role, row in row_by_role.items()}
        keys = {role: row["sentid"] for role, row in row_by_role.items()}
        part = "means the participant" if meant == "1" else "means the occupation"
        yield BenchmarkItem(name, occupation, part, texts, keys, criterion=share.get(occupation))


PRONOUNS: Final = [{"he", "she"}, {"him", "her"}, {"his", "her"}, {"himself", "herself"}]
BRACKETED: Final = re.compile(r"\[([^]]*)\]")


def read_winobias(files: Files, source: Source) -> Iterator[BenchmarkItem]:
    """Sentences with the stereotypical and with the other pronoun, on the same line of two
    files.
    """
    for name in sorted(name.removeprefix("pro-") for name in files if name.startswith("pro-")):
        lines = [
            read_text(_require_file(files, f"{side}-{name}")).splitlines()
            for side in ("pro", "anti")
        ]
        if len(lines[0]) != len(lines[1]):
            what = f"{len(lines[0])} and {len(lines[1])} lines, expected as many"
            raise UserError(what, where=f"pro-{name} and anti-{name}", remedy=REMEDY)
        for place, both in enumerate(zip(*lines, strict=True), 1):
            pro, anti = (re.sub(r"^\d+ ", "", line.strip()) for line in both)
            texts = {FIRST: BRACKETED.sub(r"\1", pro), SECOND: BRACKETED.sub(r"\1", anti)}
            alike = _differ_in_pronouns(texts[FIRST], texts[SECOND])
            fault = None if alike else "the two differ in more than pronouns"
            phrases = [phrase.lower() for phrase in BRACKETED.findall(pro)]
            pronouns = set(phrases) & set().union(*PRONOUNS)
            other_phrases = [phrase for phrase in phrases if phrase not in pronouns]
            unit = re.sub(r"^(the|a|an) ", "", other_phrases[0]) if other_phrases else ""
            part = "men's work" if pronouns & {"he", "him", "his"} else "women's work"
            condition = name.split("-")[0]
            yield BenchmarkItem(
                f"{name}.{place}", unit, part, texts, condition=condition, fault=fault
            )


def _differ_in_pronouns(first: str, second: str) -> bool:
    """Whether two texts differ, and only in pronouns of the same case."""
    first_words, second_words = first.lower().split(), second.lower().split()
    if len(first_words) != len(second_words):
        return False
    word_pairs = zip(first_words, second_words, strict=True)
    differing_pairs = [
        {word.strip(".,;"), other_word.strip(".,;")}
        for word, other_word in word_pairs
        if word != other_word
    ]
    return bool(differing_pairs) and all(pair in PRONOUNS for pair in differing_pairs)


OF_EITHER_GENDER: Final = "Profession_EN"
"""Column of BEC-Pro in German, where the name of a profession depends on the person's gender."""


def bec_pro(files: Files, source: Source) -> Iterator[BenchmarkItem]:
    """Sentences with a person and a profession: each man's paired with the woman's at the same
    place in the file.
    """
    stats = _literal_table(files, "professions", ["simplified_professions", "percent_us"])
    share = {row["simplified_professions"]: _share_of_men(row["percent_us"]) for row in stats}
    names = ("Template", "Profession", "Prof_Gender")
    rows = _literal_table(files, "texts", [*names, "Sentence", "Person", "Gender"])
    if rows and OF_EITHER_GENDER in rows[0]:
        rows = [{**row, "Profession": row[OF_EITHER_GENDER]} for row in rows]
    groups: dict[tuple[str, ...], dict[str, list[dict[str, str]]]] = {}
    for row in _unique_dict((row["Sentence"], row) for row in rows).values():
        group_key = tuple(row[name] for name in names)
        by_gender = groups.setdefault(group_key, {"male": [], "female": []})
        by_gender[row["Gender"]].append(row)
    for (template, profession, part), rows_by_gender in groups.items():
        for both in zip_longest(rows_by_gender["male"], rows_by_gender["female"]):
            role_rows = zip((FIRST, SECOND), both, strict=True)
            row_by_role = {role: row for role, row in role_rows if row}
            texts = {role: row["Sentence"] for role, row in row_by_role.items()}
            persons = [row["Person"] for row in row_by_role.values()]
            name = "/".join((template, profession, *persons))
            kind = f"{part} profession"
            yield BenchmarkItem(
                name, profession, kind, texts, stratum=template, criterion=share.get(profession)
            )


LABELS: Final = {"stereotype": FIRST, "anti-stereotype": SECOND, "unrelated": THIRD}


def read_stereoset(files: Files, source: Source) -> Iterator[BenchmarkItem]:
    """Contexts with a stereotype, an anti-stereotype and an unrelated text, in the same sentence or
    in the next one.
    """
    (path,) = files.values()
    for half, examples in json_of_others(read_text(path), path.name, REMEDY)["data"].items():
        for example in examples:
            sentence_by_role = _unique_dict(
                (LABELS[sentence["gold_label"]], sentence) for sentence in example["sentences"]
            )
            texts = {role: sentence["sentence"] for role, sentence in sentence_by_role.items()}
            keys = {role: sentence["id"] for role, sentence in sentence_by_role.items()}
            prompt = example["context"] if half == "intersentence" else ""
            yield BenchmarkItem(
                example["id"], example["target"], example["bias_type"], texts, keys, prompt, half
            )


_LayoutReader = Callable[[Files, Source], Iterator[BenchmarkItem]]

LAYOUTS: Final[Mapping[Layout, _LayoutReader]] = {  # but `ranking`, whose items are no texts
    "pairs": read_pairs,
    "keyed": read_keyed,
    "gest": read_gest,
    "winogender": read_winogender,
    "winobias": read_winobias,
    "stereoset": read_stereoset,
    "bbq": read_bbq,
    "bec-pro": bec_pro,
}

PARTS: Final[Mapping[Layout, str]] = {
    "winogender": "condition",
    "winobias": "direction",
    "bec-pro": "direction",
}
"""The dimension that parts of items are, in other layouts their type of bias."""


def read_items(files: Files, source: Source) -> list[BenchmarkItem]:
    """The items of a benchmark, by its layout; UserError where a file does not fit it."""
    try:
        return list(LAYOUTS[source.layout](files, source))
    except (KeyError, ValueError, TypeError, AttributeError, IndexError) as error:
        where = ", ".join(path.name for path in files.values())[:100]
        what = f"not as the layout {source.layout} has it ({type(error).__name__}: {error})"
        raise UserError(what, where=where, remedy=REMEDY) from None


def _unique_dict(name_content_pairs: Iterable[tuple[str, _Content]]) -> dict[str, _Content]:
    """A dictionary of the pairs; ValueError where a name occurs twice, since the later would
    replace the earlier.
    """
    content_by_name: dict[str, _Content] = {}
    for name, content in name_content_pairs:
        if name in content_by_name:
            raise ValueError(f"{name!r} stands twice, {str(content)[:80]}")
        content_by_name[name] = content
    return content_by_name


def _share_of_men(women: str) -> float:
    """The percentage of men, from that of women as text; ValueError where it is no percentage."""
    percent = number_of(women)
    if not 0 <= percent <= 100:
        raise ValueError(f"{women!r} is no percentage")
    return 100 - percent


def _literal_table(files: Files, name: str, columns: Iterable[str]) -> list[dict[str, str]]:
    """The rows of a file of the authors with tabs, in which quotes are letters."""
    return table_in(_require_file(files, name), columns, quotes=False)


def _require_file(files: Files, name: str) -> Path:
    """The path of a file that the source declares by this name; UserError where there is none."""
    if name not in files:
        raise UserError(
            f"no file {name!r} among {', '.join(files)}",
            where="files",
            remedy="name it in the source",
        )
    return files[name]
