"""Variance components of a set, its generalizability and the offset of its wordings."""

import numpy as np
import pytest

from evenruler.instruments.probes.diagnose.generalizing import TARGETS, TEMPLATES, Generalized, generalized
from evenruler.measurement import Figure
from evenruler.measurement.components import difference_of_groups
from tests.instruments.probes.known import cube_of


def scores(seed: int = 4, n: int = 30, templates: int = 6, targets: int = 8, offset: float = 2.0) -> np.ndarray:
    """Effects of every kind."""
    rng, poles = np.random.default_rng(seed), np.repeat([1, -1], targets // 2) / 2
    return (
        -20
        + offset * poles
        + rng.normal(size=(n, 1, 1)) * poles
        + rng.normal(size=(1, templates, 1)) * poles
        + rng.normal(size=(n, templates, 1)) * poles
        + rng.normal(size=(1, 1, targets))
        + rng.normal(size=(n, 1, targets))
        + rng.normal(size=(n, templates, targets))
    )


def figures(found: Generalized) -> dict[str, Figure]:
    return {figure.figure: figure for figure in found.figures}


class TestVariances:
    def test_are_those_of_the_difference(self) -> None:
        x = scores()
        expected = difference_of_groups(x, np.repeat([1, -1], 4)).variances
        found = generalized(cube_of(x), 0.9).variances.set_index("effect")["variance"]
        assert found.to_dict() == {
            "attribute": expected["unit",],
            "template": expected["template",],
            "target": expected["word",],
            "attribute x template": expected["unit", "template"],
            "attribute x target": expected["unit", "word"],
            "template x target": expected["template", "word"],
            "attribute x template x target": expected["unit", "template", "word"],
        }

    def test_what_was_planted_comes_out(self) -> None:
        """One for each but the interaction of templates and targets, which is not there."""
        found = [generalized(cube_of(scores(seed, 60, 12, 24)), 0.9).variances for seed in range(20)]
        mean = sum(rows.set_index("effect")["variance"] for rows in found) / len(found)
        # With 20 draws of 60 attributes, 12 templates and 12 targets a group.
        for effect in ("attribute", "attribute x template", "attribute x target", "attribute x template x target"):
            assert mean[effect] == pytest.approx(1, abs=0.1)
        assert mean["target"] == pytest.approx(1, abs=0.3)
        assert mean["template"] == pytest.approx(1, abs=0.4)
        assert mean["template x target"] == pytest.approx(0, abs=0.05)

    def test_the_spread_without_noise_is_that_of_the_attributes(self) -> None:
        """Planted with an SD of 1, beside as much noise of every kind, which the spread holds, too."""
        found = [
            figures(generalized(cube_of(scores(seed, 60, 4, 12)), 0.9))["attribute_sd"].value for seed in range(30)
        ]
        spreads = [cube_of(scores(seed, 60, 4, 12)).biases().mean(axis=1).std() for seed in range(30)]
        assert np.mean(found) == pytest.approx(1, abs=0.05)
        assert np.mean(spreads) > 1.2

    def test_one_below_zero_stays(self) -> None:
        x = np.random.default_rng(3).normal(size=(12, 3, 4))
        found = generalized(cube_of(x), 0.9).variances["variance"]
        assert (found < 0).any()


class TestCurve:
    @pytest.fixture
    def curve(self):
        return generalized(cube_of(scores()), 0.9).curve

    def test_every_size_once(self, curve) -> None:
        assert len(curve) == len(TEMPLATES) * len(TARGETS) == len(curve[["templates", "targets"]].drop_duplicates())

    def test_is_the_coefficient_of_the_difference(self, curve) -> None:
        expected = difference_of_groups(scores(), np.repeat([1, -1], 4))
        for row in curve.itertuples():
            assert row.coefficient == expected.coefficient(row.templates, row.targets)

    def test_more_templates_or_targets_are_never_less_reliable(self, curve) -> None:
        table = curve.pivot(index="templates", columns="targets", values="coefficient").to_numpy()
        assert (np.diff(table, axis=0) > 0).all()
        assert (np.diff(table, axis=1) > 0).all()
        assert 0 < table.min() < 0.5 < table.max() < 1


class TestFigures:
    def test_generalizability_is_that_of_the_set_as_it_is(self) -> None:
        x = scores()
        found = figures(generalized(cube_of(x), 0.9))["generalizability"]
        expected = difference_of_groups(x, np.repeat([1, -1], 4)).coefficient(6, 4)
        assert (found.value, found.n, found.unit) == (expected, 30, "attributes")
        assert found.bound is None

    def test_targets_of_the_curve_are_of_a_group(self) -> None:
        """Six templates are not in the curve, four are; 8 targets are 4 of each group."""
        found = generalized(cube_of(scores(templates=4)), 0.9)
        curve = found.curve.set_index(["templates", "targets"])["coefficient"]
        assert curve[4, 4] == figures(found)["generalizability"].value

    def test_offset_is_the_mean_bias_with_its_interval(self) -> None:
        x = scores()
        found = figures(generalized(cube_of(x), 0.9))["offset"]
        expected = difference_of_groups(x, np.repeat([1, -1], 4)).interval(0.9)
        assert found.value == pytest.approx(cube_of(x).biases().to_numpy().mean(), abs=1e-12)
        assert (found.low, found.high) == (expected.low, expected.high)
        assert found.low < found.value < found.high
        assert found.bound is None

    @pytest.mark.parametrize("added", [3.0, -1.5])
    def test_offset_alone_follows_a_leaning_of_all(self, added) -> None:
        """As longer targets have it."""
        before = generalized(cube_of(scores()), 0.9)
        after = generalized(cube_of(scores() + added * np.repeat([1, -1], 4) / 2), 0.9)
        assert figures(after)["offset"].value == pytest.approx(figures(before)["offset"].value + added, abs=1e-9)
        assert figures(after)["generalizability"].value == pytest.approx(figures(before)["generalizability"].value)
        assert after.curve["coefficient"].tolist() == pytest.approx(before.curve["coefficient"].tolist(), abs=1e-9)


class TestWhereThereIsNone:
    @pytest.mark.parametrize(
        ("shape", "poles", "why"),
        [
            ((9, 3, 5), [1, 1, 1, -1, -1], "the groups are not of equal size, two at least"),
            ((9, 3, 2), [1, -1], "the groups are not of equal size, two at least"),
            ((1, 3, 4), None, "fewer than two attributes or templates"),
            ((9, 1, 4), None, "fewer than two attributes or templates"),
        ],
    )
    def test_there_is_the_offset_alone(self, shape, poles, why) -> None:
        cube = cube_of(np.random.default_rng(4).normal(size=shape), poles)
        found = generalized(cube, 0.9)
        assert found.variances.empty
        assert found.curve.empty
        offset, nothing = figures(found)["offset"], figures(found)["generalizability"]
        assert (offset.value, offset.low, offset.high) == (cube.biases().to_numpy().mean(), None, None)
        assert (nothing.value, nothing.reason) == (None, why)

    def test_nothing_varies(self) -> None:
        found = figures(generalized(cube_of(np.tile([3.0, 1.0, 0.0, 0.0], (5, 3, 1))), 0.9))
        assert (found["generalizability"].value, found["generalizability"].reason) == (None, "no variance")
        assert found["offset"].value == 2
