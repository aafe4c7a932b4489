"""Ratings of templates by people who do not know where a template comes from (PMPO, section 4.2 and appendix B)."""

from evenruler.instruments.probes.ratings.agreement import fleiss_kappa, krippendorff_alpha
from evenruler.instruments.probes.ratings.reading import collect, read_key
from evenruler.instruments.probes.ratings.sheet import CRITERIA, Blinded, Construct, as_page, as_sheet, blind
from evenruler.instruments.probes.ratings.statistics import statistics

__all__ = [
    "CRITERIA",
    "Blinded",
    "Construct",
    "as_page",
    "as_sheet",
    "blind",
    "collect",
    "fleiss_kappa",
    "krippendorff_alpha",
    "read_key",
    "statistics",
]
