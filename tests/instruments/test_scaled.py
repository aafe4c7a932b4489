"""Settings that differ by profile."""

from typing import Annotated, Any

import pytest
from pydantic import BeforeValidator, Field, TypeAdapter, ValidationError

from evenruler.instruments.instrument import (
    PROFILES,
    ByProfile,
    BySize,
    Declaration,
    by_size,
    entries_of_profile,
    plan_at_size,
    plan_with_sizes,
)
from evenruler.strict import StrictModel

BOTH = {"quick": 2, "paper": 30}


class Inner(StrictModel):
    deep: ByProfile[str] = "both"


class Settings(StrictModel):
    n: ByProfile[Annotated[int, Field(ge=1)]] = Field(
        default={"quick": 5, "paper": 1000}, validate_default=True
    )
    flag: ByProfile[bool] = False
    name: ByProfile[str] | None = None
    inner: Inner = Field(default_factory=Inner)
    weights: ByProfile[dict[str, float]] = Field(default_factory=lambda: {"a": 1.0})


def read(profile: str, **settings: object) -> Settings:
    return Settings.model_validate(settings, context={"profile": profile})


class TestValues:
    @pytest.mark.parametrize(
        ("profile", "n"),
        [("quick", 2), ("paper", 30)],
    )
    def test_of_the_scale_that_is_read_or_one_for_both(self, profile, n) -> None:
        assert read(profile, n=BOTH).n == n
        settings = read(profile, n=n, flag=True, name="x")
        assert (settings.n, settings.flag, settings.name) == (n, True, "x")

    def test_a_mapping_of_other_keys_is_a_value(self) -> None:
        assert read("paper", weights={"b": 2.0}).weights == {"b": 2.0}
        both = {"quick": {"b": 2.0}, "paper": {"b": 30.0}}
        assert [read(profile, weights=both).weights["b"] for profile in PROFILES] == [2.0, 30.0]

    def test_a_default_is_resolved_too(self) -> None:
        assert [read(profile).n for profile in PROFILES] == [5, 1000]
        assert read("paper").inner.deep == "both"


class TestWhatIsRefused:
    @pytest.mark.parametrize(
        ("n", "reason"),
        [
            ({"quick": 2}, "found {'quick': 2}, expected one for quick and one for paper"),
            ({**BOTH, "huge": 1}, "'huge': 1}, expected one for quick and one for paper"),
            ({"quick": 2, "paper": 0}, "greater than or equal to 1"),
            ({"qick": 2}, "expected one value, or one for quick and one for paper"),
        ],
    )
    def test_at_whatever_scale(self, n, reason) -> None:
        """That of the other profile is checked as well."""
        with pytest.raises(ValidationError) as caught:
            read("quick", n=n)
        assert reason in str(caught.value)
        assert caught.value.errors()[0]["loc"][0] == "n"

    def test_without_a_scale_nothing_is_chosen(self) -> None:
        with pytest.raises(RuntimeError, match="without a profile"):
            Settings.model_validate({"n": BOTH})


ENTRIES = {
    "always": {"deep": "a"},
    "small": {"deep": "b", "profile": "quick"},
    "large": {"profile": "paper", "deep": "c"},
}


def of_scale(entries: Any, profile: str) -> Any:
    return TypeAdapter(Annotated[Any, BeforeValidator(entries_of_profile)]).validate_python(
        entries, context={"profile": profile}
    )


class TestAtScale:
    @pytest.mark.parametrize(
        ("profile", "expected"),
        [
            ("quick", {"always": {"deep": "a"}, "small": {"deep": "b"}}),
            ("paper", {"always": {"deep": "a"}, "large": {"deep": "c"}}),
        ],
    )
    def test_those_of_the_scale_without_the_key(self, profile, expected) -> None:
        assert of_scale(ENTRIES, profile) == expected
        assert "profile" in ENTRIES["small"], "what was given stays as it was"

    def test_what_is_no_mapping_is_left_to_others(self) -> None:
        for entries in (["a"], None, {"role": "You are", "none": None}):
            assert of_scale(entries, "quick") == entries

    def test_no_such_scale(self) -> None:
        with pytest.raises(ValueError, match="small: no profile 'qick', there are quick and paper"):
            of_scale({"always": {}, "small": {"profile": "qick"}}, "quick")


class Asks(StrictModel):
    n: BySize[int] = by_size(2, 30, 400)
    size: str = "trial"

    def detects(self, source: object) -> str | None:
        return f"{source} in {self.n}" if self.n > 2 else None


def asks(size: str | None, profile: str = "quick", **settings: object) -> Asks:
    return Asks.model_validate(settings, context={"profile": profile, "size": size})


class TestSizes:
    def test_of_the_size_that_is_read_else_of_the_scale(self) -> None:
        sizes = ("trial", "standard", "full", None)
        assert [asks(size).n for size in sizes] == [2, 30, 400, 30]
        assert asks(None, "paper").n == 400
        assert asks("standard", n={"trial": 1, "standard": 5, "full": 9}).n == 5
        assert asks("standard", n=7).n == 7

    def test_not_all_sizes_is_refused(self) -> None:
        with pytest.raises(
            ValidationError, match="one for trial and one for standard and one for full"
        ):
            asks("trial", n={"quick": 1, "full": 9})

    def test_a_plan_says_what_differs_from_standard(self) -> None:
        settings = {size: asks(size) for size in ("trial", "standard", "full")}
        declaration = Declaration("jobs", "probes", asks("trial"), "much", sizes=settings)
        plan = plan_with_sizes(declaration, lambda sized: {"name": "jobs", "n": sized.n})
        assert plan == {
            "name": "jobs",
            "n": 30,
            "size": "trial",
            "sizes": {
                "trial": {"asks": {"n": 2}, "detects": None},
                "standard": {"asks": {}, "detects": "much in 30"},
                "full": {"asks": {"n": 400}, "detects": "much in 400"},
            },
        }
        assert [plan_at_size(plan, size)["n"] for size in settings] == [2, 30, 400]
        assert plan_at_size(plan)["n"] == 2, "what the pipeline asks"

    def test_a_plan_of_one_size_is_asked_as_it_is(self) -> None:
        declaration = Declaration("jobs", "probes", asks("trial"), None)
        plan = plan_with_sizes(declaration, lambda sized: {"n": sized.n})
        assert plan == plan_at_size(plan, "full") == {"n": 2}
