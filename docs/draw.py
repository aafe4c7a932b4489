"""Draw the pictures of the documents from what is built: `make pictures`."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import pandas as pd

from evenruler.measurement.figures import figure_in_words, figure_name
from evenruler.tables import read_frame

PICTURES = Path(__file__).parent / "pictures"
WIDTH, HEIGHT = 320, 300
SHARES = (0.0, 100.0)
"""The axis of the share of men, percent."""
LETTER, LINE, GAP = 5.6, 12.0, 7.0
"""Of a name at 10 points: width of a letter, height, and distance to its point; pixels."""
MOST_NAMES = 14
FAR = 20.0
"""From the mean, in pixels: what lies nearer has no name."""
POINT = "#1b6f78"


@dataclass(frozen=True)
class Label:
    """A name and where it stands, in pixels from the lower left."""

    word: str
    left: float
    bottom: float

    @property
    def right(self) -> float:
        """Its end."""
        return self.left + LETTER * len(self.word)

    @property
    def top(self) -> float:
        """Its upper edge."""
        return self.bottom + LINE

    def meets(self, other: "Label") -> bool:
        """Whether two names overlap."""
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )

    def covers(self, x: float, y: float) -> bool:
        """Whether it lies on a point."""
        return self.left - 4 < x < self.right + 4 and self.bottom - 3 < y < self.top + 3


def labels(points: pd.DataFrame) -> list[Label]:
    """Names of the points that lie farthest out, as many as stand free of each other and of all
    points.

    Args:
        points: With `word`, and `x` and `y` in pixels.
    """
    placed: list[Label] = []
    far = (points["y"] - points["y"].mean()).abs().sort_values(ascending=False)
    for at in far[far > FAR].index:
        word, x, y = points.loc[at, ["word", "x", "y"]]
        for label in _around(word, x, y):
            others = points.drop(at)
            free = not any(
                label.covers(a, b) for a, b in zip(others["x"], others["y"], strict=True)
            )
            inside = (
                min(label.left, label.bottom) >= 0 and label.right <= WIDTH and label.top <= HEIGHT
            )
            if inside and free and not any(label.meets(other) for other in placed):
                placed.append(label)
                break
        if len(placed) == MOST_NAMES:
            break
    return placed


def _around(word: str, x: float, y: float) -> Iterator[Label]:
    width = LETTER * len(word)
    yield Label(word, x + GAP, y - LINE / 2)
    yield Label(word, x - GAP - width, y - LINE / 2)
    yield Label(word, x - width / 2, y + GAP)
    yield Label(word, x - width / 2, y - GAP - LINE)


def panel(
    rows: pd.DataFrame, biases: tuple[float, float], title: str, figure: dict[str, Any]
) -> alt.LayerChart:
    """Bias of each occupation against its share of men, on one model.

    Args:
        rows: Of `evenruler.instruments.probes.schemas`, table `associations`.
        biases: The axis of the bias, the same in all panels; nats.
        title: The model.
        figure: Its r as `evidence.json` has it.
    """
    data = rows[["word", "criterion", "centred", "low", "high"]].reset_index(drop=True)
    low, high = biases
    pixels = data.assign(
        x=(data["criterion"] - SHARES[0]) / (SHARES[1] - SHARES[0]) * WIDTH,
        y=(data["centred"] - low) / (high - low) * HEIGHT,
    )
    named = pd.DataFrame(
        {
            "word": label.word,
            "criterion": SHARES[0] + label.left / WIDTH * (SHARES[1] - SHARES[0]),
            "centred": low + (label.bottom + LINE / 2) / HEIGHT * (high - low),
        }
        for label in labels(pixels)
    )
    x = alt.X("criterion:Q", title="men among the employed (%)", scale=alt.Scale(domain=SHARES))
    y = alt.Y(
        "centred:Q",
        title="bias beyond the mean (nats; up: men)",
        scale=alt.Scale(domain=biases, nice=False),
    )
    base = alt.Chart(data).encode(x=x, y=y)
    line = base.transform_regression("criterion", "centred").mark_line(
        color="#777", strokeDash=[5, 3]
    )
    points = base.mark_circle(size=42, opacity=0.85, color=POINT)
    names = (
        alt.Chart(named)
        .mark_text(align="left", fontSize=10, color="#333")
        .encode(x=x, y=y, text="word:N")
    )
    said = [f"r = {figure_in_words(figure, 2)}", f"targets mixed: {figure['control']:.2f}"]
    return alt.layer(line, points, names).properties(
        width=WIDTH,
        height=HEIGHT,
        title=alt.TitleParams(title, subtitle=said, anchor="start", fontSize=13),
    )


def validity(associations: pd.DataFrame, evidence: list[dict[str, Any]]) -> alt.HConcatChart:
    """A panel a model, axes shared.

    Args:
        associations: Of one set on several models.
        evidence: The rows of r on that set.
    """
    known = associations.dropna(subset=["criterion"])
    least, most = float(known["centred"].min()), float(known["centred"].max())
    margin = 0.06 * (most - least)
    biases = (least - margin, most + margin)
    row_by_model = {row["model"]: row for row in evidence}
    panels = [
        panel(rows, biases, str(model), row_by_model[str(model)])
        for model, rows in known.groupby("model", sort=True)
    ]
    return (
        alt.hconcat(*panels)
        .configure_view(stroke="#ddd")
        .configure_axis(gridColor="#eee", labelFontSize=10)
    )


def main() -> None:
    """Bias of the occupations against labour statistics, on the paper's templates."""
    associations = read_frame(Path("data/diagnosis/probes/tables/associations.parquet"))
    shown = associations[
        (associations["benchmark"] == "occupation-gender") & (associations["set"] == "validation")
    ]
    text = Path("benchmarks/probes-occupation-gender/evidence.json").read_text()
    evidence = [
        row for row in json.loads(text)["figures"] if figure_name(row) == "r:set=validation"
    ]
    PICTURES.mkdir(exist_ok=True)
    validity(shown, evidence).save(PICTURES / "validity.svg")


if __name__ == "__main__":
    main()
