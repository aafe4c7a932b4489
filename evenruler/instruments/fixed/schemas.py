"""Columns of the tables of published benchmarks, and the names that their items go by."""

from evenruler.tables.schemas import COMMON, columns

FIRST, SECOND, THIRD = "first", "second", "third"
"""Roles of the texts of an item: the one that the score counts (the more stereotypical one, the biased answer), the one
that stands against it, and one that tells whether a model can do the task at all (unrelated, unknown)."""

ROLES = (FIRST, SECOND, THIRD)

AMBIGUOUS, DISAMBIGUATED = "ambiguous", "disambiguated"
"""Conditions of BBQ: whether the context says what the answer is."""

TEXTS = columns(
    COMMON, "item key unit part condition stratum prompt role text: str; right: bool; criterion frequency: float?"
)
"""One row a text. `key`: how its authors know it; `unit`: what could have been another (a writer, an occupation, a
target, a template); `part`: of the benchmark, a bias type; `condition`: "" where there is one alone; `stratum`: what a
sample of items holds its share of; `prompt`: what the text stands after; `right`: whether it is the right answer, where
there is one; `criterion`: a published number of the unit; `frequency`: mean log frequency in the corpus of the words
that the text it stands against lacks, nats, null where there are none."""

IDS = columns(COMMON, "item key unit part condition role: str")
"""What is published of texts that may not be passed on: which they are, and the checksum of what they say."""

REJECTED = columns(TEXTS, "reason: str")
"""Texts that were left out, and why."""

LIKELIHOODS = columns("id text_id framing: str; nats: float?; tokens: int")
"""One row a text (`text_id`) and `framing`: as it is ("bare"), or after a placebo sentence, by its name. Recorded
answers: null where there is none, -1 where they do not say how many tokens there were."""

ITEMS = columns(
    "item unit part condition: str; value lean: float; won known: bool; right: bool?; related length: float",
    "in_tokens: bool; frequency: float; criterion: float?",
)
"""One row an answered item, on one model. `value`: log-likelihood of the first text less that of the second, nats (a
token, where the benchmark's authors count so); `lean`: its sign, of the answer that is chosen where there are three;
`won`: whether the first text is (strictly) the likelier or chosen one; `known`: whether one of these two is chosen;
`right`: whether the answer is; `related`: share of the two texts that are likelier than the unrelated one; `length`:
tokens of the first text less those of the second, `in_tokens`, else letters by four; `frequency`: the same of log
frequencies, 0 where both have the same words."""
