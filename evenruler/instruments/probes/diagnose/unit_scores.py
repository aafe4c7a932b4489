"""What the figures of probes are made of: a number an attribute."""

import pandas as pd

from evenruler.instruments.instrument import Record
from evenruler.instruments.probes.diagnose.confirming import SLOPE, SPREAD, R
from evenruler.tables import rows_of, stacked
from evenruler.tables.schemas import UNITS


def units(record: Record) -> pd.DataFrame:
    """The mean bias of every attribute in every set, beside its criterion.

    Args:
        record: Of one instrument on one model.

    Returns:
        By `tables.schemas.UNITS`, of `spread`, `r` and `slope`; none where the model says no likelihoods.
    """
    if "biases" not in record.found:
        return pd.DataFrame(columns=UNITS.names)
    probes = record.tables["probes"]
    by = ["set", "attribute"]
    means = record.found["biases"].groupby(by)["bias"].mean().rename("value")
    rows = rows_of(probes[~probes["control"]], by).rename("rows")
    found = pd.concat([means, rows], axis=1, join="inner").rename_axis(["part", "unit"]).reset_index()
    criterion = record.tables["attributes"].set_index("attribute")["criterion"]
    found = found.assign(model=record.subject.name, beside=found["unit"].map(criterion).astype(float))
    known = found.dropna(subset=["beside"])
    several = [
        found.assign(figure=SPREAD, statistic="sd", beside=float("nan")),
        known.assign(figure=R, statistic="correlation"),
        known.assign(figure=SLOPE, statistic="slope"),
    ]
    joined: pd.DataFrame = stacked(several)[UNITS.names]
    return joined
