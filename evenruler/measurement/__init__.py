"""Statistics that the families share: resampling, reliability, dimensionality, validity, diversity, shifts."""

from typing import TYPE_CHECKING

from evenruler.lazy import lazily

if TYPE_CHECKING:
    from evenruler.measurement.checks import Resampling
    from evenruler.measurement.diversity import lexical_diversity, semantic_diversity
    from evenruler.measurement.figures import Confirmed, Figure, as_metrics, records
    from evenruler.measurement.reliability import (
        ItemStatistics,
        cronbach_alpha,
        feldt_interval,
        first_component_share,
        item_statistics,
        mean_inter_item_correlation,
        spearman_brown,
    )
    from evenruler.measurement.resampling import Interval, bootstrap
    from evenruler.measurement.validity import Correlation, jackknifed_r, pearson, spearman

__all__ = [
    "Confirmed",
    "Correlation",
    "Figure",
    "Interval",
    "ItemStatistics",
    "Resampling",
    "as_metrics",
    "bootstrap",
    "cronbach_alpha",
    "feldt_interval",
    "first_component_share",
    "item_statistics",
    "jackknifed_r",
    "lexical_diversity",
    "mean_inter_item_correlation",
    "pearson",
    "records",
    "semantic_diversity",
    "spearman",
    "spearman_brown",
]

# scipy takes a second to load.
_MODULES = {
    "checks": "Resampling",
    "diversity": "lexical_diversity semantic_diversity",
    "figures": "Confirmed Figure as_metrics records",
    "reliability": "ItemStatistics cronbach_alpha feldt_interval first_component_share item_statistics "
    "mean_inter_item_correlation spearman_brown",
    "resampling": "Interval bootstrap",
    "validity": "Correlation jackknifed_r pearson spearman",
}
__getattr__ = lazily(__name__, **{name: module for module, names in _MODULES.items() for name in names.split()})
