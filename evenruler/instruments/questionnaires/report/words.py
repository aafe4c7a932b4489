"""What figures of questionnaires are called on the page."""

from evenruler.instruments.questionnaires.declare.headings import (
    BEYOND,
    CONFIGURATIONS,
    FIT_AGREEMENT,
    FIT_CHANGES,
    FIT_MEAN,
    FIT_RANKS,
    of_those,
)

OF_A_MODEL = {
    "answer": "answer (mean weight of the source terms); control: of the twins",
    BEYOND: "beyond twins (answer minus that of the twin)",
    "silhouette": "SC, source against inverse terms",
    "pss_range": "PSS range (greatest less least, 0 where words make no difference); control: of the twins'",
    "intensifier_order": "order of the intensifiers (rho)",
    FIT_AGREEMENT: "agreement of fits, ICC(2,1); control: about the twins",
    FIT_MEAN: "order by the mean over fits, ICC(3,k)",
    FIT_RANKS: "ranks of two fits (rho)",
    FIT_CHANGES: "shared changes from fit to fit (r); control: with other scales",
    "level_shift": "level shift under cues (SD)",
    "placebo_level_shift": "level shift under placebos (SD)",
    "reordering": "reordering under cues (SD)",
    "placebo_reordering": "reordering under placebos (SD)",
}
OF_ANY_MODEL = {
    **{of_those("alpha", form): f"Cronbach's alpha, over lineages asked by {form}" for form in CONFIGURATIONS},
    "similarity": "SS, items against their questions",
    "similarity_to_paraphrase": "SS to our paraphrase",
    "slor": "SLOR (nats a token)",
    "slor_of_twins": "SLOR of the twins",
    "acceptability": "LA, sentences acceptable as English",
    "acceptability_of_twins": "LA of the twins",
}
RHO = "rho_with_"

CONTENT = {
    "similarity": "SS",
    "similarity_to_paraphrase": "SS",
    "slor": "SLOR",
    "slor_of_twins": "SLOR of twin",
    "acceptability": "LA",
    "acceptability_of_twins": "LA of twin",
}
"""Columns of the items' table, by measure."""
