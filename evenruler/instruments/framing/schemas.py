"""Tables of the framing family."""

import pyarrow as pa

from evenruler.tables.schemas import COMMON, figures_of, required

PROMPTS = pa.schema(
    [
        *COMMON,
        required("task", pa.string()),
        required("stimulus", pa.string()),
        pa.field("group", pa.string()),
        pa.field("placebo", pa.string()),
        required("turn", pa.int8()),
        required("order", pa.list_(pa.string())),
        required("prompt", pa.string()),
        required("decision", pa.int32()),
    ]
)
"""One row a prompt. `framing`: its cues joined by "+", `bare` for none; `FACTOR~2` stands for the second placebo in the
place of that cue. `placebo`: the text of it, null elsewhere; `order`: the options by letter (slugs; empty where words
are read); `turn`: which of the balanced orders that is, an even one and the next being each other's reverse;
`decision`: the character at which the model answers."""

CONTENT_FREE = pa.schema(
    [
        *COMMON,
        required("task", pa.string()),
        required("letters", pa.int8()),
        required("prompt", pa.string()),
        required("decision", pa.int32()),
    ]
)
"""One row a lettered prompt without content: nothing but the letters, so many of them, tells its options apart."""

OUTCOMES = pa.schema(
    [*COMMON, required("outcome", pa.string()), required("form", pa.string()), required("use", pa.string())]
)
"""One row a word of an outcome class. `use`: a surface `form`; a `term` by which replies are read besides; or `not`, a
phrase in which a form does not count."""

STIMULI = pa.schema(
    [*COMMON, required("stimulus", pa.string()), required("text", pa.string()), pa.field("group", pa.string())]
)
"""One row a stimulus."""

REJECTED = pa.schema([*PROMPTS, required("reason", pa.string())])
"""Prompts that were left out, and why."""

_FORM = [
    required("form", pa.string()),
    required("nats", pa.float64()),
    required("ends", pa.float64()),
    required("alone", pa.float64()),
    required("first_nats", pa.float64()),
    required("first_token", pa.int64()),
]

_REPLY = [
    required("repetition", pa.int32()),
    required("seed", pa.int64()),
    pa.field("reply", pa.string()),
    pa.field("reason", pa.string()),
]

_QUESTION = [required("id", pa.string()), required("configuration", pa.string())]

FORM_ANSWERS = pa.schema([*_QUESTION, *_FORM])
"""One row per prompt (`id`), surface form and configuration (`plain`, `chat`). `form`: as it was asked, with space and
capital. Nats of all its tokens; that what follows is no letter, given these; that it stands alone; of its first
token, and that token."""

REPLY_ANSWERS = pa.schema([*_QUESTION, *_REPLY])
"""One row per prompt, configuration and repetition: what a model wrote. `reply`: null where a server gave none;
`reason`: what it said of that, null elsewhere."""

_ASKED = [
    required("id", pa.string()),
    required("model", pa.string()),
    required("lineage", pa.string()),
    required("configuration", pa.string()),
    required("framing", pa.string()),
]

FORMS = pa.schema([*_ASKED, *_FORM])
"""`FORM_ANSWERS` of one model, with the framing of the prompt."""

REPLIES = pa.schema([*_ASKED, *_REPLY])
"""`REPLY_ANSWERS` of one model, with the framing of the prompt."""

_MEASURED = [
    required("benchmark", pa.string()),
    required("model", pa.string()),
    required("lineage", pa.string()),
    required("configuration", pa.string()),
    required("metric", pa.string()),
    required("task", pa.string()),
]
"""`metric`: `token` (mass at the decision point) or `choice` (share of sampled answers)."""

CHOICES = pa.schema(
    [
        required("benchmark", pa.string()),
        *_ASKED,
        required("task", pa.string()),
        required("stimulus", pa.string()),
        required("repetition", pa.int32()),
        pa.field("outcome", pa.string()),
        required("rule", pa.string()),
        pa.field("reply", pa.string()),
        pa.field("reason", pa.string()),
    ]
)
"""One row a reply, read: its class, null where it is invalid, and the rule that said so. Where a server gave no reply
the rule is `withheld`, the class and `reply` are null, and `reason` says why."""

DISTRIBUTIONS = pa.schema(
    [
        *_MEASURED,
        required("framing", pa.string()),
        required("stimulus", pa.string()),
        required("outcome", pa.string()),
        required("mass", pa.float64()),
        pa.field("share", pa.float64()),
        required("coverage", pa.float64()),
        required("n", pa.int64()),
    ]
)
"""One row per cell (task x framing), stimulus and class. `mass`: probability of the class at the decision point, mean
over orders of options; for choices the share of all replies. `coverage`: the sum of `mass` over classes. `share`:
`mass` / `coverage`, null where that is 0. `n`: prompts, or replies."""

EXCLUSIONS = pa.schema(
    [
        *_MEASURED,
        required("framing", pa.string()),
        required("coverage", pa.float64()),
        required("least", pa.float64()),
        required("n", pa.int64()),
        required("excluded", pa.bool_()),
    ]
)
"""One row per cell and metric: the share of its answers that is of any class, mean over stimuli, and whether it is
below the least, .4 of the sampled replies (appendix A.1, table 2) and `least_coverage` of the mass of words. `n`:
replies, or prompts."""

EFFECTS = pa.schema(
    [
        *_MEASURED,
        required("factor", pa.string()),
        required("placebo", pa.int8()),
        required("stimulus", pa.string()),
        required("apd", pa.float64()),
        pa.field("chance", pa.float64()),
        required("n", pa.int64()),
    ]
)
"""One row per factor, placebo, task and stimulus: mean APD over the n feasible pairs of cells, 0 to 1. `placebo`: 0
with and without the cue, else with and without the placebo of that number in its place. `chance`: of choices, what APD
comes to where the same replies are dealt to the two cells anew; null for `token`."""

SHIFTS = pa.schema(
    [
        *_MEASURED,
        required("factor", pa.string()),
        required("placebo", pa.int8()),
        required("at", pa.string()),
        required("stimulus", pa.string()),
        required("outcome", pa.string()),
        required("shift", pa.float64()),
    ]
)
"""One row per pair of cells, stimulus and class: (p2 - p1) / (p2 + p1) from without the cue to with it, -1 to 1.
`placebo`: as in `EFFECTS`; `at`: the framing without it."""

COMPARISONS = pa.schema(
    [
        required("benchmark", pa.string()),
        required("configuration", pa.string()),
        required("metric", pa.string()),
        required("outcome", pa.string()),
        required("against", pa.string()),
        required("method", pa.string()),
        pa.field("difference", pa.float64()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("p", pa.float64()),
        required("n", pa.int64()),
        required("n_models", pa.int64()),
        pa.field("reason", pa.string()),
    ]
)
"""One row per pair of classes and method: how much more `outcome` shifts than `against`. Methods: `mixed model`
(random intercept per model) or, below five models, `fixed effects` (errors clustered by stimulus); `tukey` and
`jackknife` (a stimulus left out at a time)."""

CONTINUATIONS = pa.schema(
    [
        required("benchmark", pa.string()),
        required("model", pa.string()),
        required("lineage", pa.string()),
        required("configuration", pa.string()),
        required("factor", pa.string()),
        required("cue", pa.bool_()),
        required("n", pa.int64()),
        required("named", pa.int64()),
        pa.field("share", pa.float64()),
    ]
)
"""One row per factor and whether its cue is there (factor `all`: all replies, cue false): n replies of the neutral
class, how many name another class later, and their share (appendix A.3)."""

REPLICATIONS = pa.schema(
    [
        required("benchmark", pa.string()),
        required("study", pa.string()),
        required("model", pa.string()),
        required("lineage", pa.string()),
        required("configuration", pa.string()),
        required("metric", pa.string()),
        required("measure", pa.string()),
        pa.field("before", pa.float64()),
        pa.field("before_low", pa.float64()),
        pa.field("before_high", pa.float64()),
        pa.field("after", pa.float64()),
        pa.field("after_low", pa.float64()),
        pa.field("after_high", pa.float64()),
        pa.field("change", pa.float64()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("control", pa.float64()),
        pa.field("difference", pa.float64()),
        pa.field("difference_low", pa.float64()),
        pa.field("difference_high", pa.float64()),
        required("n", pa.int64()),
        pa.field("reason", pa.string()),
    ]
)
"""One row per measure of a replicated study, before and after the intervention, with intervals over stimuli. `control`:
the change that placebos bring in the place of the cue; `difference`: how much more the cue brings on the same prompts,
with its interval. Of what is no mean over stimuli (ADD, H, AS) `change` is of all stimuli, `control` of those that each
placebo was asked about. `AS`: mean absolute change of the others, each scaled to 0..1; `AS of GLD and ADD`: of these
two; they have no before and after."""

FIGURES = figures_of("part")
"""One row a figure. `part`: configuration and metric. Figures: by factor `effect: FACTOR` (mean over tasks of the
mean APD over stimuli), `effect: FACTOR, TASK`, `shift probability` (mean of the factors' effects), `coverage` (also
`coverage: TASK, FRAMING`), `excluded cells`, `shift: CLASS`, `shift: CLASS - CLASS`, `continuation check`, and of a
replicated study `MEASURE: before`, `: after`, `: change`, and of what is no mean over stimuli `: beyond placebos`, how
much more the cue changes than placebos do on the same prompts. The control is what placebos give. `reason`: why there
is no value, or no control; or, of an effect over some of its tasks, which these are."""
