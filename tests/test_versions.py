import datetime
import itertools

import pytest
from pydantic import TypeAdapter, ValidationError

from evenruler.declaration.params import load_params
from evenruler.versions import (
    Changelog,
    Release,
    Version,
    bump_version,
    load_changelog,
    version_key,
)
from tests.declaration.test_params import PARAMS

CHANGELOG = """\
# Released versions.
releases:
  1.9.0:
    date: 2025-04-02
    changes: [More rows.]
  1.10.0:
    date: 2025-05-31
    changes:
      - "Even: more."
      - And else.
"""


class TestVersions:
    @pytest.mark.parametrize(
        ("version", "bump", "expected"),
        [
            ("1.2.3", "none", "1.2.3"),
            ("1.2.3", "patch", "1.2.4"),
            ("1.2.3", "minor", "1.3.0"),
            ("1.2.3", "major", "2.0.0"),
            ("0.9.9", "minor", "0.10.0"),
        ],
    )
    def test_bumped(self, version, bump, expected):
        assert bump_version(version, bump) == expected

    def test_order_is_that_of_the_numbers(self):
        ordered = [
            "0.0.9",
            "0.1.0",
            "0.10.0",
            "1.0.0",
            "1.9.0",
            "1.9.10",
            "1.10.0",
            "2.0.0",
            "10.0.0",
        ]
        for reordered in (ordered[::-1], sorted(ordered)):
            assert sorted(reordered, key=version_key) == ordered
        for lower, higher in itertools.pairwise(ordered):
            assert version_key(lower) < version_key(higher)

    @pytest.mark.parametrize(
        "version",
        [
            "1.2",
            "v1.2.3",
            "1.2.3-rc1",
            "01.2.3",
            "1..3",
            "1.2.3\n",
        ],
    )
    def test_else_it_is_none(self, version):
        with pytest.raises(ValidationError, match=r"expected MAJOR\.MINOR\.PATCH"):
            TypeAdapter(Version).validate_python(version)


class TestChangelog:
    def test_values(self, file_with):
        assert load_changelog(file_with("probes-jobs.yaml", CHANGELOG)).releases == {
            "1.9.0": Release(date=datetime.date(2025, 4, 2), changes=["More rows."]),
            "1.10.0": Release(
                date=datetime.date(2025, 5, 31), changes=["Even: more.", "And else."]
            ),
        }

    def test_newest_first(self, file_with):
        changelog = load_changelog(file_with("probes-jobs.yaml", CHANGELOG))
        assert [(version, release.date.month) for version, release in changelog.newest_first()] == [
            ("1.10.0", 5),
            ("1.9.0", 4),
        ]

    def test_without_a_file_nothing_has_been_released(self, tmp_path):
        changelog = load_changelog(tmp_path / "probes-jobs.yaml")
        assert changelog == Changelog()
        assert changelog.newest_first() == []

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                "1.9.0:",
                "v1.9.0:",
                "releases.v1.9.0: found 'v1.9.0', expected MAJOR.MINOR.PATCH; fix it",
            ),
            pytest.param(
                "2025-04-02",
                "2025-04-31",
                "",
            ),
            ("  1.10.0:", "  1.9.0:", "line 6: "),
        ],
        ids=[
            "version-with-a-v",
            "date-that-there-is-not",
            "version-twice",
        ],
    )
    def test_mistakes_are_one_line_with_file_and_key(self, file_with, error_of, old, new, message):
        path = file_with("probes-jobs.yaml", CHANGELOG, (old, new))
        line = error_of(load_changelog, path)
        assert line.startswith(f"{path}: {message}")


class TestVersionsInParams:
    def test_of_no_benchmark(self, file_with, error_of):
        name, hint = "framing-job", "did you mean 'framing-jobs'?"
        path = file_with(
            "params.yaml",
            PARAMS,
            ("{framing-jobs: 1.2.3}", f"{{framing-jobs: 1.2.3, {name}: 1.0.0}}"),
        )
        assert error_of(load_params, path) == (
            f"{path}: versions: no benchmark {name!r}; {hint}; remove it or check the name"
        )
