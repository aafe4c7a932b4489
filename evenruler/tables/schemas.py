"""Table schemas: the notation they are written in, and those that several families share."""

import re
from collections.abc import Iterable

import pyarrow as pa

KINDS = {"str": pa.string(), "bool": pa.bool_(), "int": pa.int64(), "int32": pa.int32(), "int16": pa.int16()}
KINDS |= {"int8": pa.int8(), "float": pa.float64(), "float32": pa.float32()}
"""Column types, apart from lists and structures of these."""


def columns(*parts: str | Iterable[pa.Field]) -> pa.Schema:
    """Build a schema: `columns(COMMON, "item word: str; keying: int8; criterion: float?; labels: [str]")`.

    Parts are strings of names with their type (one of `KINDS`, `[...]` for a list, `{...}` for a structure in the same
    notation) or existing fields, in column order. A trailing `?` makes a column nullable. ValueError: wrong notation,
    or a repeated name.
    """
    fields: list[pa.Field] = [field for part in parts for field in (_written(part) if isinstance(part, str) else part)]
    names = [field.name for field in fields]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ValueError(f"column {twice[0]!r} stands twice")
    return pa.schema(fields)


def _written(text: str) -> list[pa.Field]:
    found = []
    for group in re.split(r";(?![^{]*\})", text):  # a ";" inside braces separates a structure's fields
        names, _, kind = (part.strip() for part in group.partition(":"))
        if not re.fullmatch(r"[a-z]\w*( [a-z]\w*)*", names) or not kind:
            what = f"found {group.strip()!r} in {text!r}"
            raise ValueError(f"{what}, expected names and what they hold, as in 'a b: str'")
        found += [pa.field(name, _kind(kind.removesuffix("?")), kind.endswith("?")) for name in names.split()]
    return found


def _kind(text: str) -> pa.DataType:
    if text.startswith("[") and text.endswith("]"):
        return pa.list_(_kind(text[1:-1]))
    if text.startswith("{") and text.endswith("}"):
        return pa.struct(columns(text[1:-1]))
    if text not in KINDS:
        known = f"{', '.join(KINDS)}, a list [...] or a structure {{...}}"
        raise ValueError(f"a column holds no {text!r}, expected {known}")
    return KINDS[text]


COMMON = columns("id content_sha256 variant framing source licence: str")  # in every published row
BARE = "bare"  # the framing of an unmodified prompt
LOG_PROBABILITY = "log_probability"  # the measure of answers other than entailment logits

ANSWERS = columns("id model lineage configuration framing measure: str; value: float")
"""One row per prompt, model, configuration and measure; answers without a length. Configurations `head` and
`verbaliser`: logits of entailment, neutral and contradiction. `sentence` and `mlm`: `log_probability` of the whole text
in nats, or of the intensifier in its place in mean nats per token."""

SCORES = columns(ANSWERS, "n_tokens: int")
"""One row per probe and measure of one model. `loglikelihood`: nats of the whole sentence, raw sum."""

WHOLE = "all"  # value of `part` for the whole instrument, or of the subscale for the whole scale


def figures_of(part: str) -> pa.Schema:
    """Columns of quality figures; `part` names the column with the part of the benchmark."""
    return columns(
        f"benchmark {part}: str; model: str?; figure: str; value low high p: float?; n: int; unit: str",
        "reason: str?; control: float?; verdict why: str?",
        "placebo specific specific_low specific_high smallest detectable p_effect p_denial: float?",
        "levels most least: str?",
    )


NUMBERS = tuple(field.name for field in figures_of("part") if field.type == pa.float64())  # numeric columns of a figure

CONCEPTS = columns("benchmark kin part model trait concept: str; value error: float; n: int; criterion: float?")
"""One row per unit that other instruments measure too (`instrument.Concept`). `concept`: "occupation:nurse"; `value`:
mean over n items or templates, `error`: the variance of that mean; `criterion`: a published number for it; `kin`: the
instrument whose words it uses, by default itself."""

AGREEMENT = columns(
    "of benchmark part trait other other_part other_trait model kind figure: str; value low high p: float?; n: int",
    "unit: str; reason: str?",
)
"""One row per agreement figure between two instruments on one model, over the units `of` (occupations) that both have.
`kind`: `itself`, `same trait`, `same words` (and trait) or `other trait`."""

HEADLINES = columns("part model figure unit rows: str; at word group: str?; pole: int8; beside: float?; value: float")
"""Values behind the headlines, used to compare two models: the value of a unit (an attribute, a stimulus, a root item)
per wording, template or role (`at`) and per word or concept (`word`, from the list `group`). `pole` is 0 for placebos;
`beside` is the unit's position on an axis; `rows` is a hash of the unit's published rows (`tables.frames.rows_of`),
which shows that a unit is the same in two results."""
