"""Statistics that the families share: resampling, reliability, dimensionality, validity, diversity,
shifts.
"""

from typing import TYPE_CHECKING

from evenruler.lazy import lazy_getattr

if TYPE_CHECKING:
    from evenruler.measurement.figures import Figure as Figure
    from evenruler.measurement.figures import HeadlineFigure as HeadlineFigure
    from evenruler.measurement.figures import rows_by_benchmark as rows_by_benchmark
    from evenruler.measurement.inputs import Resampling as Resampling
    from evenruler.measurement.reliability import ItemStatistics as ItemStatistics
    from evenruler.measurement.reliability import cronbach_alpha as cronbach_alpha
    from evenruler.measurement.reliability import feldt_interval as feldt_interval
    from evenruler.measurement.reliability import first_component_share as first_component_share
    from evenruler.measurement.reliability import item_statistics as item_statistics
    from evenruler.measurement.reliability import lexical_diversity as lexical_diversity
    from evenruler.measurement.reliability import (
        mean_inter_item_correlation as mean_inter_item_correlation,
    )
    from evenruler.measurement.reliability import semantic_diversity as semantic_diversity
    from evenruler.measurement.reliability import spearman_brown as spearman_brown
    from evenruler.measurement.resampling import Interval as Interval
    from evenruler.measurement.resampling import bootstrap as bootstrap
    from evenruler.measurement.validity import Correlation as Correlation
    from evenruler.measurement.validity import jackknifed_r as jackknifed_r
    from evenruler.measurement.validity import pearson as pearson
    from evenruler.measurement.validity import spearman as spearman

# scipy takes a second to load.
_MODULES = {
    "inputs": "Resampling",
    "figures": "HeadlineFigure Figure rows_by_benchmark",
    "reliability": "ItemStatistics cronbach_alpha feldt_interval first_component_share "
    "item_statistics "
    "lexical_diversity mean_inter_item_correlation semantic_diversity spearman_brown",
    "resampling": "Interval bootstrap",
    "validity": "Correlation jackknifed_r pearson spearman",
}
_NAMES = {name: module for module, names in _MODULES.items() for name in names.split()}
__all__ = sorted(_NAMES)
__getattr__ = lazy_getattr(__name__, **_NAMES)
