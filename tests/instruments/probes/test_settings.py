"""What an entry of `instruments` may say of probes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.instrument import ToolUse
from evenruler.instruments.probes.declare import takes
from evenruler.instruments.probes.declare.settings import Settings
from evenruler.instruments.probes.declare.source import Criterion, ProbeSource, load
from evenruler.models.declarations import Catalogue
from tests.instruments.probes.conftest import settings_of

ErrorOf = Callable[..., str]
FileWith = Callable[..., Path]

MODELS = """\
models:
  tiny: &model {kind: causal, source: local:tiny, licence: mit, origin: of our own}
  talker: {<<: *model, chat: true}
  minilm: {<<: *model, kind: embedder}
  big-server:
    {kind: chat, source: "endpoint:big-one", revision: 2026-11, licence: by its terms, origin: its vendor}
"""
PARAMS = f"""\
{MODELS}
instruments:
  jobs: {{family: probes, article: {{hand: literal}}}}
  jobs-evolved:
    family: probes
    evolve: {{of: jobs, model: tiny, operator: {{quick: talker, paper: big-server}}}}
families:
  probes: {{embedder: minilm, prefixed: {{trial: 3, standard: 9, full: 50}}}}
"""


def read(path: Path, name: str, profile: Any = None) -> Settings:
    settings: Settings = ParamsFile(path, profile).settings(name)
    return settings


@pytest.fixture
def catalogue(file_with: FileWith) -> Catalogue:
    return ParamsFile(file_with("models.yaml", MODELS)).catalogue


def test_an_entry_over_what_its_family_says(file_with: FileWith) -> None:
    settings = read(file_with("params.yaml", PARAMS), "jobs")
    assert (settings.embedder, settings.evolve) == ("minilm", None)
    assert settings.article == {"hand": "literal"}


KEYED: dict[str, Any] = {
    "attributes": list("abcdefghijklmnop"),
    "keys": {"high": list("abcdefgh"), "low": list("ijklmnop")},
}
RIVALS = {
    "high": [f"good{place}" for place in range(8)],
    "low": [f"bad{place}" for place in range(8)],
}


def number_words(word: str) -> list[str]:
    return [f"{word}{place}" for place in range(6)]


def with_next_word(source: Callable[..., ProbeSource]) -> ProbeSource:
    """A domain of ten trades with a share each, and sentences that end before a noun."""
    men, women, high, low = (number_words(word) for word in ("he", "she", "king", "queen"))
    next_word = {
        "title": "Four sentences",
        "sentences": {f"s{place}": f"{place} {{ATTRIBUTE}} is a" for place in range(4)},
        "pairs": dict(zip(men, women, strict=True)),
        "control": {"name": "kings and queens", "high": high, "low": low},
    }
    entry = {"file": "a.csv", "column": "share", "label": "share"}
    declared = source(attributes=list("abcdefghij"), criterion=entry, next_word=next_word)
    declared._published = Criterion("share", dict.fromkeys("abcdefghij", 1.0), {})
    return declared


class TestWhatItMeans:
    def test_of_a_set_that_users_write(self) -> None:
        settings = settings_of()
        assert (settings.made_by, settings.written_as("jobs")) == (None, "jobs")
        assert not settings.third_party
        assert settings.uses(None) == [ToolUse("minilm", "embed", "embedder")]

    def test_of_one_that_evolves(self) -> None:
        settings = settings_of(evolve={"of": "jobs", "model": "tiny", "operator": "talker"})
        assert (settings.made_by, settings.written_as("jobs-evolved")) == ("evolve", "jobs")
        assert settings.uses(None) == [
            ToolUse("minilm", "embed", "embedder"),
            ToolUse("tiny", "loglikelihood", "evolve.model", tool=False),
            ToolUse("talker", "generate", "evolve.operator", tool=False),
        ]

    def test_a_design_that_no_verdict_can_come_of_is_warned_of(
        self, source: Callable[..., ProbeSource]
    ) -> None:
        (no_null,) = settings_of("paper").warnings(source(**KEYED, rivals=RIVALS))
        assert no_null.startswith("without `next_word` nothing can be detected")
        lines = settings_of("paper").warnings(source(**KEYED))
        assert any("`rivals`" in line for line in lines)
        assert settings_of("paper").detects(source(**KEYED)) is None

    def test_what_is_detected_is_said_of_next_words(
        self, source: Callable[..., ProbeSource]
    ) -> None:
        asked = with_next_word(source)
        assert settings_of("paper").warnings(asked) == []
        assert settings_of("paper").detects(asked) == "a factor of 2.9"
        evolve = {"of": "jobs", "model": "tiny", "operator": "talker", "start": "hand"}
        assert settings_of("paper", evolve=evolve).detects(asked) is None

    def test_too_few_attributes_with_a_criterion_or_targets_are_warned_of(
        self, source: Callable[..., ProbeSource]
    ) -> None:
        paper, forms = settings_of("paper"), (None, "choice", "written")
        entry = {"file": "a.csv", "column": "share", "label": "share"}
        declared = source(attributes=list("abcdefghij"), criterion=entry)
        shares: dict[str, float | None] = dict.fromkeys("abcdefghij", 1.0)
        declared._published = Criterion("share", shares, {})
        (no_null,) = paper.warnings(declared)
        assert no_null.startswith("without `next_word` nothing can be detected")
        declared._published = Criterion("share", {**shares, "a": None}, {})
        (few,) = paper.warnings(declared)
        assert few.startswith("9 attributes with a criterion (at least 10 needed)")
        assert [paper.detects(declared, method) for method in forms] == [None] * 3

    def test_too_few_targets_are_warned_of(self, source: Callable[..., ProbeSource]) -> None:
        paper, pronouns = settings_of("paper"), {"men": ["he"], "women": ["she"]}
        written = {"pronouns": pronouns, "known": pronouns}
        words = {"men": ["man"], "women": ["woman", "girl", "aunt"]}
        unbalanced = source(**KEYED, targets=words, rivals=RIVALS, written=written)
        (single,) = paper.warnings(unbalanced)
        assert single.startswith("a group has 1 target (at least 2 needed)")
        by_form = [paper.detects(unbalanced, method) for method in (None, "choice", "written")]
        assert by_form == [None, None, "a share of 28 points"]

    def test_what_evolves_has_the_article_of_its_start(self) -> None:
        evolve = {"of": "jobs", "model": "tiny", "operator": "talker", "start": "hand"}
        settings = settings_of(article={"hand": "literal"}, evolve=evolve)
        assert settings.article_of("evolved") == settings.article_of("population") == "literal"

    def test_models_that_are_asked(self, catalogue: Catalogue) -> None:
        respondents = [name for name in catalogue.models if takes(catalogue, name)]
        assert respondents == ["tiny", "talker", "big-server"]


# (keys of `evolve`, key, what else the line holds)
NO_WEIGHTS = dict.fromkeys(
    ("alpha", "gradient_focus", "semantic_diversity", "lexical_diversity"), 0
)
REFUSED = [
    ({"generation": 3}, "generation", "did you mean 'generations'?"),
    ({"generations": {"quick": 3}}, "generations", "expected one for quick and one for paper"),
    ({"guided": [0.5, 1.1]}, "guided", "expected two probabilities"),
    ({"weights": NO_WEIGHTS}, "weights", "all weights are 0"),
]


class TestWhatIsRefused:
    @pytest.mark.parametrize(("keys", "key", "held"), REFUSED)
    def test_one_line_with_file_key_finding_and_remedy(
        self, file_with: FileWith, error_of: ErrorOf, keys: dict[str, Any], key: str, held: str
    ) -> None:
        evolve = {"of": "jobs", "model": "tiny", "operator": "talker", **keys}
        replaced = "{of: jobs, model: tiny, operator: {quick: talker, paper: big-server}}"
        path = file_with("params.yaml", PARAMS, (replaced, repr(evolve).replace("True", "true")))
        line = error_of(read, path, "jobs-evolved")
        assert line.startswith(f"{path}: instruments.jobs-evolved.evolve.{key}")
        assert held in line


# (what the settings say, key, what else the line holds)
UNABLE = [
    ({"embedder": "minillm"}, "embedder", ["no model 'minillm'", "'minilm'?"]),
    ({"embedder": "tiny"}, "embedder", ["'tiny' (kind causal) cannot embed"]),
    (
        {"evolve": {"model": "minilm"}},
        "evolve.model",
        ["'minilm' (kind embedder) cannot loglikelihood"],
    ),
    ({"evolve": {"operator": "tiny"}}, "evolve.operator", ["'tiny' does not chat", "`chat: true`"]),
    (
        {"evolve": {"operator": "big-server"}},
        "evolve.shots",
        ["'big-server' only chats", "say false"],
    ),
]


class TestModelsThatAreNamed:
    def test_can_do_what_is_asked_of_them(self, catalogue: Catalogue) -> None:
        evolve = {"of": "jobs", "model": "tiny", "operator": "talker"}
        hosted = {**evolve, "operator": "big-server", "shots": False}
        for declared in (evolve, hosted):
            settings_of(evolve=declared).require_able(
                None,
                catalogue,
                "instruments.jobs.{}".format,
            )

    @pytest.mark.parametrize(("keys", "key", "held"), UNABLE)
    def test_or_it_is_said(
        self, catalogue: Catalogue, error_of: ErrorOf, keys: Any, key: str, held: list[str]
    ) -> None:
        evolve = {"of": "jobs", "model": "tiny", "operator": "talker"} | keys.get("evolve", {})
        settings = settings_of(**{**keys, "evolve": evolve})
        line = error_of(
            settings.require_able,
            None,
            catalogue,
            "instruments.j.{}".format,
        )
        assert line.startswith(f"instruments.j.{key}: ")
        for words in held:
            assert words in line


START = """\
title: Jobs
construct: association of jobs with gender
direction: positive means closer to men
source: by hand
licence: cc0-1.0
targets: {men: [man], women: [woman]}
attributes: [nurse]
sets:
  seed:
    title: By hand
    templates: {TEMPLATES}
"""


class TestStart:
    @pytest.fixture
    def started(self, file_with: FileWith) -> Callable[..., ProbeSource]:
        """Loads a source of these templates that evolves."""

        def make(*slugs: str, controls: tuple[str, ...] = (), **keys: Any) -> ProbeSource:
            templates: dict[str, Any] = {
                slug: f"Some {{ATTRIBUTE}} of {slug} is a {{TARGET}}." for slug in slugs
            }
            templates |= {slug: {"text": templates[slug], "control": True} for slug in controls}
            path = file_with("jobs.yaml", START, ("{TEMPLATES}", repr(templates)))
            settings = settings_of(
                evolve={"of": "jobs", "model": "tiny", "operator": "talker", **keys}
            )
            return load(path, settings, path.parent)

        return make

    def test_as_many_elites_as_templates(self, started: Any, error_of: ErrorOf) -> None:
        line = error_of(started, "a", "b", "c", "d", "e", elites=5)
        assert line.endswith(
            "jobs.yaml: 5 templates of seed to start with, of which 5 are elites; "
            "write more templates, or keep fewer (`evolve.elites`)"
        )

    def test_two_templates_have_no_alpha_without_one(self, started: Any, error_of: ErrorOf) -> None:
        assert "2 templates of seed to start with" in error_of(started, "a", "b", elites=1)

    def test_controls_are_not_selected_from(self, started: Any, error_of: ErrorOf) -> None:
        line = error_of(started, "a", "b", "c", "d", "e", controls=("e",), elites=4)
        assert "4 templates of seed to start with, of which 4 are elites" in line
        source = started("a", "b", "c", "d", "e", controls=("e",), elites=3)
        assert len(source.sets["seed"].scored) == 4

    def test_a_set_that_is_not_there(self, started: Any, error_of: ErrorOf) -> None:
        line = error_of(started, "a", "b", "c", start="sed", elites=1)
        assert line.endswith(
            "no template set 'sed' for `evolve.start`; did you mean 'seed'?; check the name in "
            "params.yaml"
        )

    def test_templates_with_names_of_what_evolves(self, started: Any, error_of: ErrorOf) -> None:
        """As the templates of an evolved set, put into a source to evolve further."""
        line = error_of(started, "met", "g1-x", "g12-3", "g1", elites=1)
        assert line.endswith(
            "a template of seed is called 'g12-3', as those that evolve are; rename it"
        )
