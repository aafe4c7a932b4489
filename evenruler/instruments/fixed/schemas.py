"""Columns of the tables of published benchmarks, and names of roles and conditions."""

from evenruler.tables.schemas import COMMON, columns

FIRST, SECOND, THIRD = "first", "second", "third"
"""Roles of the texts of an item: the one that the score counts (the more stereotypical one, the biased answer), the one
it is compared with, and one that shows whether a model can do the task at all (unrelated, unknown)."""

ROLES = (FIRST, SECOND, THIRD)

AMBIGUOUS, DISAMBIGUATED = "ambiguous", "disambiguated"
"""Conditions of BBQ: whether the context determines the answer."""

TEXTS = columns(
    COMMON, "item key unit part condition stratum prompt role text: str; right: bool; criterion frequency: float?"
)
"""One row per text. `key`: its authors' id; `unit`: the sampling unit (a writer, an occupation, a target, a template);
`part`: of the benchmark, a bias type; `condition`: "" where there is only one; `stratum`: subgroup to which samples of
items are proportional; `prompt`: the text before it; `right`: whether it is the right answer, where there is one;
`criterion`: a published number of the unit; `frequency`: mean log frequency in the corpus of the words that the text it
is compared with lacks, nats, null where there are none."""

IDS = columns(COMMON, "item key unit part condition role: str")
"""What is published of texts that may not be redistributed: their ids, and the checksums of their content."""

REJECTED = columns(TEXTS, "reason: str")
"""Texts that were left out, and why."""

LIKELIHOODS = columns("id text_id framing: str; nats: float?; tokens: int")
"""One row per text (`text_id`) and `framing`: "bare", or the name of the placebo sentence before it. For recorded
answers, `nats` is null where there is none, `tokens` is -1 where unknown."""

ITEMS = columns(
    "item unit part condition: str; value lean: float; won known: bool; right: bool?; related length: float",
    "in_tokens: bool; frequency: float; criterion: float?",
)
"""One row an answered item, on one model. `value`: log-likelihood of the first text minus that of the second, nats (per
token, where the benchmark's authors do so); `lean`: its sign, or with three texts 1, -1 or 0 by the chosen one; `won`:
whether the first text is (strictly) the likelier or the chosen one; `known`: whether one of these two is chosen;
`right`: whether the answer is right; `related`: share of the two texts that are likelier than the unrelated one;
`length`: tokens (`in_tokens`), else letters by four, of the first text minus the second; `frequency`: the same for log
frequencies, 0 where both have the same words."""
