"""What came of templates that evolve, by the real DVC: their populations, and the figures, computed
anew."""

import numpy as np
import pytest

from tests.report.pages import pictures_in
from tests.stages.evolving import (
    ATTRIBUTES,
    BUILT,
    SEEDS,
    Evolving,
)

pytestmark = pytest.mark.long


class TestFigures:
    def test_biases_are_equation_1_of_what_the_model_scored(self, evolving: Evolving) -> None:
        """Two ways to the same numbers: measured as it evolved, and scored as any benchmark."""
        probes = evolving.table(f"{BUILT}/probes").query("set == 'population'")
        answers = evolving.table("data/answers/probes/tiny-a/likelihoods").query(
            "framing == 'bare'"
        )
        cells = probes.merge(
            answers[["id", "nats"]],
            on="id",
            validate="one_to_one",
        )
        poles = (
            cells.groupby(["template", "attribute", "keying", "pole"])["nats"]
            .mean()
            .unstack("pole")
        )
        expected = (poles[1] - poles[-1]).reset_index("keying")
        expected = expected["keying"] * expected[0]
        biases = (
            evolving.table(f"{BUILT}/biases")
            .query("run == 'guided'")
            .set_index(["template", "attribute"])["bias"]
        )
        assert len(expected) == len(SEEDS) * ATTRIBUTES
        np.testing.assert_allclose(
            biases.loc[expected.index],
            expected,
            rtol=0,
            atol=1e-4,
        )

    def test_the_report_has_a_section(self, evolving: Evolving) -> None:
        page = (evolving.clone.folder / "data/report/index.html").read_text()
        assert "How it evolved</h" in page
        assert len(pictures_in(page)) == page.count('class="picture"')
        for title in ("Reliability and diversity by generation", "Influence of each word"):
            assert f": {title}" in page
