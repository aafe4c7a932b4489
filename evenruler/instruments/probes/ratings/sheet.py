"""Blind sheets: what raters get, and the key that they must not get."""

import hmac
from collections.abc import Sequence
from dataclasses import dataclass

import jinja2
import pandas as pd

CRITERIA = {
    "clarity": "Is the sentence correct English, and understood at once?",
    "relevance": "Does it get at the construct named above, and at nothing else?",
    "naturalness": "Is it worded neutrally and without strain, so that the wording itself pushes to no answer?",
    "subtlety": "Does it get at the construct in a considered way, so that its purpose is not plain to see?",
}
"""The four criteria, each as raters are asked about it; meanings after PMPO, appendix B."""

LOWEST, HIGHEST = 1, 5
"""The ends of the scale: not at all, fully."""

SHEET = ("id", "text", "construct", *CRITERIA, "rater")
"""Columns of a sheet."""

KEY = ("id", "set", "domain", "template", "text", "seed", "secret")
"""Columns of a key."""

_LETTERS = str.maketrans("0123456789abcdef", "bcdfghjkmnpqrstv")
# Letters alone, and no vowels: a spreadsheet takes 12e45678 for a number, and nobody should read a word.


@dataclass(frozen=True)
class Construct:
    """What templates of a domain measure, as raters are told."""

    name: str
    attributes: Sequence[str]
    """Words that stand for {ATTRIBUTE}, a few of them."""
    targets: Sequence[str]
    """Words that stand for {TARGET}, a few of them."""
    warning: str | None = None
    """What raters should be told before they see the sentences."""


@dataclass(frozen=True)
class Blinded:
    """A sheet and its key."""

    rows: pd.DataFrame
    """One row a probe, in the order of the sheet: id, text, construct."""
    key: pd.DataFrame
    """One row per probe and place that it comes from, with the columns of `KEY`."""


def blind(templates: pd.DataFrame, secret: str, seed: int) -> Blinded:
    """Templates of several sets, in an order and with ids that tell nothing of where they come from.

    Ids come from a keyed hash (HMAC-SHA256) of the text, and the order is theirs. So both depend on nothing but what is
    on the sheet, the seed and the secret: neither set nor slug nor the order of the table enters. Whoever knows the
    templates and the seed, but not the secret, can compute neither. With the same secret and seed the sheet is the
    same.

    Args:
        templates: Columns `construct`, `domain`, `set`, `template` (slug) and `text`. A text that stands in several
            places (spaces apart) is one probe, rated once; the key names all places.
        secret: Random, and kept in the key alone: `secrets.token_hex(32)`.
        seed: Another one gives another order and other ids.
    """
    placed = templates.assign(text=folded(templates["text"]))
    probes = placed[["construct", "text"]].drop_duplicates()

    pairs = probes[["construct", "text"]].itertuples(index=False)
    words = [f"{seed}\x1f{construct}\x1f{text}" for construct, text in pairs]
    digests = [hmac.new(secret.encode(), word.encode(), "sha256").hexdigest() for word in words]
    rows = probes.assign(id=[digest[:12].translate(_LETTERS) for digest in digests])
    rows = rows.sort_values("id", ignore_index=True)[["id", "text", "construct"]]
    key = placed.merge(rows, on=["construct", "text"]).assign(seed=seed, secret=secret)
    return Blinded(rows, key.sort_values(["domain", "set", "template"], ignore_index=True)[list(KEY)])


def folded(texts: "pd.Series[str]") -> "pd.Series[str]":
    """Texts with single spaces, and none at the ends."""
    return texts.str.split().str.join(" ")


def as_sheet(rows: pd.DataFrame) -> str:
    """The CSV that raters fill in with a spreadsheet: ratings and rater are empty."""
    empty = dict.fromkeys([*CRITERIA, "rater"], "")
    return rows.assign(**empty)[list(SHEET)].to_csv(index=False, lineterminator="\n")


def as_page(rows: pd.DataFrame, constructs: Sequence[Construct]) -> str:
    """The same sheet as an HTML page that opens from disk, keeps what is filled in, and saves the CSV.

    Args:
        rows: Id, text and construct (its name), in order.
        constructs: Those that the rows name.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("evenruler.instruments.probes.ratings", "."),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    return environment.get_template("page.html.j2").render(
        probes=rows.to_dict("records"),
        constructs=constructs,
        criteria=CRITERIA,
        columns=SHEET,
        choices=range(LOWEST, HIGHEST + 1),
    )
