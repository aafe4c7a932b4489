"""Columns of the tables of minimal pairs."""

import pyarrow as pa

from evenruler.tables.schemas import COMMON, required

PAIRS = pa.schema([*COMMON, *(required(name, pa.string()) for name in ("pair", "more", "less"))])
REJECTED = pa.schema([*PAIRS, required("reason", pa.string())])
LIKELIHOODS = pa.schema([*(required(name, pa.string()) for name in ("id", "form")), required("nats", pa.float64())])
