"""What an entry of `instruments` may say of probes."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.instrument import ToolUse
from evenruler.instruments.probes.declare import takes
from evenruler.instruments.probes.declare.settings import Evolve, Settings
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
  probes: {{embedder: minilm, prefixed: {{trial: 3, standard: 9, paper: 50}}}}
"""


def evolving(scale: str = "quick", **keys: Any) -> Evolve:
    found = settings_of(
        scale, evolve={"of": "jobs", "model": "tiny", "operator": "talker", **keys}
    ).evolve
    assert found is not None
    return found


def read(path: Path, name: str, scale: Any = None) -> Settings:
    found: Settings = ParamsFile(path, scale).settings(name)
    return found


@pytest.fixture
def catalogue(file_with: FileWith) -> Catalogue:
    return ParamsFile(file_with("models.yaml", MODELS)).catalogue


class TestWhatIsRead:
    def test_an_entry_over_what_its_family_says(self, file_with: FileWith) -> None:
        found = read(file_with("params.yaml", PARAMS), "jobs")
        assert (found.embedder, found.article, found.evolve) == (
            "minilm",
            {"hand": "literal"},
            None,
        )

    @pytest.mark.parametrize(("scale", "prefixed"), [("quick", 3), ("paper", 50)])
    def test_numbers_are_those_of_the_scale(
        self, file_with: FileWith, scale: Any, prefixed: int
    ) -> None:
        assert read(file_with("params.yaml", PARAMS), "jobs", scale).prefixed == prefixed

    @pytest.mark.parametrize(
        ("scale", "most"), [("quick", (12, 3, 2)), ("paper", (1000, 1000, 1000))]
    )
    def test_after_prefixes_a_few_are_asked_or_all(
        self, scale: str, most: tuple[int, int, int]
    ) -> None:
        """Attributes, templates of a set, targets of a group."""
        found = settings_of(scale)
        assert (found.prefixed, found.prefixed_templates, found.prefixed_targets) == most

    def test_what_verdicts_rest_on(self, file_with: FileWith) -> None:
        found = settings_of()
        assert (found.headline, found.placebo_attributes, found.reliability) == ([], 0, 0.6)
        assert settings_of("paper").placebo_attributes == 1000
        given = "article: {hand: literal}"
        path = file_with(
            "params.yaml",
            PARAMS,
            (given, f"{given}, headline: [hand], placebo_attributes: 24, reliability: 0"),
        )
        own = read(path, "jobs")
        assert (own.headline, own.placebo_attributes, own.reliability) == (["hand"], 24, 0)

    def test_the_numbers_of_the_paper_by_default(self) -> None:
        """PMPO, table 5, but for the embedder; section 3.2.1."""
        found = evolving("paper")
        assert found.weights.model_dump() == {
            "alpha": 0.2,
            "gradient_focus": 0.1,
            "semantic_diversity": 0.4,
            "lexical_diversity": 0.3,
        }
        assert (found.generations, found.elites, found.tournament, found.guided) == (
            10,
            4,
            3,
            (0.5, 0.9),
        )
        assert (found.start, found.samples, found.max_words, found.shots, found.ablation) == (
            "seed",
            3,
            30,
            False,
            True,
        )
        assert found.gradient_attributes == 1000

    def test_those_of_the_quick_scale(self) -> None:
        found = evolving()
        assert (found.generations, found.samples, found.max_words, found.gradient_attributes) == (
            3,
            8,
            16,
            2,
        )
        assert (found.shots, found.ablation) == (True, False)

    @pytest.mark.parametrize(("scale", "operator"), [("quick", "talker"), ("paper", "big-server")])
    def test_who_rewords_may_differ_by_scale(
        self, file_with: FileWith, scale: Any, operator: str
    ) -> None:
        found = read(file_with("params.yaml", PARAMS), "jobs-evolved", scale).evolve
        assert found is not None
        assert (found.model, found.operator) == ("tiny", operator)

    def test_the_share_of_replaced_words_is_written_as_a_list(self) -> None:
        assert evolving(guided=[0, 0.25]).guided == (0, 0.25)


class TestWhatItMeans:
    def test_of_a_set_that_users_write(self) -> None:
        found = settings_of()
        assert (found.made_by, found.written_as("jobs"), found.of_others) == (None, "jobs", False)
        assert found.uses(None) == [ToolUse("minilm", "embed", "embedder")]

    def test_of_one_that_evolves(self) -> None:
        found = settings_of(evolve={"of": "jobs", "model": "tiny", "operator": "talker"})
        assert (found.made_by, found.written_as("jobs-evolved")) == ("evolve", "jobs")
        assert found.uses(None) == [
            ToolUse("minilm", "embed", "embedder"),
            ToolUse("tiny", "loglikelihood", "evolve.model", tool=False),
            ToolUse("talker", "generate", "evolve.operator", tool=False),
        ]

    def test_targets_of_a_group_that_share_a_word_are_warned_of(
        self, source: Callable[..., ProbeSource]
    ) -> None:
        shared = {"men": ["young man", "young uncle"], "women": ["woman", "girl"]}
        assert settings_of().warnings(source(targets=shared)) == [
            "targets of one group share a word, so no verdict is possible: young",
            "neither a criterion nor keys: figures are descriptive, without verdict",
        ]

    def test_a_design_that_no_verdict_can_come_of_is_warned_of(
        self, source: Callable[..., ProbeSource]
    ) -> None:
        keyed = {
            "attributes": list("abcdefghijklmnop"),
            "keys": {"high": list("abcdefgh"), "low": list("ijklmnop")},
        }
        few = "2 lists of placebos (at least 12 needed): verdicts will be inconclusive"
        lists = [[f"noun{place}", f"other{place}"] for place in range(12)]
        rivals = {
            "high": [f"good{place}" for place in range(8)],
            "low": [f"bad{place}" for place in range(8)],
        }
        alone = (
            "keys without `rivals`: an effect may not be specific to the construct of the "
            "keyed words"
        )
        assert settings_of("paper").warnings(source(**keyed, placebos=lists)) == [alone]
        keyed["rivals"] = rivals
        assert settings_of("paper").warnings(source(**keyed, placebos=lists[:2])) == [few]
        assert settings_of("paper").warnings(source(**keyed, placebos=lists)) == []
        found = settings_of("paper").detects(source(**keyed, placebos=lists))
        assert found is not None
        assert re.fullmatch(r"a factor of [\d.]+ \(hand\)", found)
        evolve = {"of": "jobs", "model": "tiny", "operator": "talker", "start": "hand"}
        grown = settings_of("paper", evolve=evolve).detects(source(**keyed, placebos=lists))
        assert grown is not None
        assert re.fullmatch(r"a factor of [\d.]+ \(evolved\)", grown)
        assert float(grown.split()[3]) < float(found.split()[3])  # of eight templates, not of two
        assert settings_of("paper").detects(source(**keyed)) is None
        assert settings_of("quick").detects(source(**keyed, placebos=lists)) is None
        unasked = (
            "the build asks no placebos (trial), so verdicts are inconclusive; `measure` asks them"
        )
        assert settings_of("quick").warnings(source(**keyed, placebos=lists)) == [unasked]

    def test_too_few_attributes_with_a_criterion_or_targets_are_warned_of(
        self, source: Callable[..., ProbeSource]
    ) -> None:
        lists = [[f"noun{place}", f"other{place}"] for place in range(12)]
        entry = {"file": "a.csv", "column": "share", "label": "share"}
        own = source(attributes=list("abcdefghijk"), criterion=entry, placebos=lists)
        known: dict[str, float | None] = {**dict.fromkeys("abcdefghij", 1.0), "k": None}
        own._published = Criterion("share", known, {})
        assert settings_of("paper").warnings(own) == []
        assert str(settings_of("paper").detects(own)).startswith("a factor of ")
        own._published = Criterion("share", {**known, "a": None}, {})
        few = "9 attributes with a criterion (at least 10 needed): no verdict is possible"
        assert settings_of("paper").warnings(own) == [few]
        assert {
            settings_of("paper").detects(own, form) for form in (None, "choice", "written")
        } == {None}
        words = {"men": ["man"], "women": ["woman", "girl", "aunt"]}
        keyed = {
            "attributes": list("abcdefghijklmnop"),
            "keys": {"high": list("abcdefgh"), "low": list("ijklmnop")},
        }
        rivals = {
            "high": [f"good{place}" for place in range(8)],
            "low": [f"bad{place}" for place in range(8)],
        }
        pronouns = {"men": ["he"], "women": ["she"]}
        written = {"pronouns": pronouns, "known": pronouns}
        one = source(**keyed, targets=words, placebos=lists, rivals=rivals, written=written)
        single = (
            "a group has 1 target (at least 2 needed), so neither likelihoods nor choices get "
            "a verdict"
        )
        assert settings_of("paper").warnings(one) == [single]
        assert {settings_of("paper").detects(one, form) for form in (None, "choice")} == {None}
        assert settings_of("paper").detects(one, "written") == "a share of 28 points"

    def test_articles_of_sets(self) -> None:
        assert settings_of(article="literal").article_of("hand") == "literal"
        by_set = settings_of(article={"hand": "literal"})
        assert (by_set.article_of("hand"), by_set.article_of("other")) == ("literal", "agree")

    def test_what_evolves_has_the_article_of_its_start(self) -> None:
        evolve = {"of": "jobs", "model": "tiny", "operator": "talker", "start": "hand"}
        found = settings_of(article={"hand": "literal"}, evolve=evolve)
        assert (found.article_of("evolved"), found.article_of("population")) == (
            "literal",
            "literal",
        )

    def test_models_that_are_asked(self, catalogue: Catalogue) -> None:
        assert [name for name in catalogue.models if takes(catalogue, name)] == [
            "tiny",
            "talker",
            "big-server",
        ]


# (keys of `evolve`, key, what else the line holds)
REFUSED = [
    ({"generation": 3}, "generation", "did you mean 'generations'?"),
    ({"generations": {"quick": 3}}, "generations", "expected one for quick and one for paper"),
    ({"max_words": {"quick": 2, "paper": 30}}, "max_words", "greater than or equal to 3"),
    ({"guided": [0.5, 1.1]}, "guided", "expected two probabilities"),
    ({"guided": [0.5]}, "guided.1", "missing"),
    ({"guided": [0.5, "0.9"]}, "guided.1", "valid number"),
    ({"weights": {"diversity": 1}}, "weights.diversity", "unknown key 'diversity'"),
    (
        {
            "weights": dict.fromkeys(
                ("alpha", "gradient_focus", "semantic_diversity", "lexical_diversity"), 0
            )
        },
        "weights",
        "all weights are 0",
    ),
]


class TestWhatIsRefused:
    @pytest.mark.parametrize(("keys", "key", "held"), REFUSED)
    def test_one_line_with_file_key_finding_and_remedy(
        self, file_with: FileWith, error_of: ErrorOf, keys: dict[str, Any], key: str, held: str
    ) -> None:
        own = {"of": "jobs", "model": "tiny", "operator": "talker", **keys}
        given = "{of: jobs, model: tiny, operator: {quick: talker, paper: big-server}}"
        path = file_with("params.yaml", PARAMS, (given, repr(own).replace("True", "true")))
        line = error_of(read, path, "jobs-evolved")
        assert line.startswith(f"{path}: instruments.jobs-evolved.evolve.{key}")
        assert held in line

    def test_what_evolves_needs_a_model(self, file_with: FileWith, error_of: ErrorOf) -> None:
        path = file_with("params.yaml", PARAMS, ("model: tiny, ", ""))
        line = error_of(read, path, "jobs-evolved")
        assert (
            line == f"{path}: instruments.jobs-evolved.evolve.model: missing; add the key 'model'"
        )

    @pytest.mark.parametrize(
        ("said", "key", "held"),
        [
            ("placebo_attributes: -1", "placebo_attributes", "greater than or equal to 0"),
            ("reliability: 1.1", "reliability", "less than or equal to 1"),
        ],
    )
    def test_what_verdicts_and_prefixes_cannot_be(
        self, file_with: FileWith, error_of: ErrorOf, said: str, key: str, held: str
    ) -> None:
        given = "article: {hand: literal}"
        line = error_of(
            read, path := file_with("params.yaml", PARAMS, (given, f"{given}, {said}")), "jobs"
        )
        assert line.startswith(f"{path}: instruments.jobs.{key}")
        assert held in line

    def test_fewer_than_no_attributes(self, file_with: FileWith, error_of: ErrorOf) -> None:
        path = file_with("params.yaml", PARAMS, ("trial: 3,", "trial: -1,"))
        assert error_of(read, path, "jobs").startswith(f"{path}: families.probes.prefixed: ")


# (what the settings say, key, what else the line holds)
UNABLE = [
    ({"embedder": "minillm"}, "embedder", ["no model 'minillm'", "'minilm'?"]),
    ({"embedder": "tiny"}, "embedder", ["'tiny' (kind causal) cannot embed"]),
    (
        {"evolve": {"model": "minilm"}},
        "evolve.model",
        ["'minilm' (kind embedder) cannot loglikelihood"],
    ),
    (
        {"evolve": {"model": "big-server"}},
        "evolve.model",
        ["'big-server' (kind chat) cannot loglikelihood"],
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
        settings_of(evolve=evolve).require_able(
            None, catalogue, "params.yaml: instruments.jobs.{}".format
        )
        told = {**evolve, "operator": "big-server", "shots": False}
        settings_of(evolve=told).require_able(
            None, catalogue, "params.yaml: instruments.jobs.{}".format
        )

    @pytest.mark.parametrize(("keys", "key", "held"), UNABLE)
    def test_or_it_is_said(
        self,
        catalogue: Catalogue,
        error_of: ErrorOf,
        keys: dict[str, Any],
        key: str,
        held: list[str],
    ) -> None:
        evolve = {"of": "jobs", "model": "tiny", "operator": "talker"} | keys.get("evolve", {})
        line = error_of(
            settings_of(**{**keys, "evolve": evolve}).require_able,
            None,
            catalogue,
            "params.yaml: instruments.j.{}".format,
        )
        assert line.startswith(f"params.yaml: instruments.j.{key}: ")
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

    @pytest.mark.parametrize("elites", [1, 4])
    def test_longer_than_the_elites(self, started: Callable[..., ProbeSource], elites: int) -> None:
        assert len(started("a", "b", "c", "d", "e", elites=elites).sets["seed"].templates) == 5

    @pytest.mark.parametrize("elites", [5, 6])
    def test_as_many_elites_as_templates(
        self, started: Any, error_of: ErrorOf, elites: int
    ) -> None:
        line = error_of(started, "a", "b", "c", "d", "e", elites=elites)
        assert line.endswith(
            f"jobs.yaml: 5 templates of seed to start with, of which {elites} are elites; "
            "write more templates, or keep fewer (`evolve.elites`)"
        )

    def test_two_templates_have_no_alpha_without_one(self, started: Any, error_of: ErrorOf) -> None:
        assert "2 templates of seed to start with" in error_of(started, "a", "b", elites=1)

    def test_controls_are_not_selected_from(self, started: Any, error_of: ErrorOf) -> None:
        line = error_of(started, "a", "b", "c", "d", "e", controls=("e",), elites=4)
        assert "4 templates of seed to start with, of which 4 are elites" in line
        assert (
            len(started("a", "b", "c", "d", "e", controls=("e",), elites=3).sets["seed"].scored)
            == 4
        )

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
