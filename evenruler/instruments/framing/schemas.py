"""Tables of the framing family."""

from evenruler.tables.schemas import COMMON, columns, figures_of

PROMPTS = columns(
    COMMON, "task stimulus: str; group placebo: str?; turn: int8; order: [str]; prompt: str; decision: int32"
)
"""One row per prompt. `framing`: its cues joined by "+", `bare` for none; `FACTOR~2`: the second placebo in place of
that cue, `FACTOR~-2`: its second wording. `placebo`: its text, else null; `order`: slugs of the options by letter,
empty if none are listed; `turn`: number of the balanced order, an even one and the next being each other's reverse;
`decision`: the character at which the model answers."""

CONTENT_FREE = columns(COMMON, "task: str; letters: int8; prompt: str; decision: int32")
"""One row per lettered prompt without content: options differ only in their letters. `letters`: number of options."""

OUTCOMES = columns(COMMON, "outcome form use: str")
"""One row per word of an outcome class. `use`: a surface `form`; a `term`, by which replies are classified too; or
`not`, a phrase in which these do not count."""

STIMULI = columns(COMMON, "stimulus text: str; group: str?")
"""One row per stimulus."""

REJECTED = columns(PROMPTS, "reason: str")
"""Prompts that were left out, and why."""

_FORM = columns("form: str; nats ends alone first_nats: float; first_token: int")

_REPLY = columns("repetition: int32; seed: int; reply reason: str?")

_QUESTION = columns("id configuration: str")

FORM_ANSWERS = columns(_QUESTION, _FORM)
"""One row per prompt (`id`), surface form and configuration (`plain`, `chat`). `form`: as asked, with space, capital.
Nats: `nats` of all its tokens; `ends` that no letter follows, given these; `alone` that it stands alone; `first_nats`
of its first token, `first_token`."""

REPLY_ANSWERS = columns(_QUESTION, _REPLY)
"""One row per prompt, configuration and repetition: a reply. `reply`: null where a server returned none; `reason`: the
server's reason for that, else null."""

_ASKED = columns("id model lineage configuration framing: str")

FORMS = columns(_ASKED, _FORM)
"""`FORM_ANSWERS` of one model, with the framing of the prompt."""

REPLIES = columns(_ASKED, _REPLY)
"""`REPLY_ANSWERS` of one model, with the framing of the prompt."""

_MEASURED = columns("benchmark model lineage configuration metric task: str")
"""`metric`: `token` (mass at the decision point) or `choice` (share of sampled answers)."""

CHOICES = columns(
    "benchmark: str", _ASKED, "task stimulus: str; repetition: int32; outcome: str?; rule: str; reply reason: str?"
)
"""One row per classified reply: its class, null where it is invalid, and the rule that decided. Where a server returned
no reply the rule is `withheld`, class and `reply` are null, and `reason` says why."""

DISTRIBUTIONS = columns(_MEASURED, "framing stimulus outcome: str; mass: float; share: float?; coverage: float; n: int")
"""One row per cell (task x framing), stimulus and class. `mass`: probability of the class at the decision point, mean
over orders of options; for choices the share of all replies. `coverage`: the sum of `mass` over classes. `share`:
`mass` / `coverage`, null where that is 0. `n`: prompts, or replies."""

EXCLUSIONS = columns(_MEASURED, "framing: str; coverage least: float; n: int; excluded: bool")
"""One row per cell and metric: the share of its answers that name an option, mean over stimuli, and whether it is
below `least`, .4 for sampled replies (appendix A.1, table 2) and `least_coverage` for the mass of words. `n`: replies,
or prompts."""

EFFECTS = columns(_MEASURED, "factor: str; placebo: int8; stimulus: str; apd: float; n: int")
"""One row per factor, placebo, task and stimulus: mean APD over the n feasible pairs of cells, 0 to 1. Pairs are with
and without: the cue (`placebo` 0), its second wording (-2), or the placebo of that number."""

SHIFTS = columns(_MEASURED, "factor at stimulus outcome: str; shift: float")
"""One row per pair of cells, stimulus and class: (p2 - p1) / (p2 + p1), p1 without the cue and p2 with it, -1 to 1.
`at`: the framing without it."""

COMPARISONS = columns(
    "benchmark configuration metric outcome against method: str; difference low high p: float?",
    "n n_models: int; reason: str?",
)
"""One row per pair of classes and method: how much more `outcome` shifts than `against`. Methods: `mixed model`
(random intercept per model) or, below five lineages, `fixed effects` (errors clustered by stimulus); `tukey` and
`jackknife` (leaving out one stimulus at a time). `n_models`: lineages."""

CONTINUATIONS = columns("benchmark model lineage configuration factor: str; cue: bool; n named: int; share: float?")
"""One row per factor and presence of its cue (factor `all`: all replies, cue false): n replies of the neutral class,
how many of them name another class, and their share (appendix A.3)."""

REPLICATIONS = columns(
    "benchmark study model lineage configuration metric measure: str",
    "before before_low before_high after after_low after_high change low high control: float?",
    "n: int; reason: str?",
)
"""One row per measure of a replicated study, before and after the intervention, with intervals over stimuli. `control`:
mean change by placebos in place of the cue, each on the stimuli that it was asked about. `AS`: mean absolute change of
the others, each scaled to 0..1; `AS of GLD and ADD`: of these two; they have no before and after."""

FIGURES = figures_of("part")
"""One row per figure. `part`: configuration and metric. Figures: in one part headlines, `change: FACTOR` or `change:
FACTOR, TASK` (percentage points by which the cue changes the share of one class), and `total shift: ` likewise
(squared length of the change of all shares); by factor `effect: FACTOR` (mean over tasks of the mean APD over stimuli),
`effect: FACTOR, TASK`, `shift probability` (mean of the factors' effects), `coverage` (also `coverage: TASK, FRAMING`),
`excluded cells`, `shift: CLASS`, `continuation check`, and of a replicated study `MEASURE: before`, `: after` and
`: change`. The control of an effect and of a change is the mean over placebos. `reason`: why there is no value; or, for
an effect over some of its tasks, which these are."""
