"""What an entry of `instruments` may say of probes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.instrument import ToolUse
from evenruler.instruments.probes.declare import takes
from evenruler.instruments.probes.declare.settings import Settings
from evenruler.instruments.probes.declare.source import Criterion, ProbeSource, load
from evenruler.models.declarations import Catalogue
from tests.instruments.probes.conftest import settings_of
from tests.text_tables import read_cells

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
RIVALS = {name: [f"{name}{place}" for place in range(8)] for name in ("high", "low")}
FORMS = (None, "choice", "written")
EVOLVE = {
    "of": "jobs",
    "model": "tiny",
    "operator": "talker",
}

NEXT_WORD = """
title: Four sentences
sentences:
  a: 0 {ATTRIBUTE} is a
  b: 1 {ATTRIBUTE} is a
  c: 2 {ATTRIBUTE} is a
  d: 3 {ATTRIBUTE} is a
pairs: {he0: she0, he1: she1, he2: she2, he3: she3, he4: she4, he5: she5}
control: {name: kings, high: [k0, k1, k2, k3, k4, k5], low: [q0, q1, q2, q3, q4, q5]}
"""


def with_criterion(source: Callable[..., ProbeSource], n: int, **changes: Any) -> ProbeSource:
    """A domain of ten trades, of which so many have a share."""
    entry = {"file": "a.csv", "column": "share", "label": "share"}
    declared = source(
        attributes=list("abcdefghij"),
        criterion=entry,
        **changes,
    )
    shares = {name: 1.0 if place < n else None for place, name in enumerate("abcdefghij")}
    declared._published = Criterion("share", shares, {})
    return declared


class TestWhatItMeans:
    def test_of_a_set_that_users_write(self) -> None:
        settings = settings_of()
        assert (settings.made_by, settings.source_name("jobs")) == (None, "jobs")
        assert not settings.third_party
        assert settings.uses(None) == [ToolUse("minilm", "embed", "embedder")]

    def test_of_one_that_evolves(self) -> None:
        settings = settings_of(evolve=EVOLVE)
        assert (settings.made_by, settings.source_name("jobs-evolved")) == ("evolve", "jobs")
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
        declared = with_criterion(
            source,
            10,
            next_word=YAML(typ="safe").load(NEXT_WORD),
        )
        assert settings_of("paper").warnings(declared) == []
        assert settings_of("paper").detects(declared) == "a factor of 3.6"
        evolve = {**EVOLVE, "start": "hand"}
        assert settings_of("paper", evolve=evolve).detects(declared) is None

    @pytest.mark.parametrize(
        ("n", "warning", "choice"),
        [
            (10, "without `next_word` nothing can be detected", "a share of 20 points"),
            (9, "9 attributes with a criterion (at least 10 needed)", None),
        ],
    )
    def test_too_few_attributes_with_a_criterion_are_warned_of(
        self, source: Callable[..., ProbeSource], n: int, warning: str, choice: str | None
    ) -> None:
        declared = with_criterion(source, n)
        (line,) = settings_of("paper").warnings(declared)
        assert line.startswith(warning)
        by_form = [settings_of("paper").detects(declared, form) for form in FORMS]
        assert by_form == [None, choice, None]

    def test_too_few_targets_are_warned_of(self, source: Callable[..., ProbeSource]) -> None:
        paper, pronouns = settings_of("paper"), {"men": ["he"], "women": ["she"]}
        written = {"pronouns": pronouns, "known": pronouns}
        words = {"men": ["man"], "women": ["woman", "girl", "aunt"]}
        unbalanced = source(**KEYED, targets=words, rivals=RIVALS, written=written)
        (single,) = paper.warnings(unbalanced)
        assert single.startswith("a group has 1 target (at least 2 needed)")
        by_form = [paper.detects(unbalanced, form) for form in FORMS]
        assert by_form == [None, None, "a share of 28 points"]

    def test_what_evolves_has_the_article_of_its_start(self) -> None:
        evolve = {**EVOLVE, "start": "hand"}
        settings = settings_of(article={"hand": "literal"}, evolve=evolve)
        assert settings.article_of("evolved") == settings.article_of("population") == "literal"

    def test_the_variant_of_the_paper_has_its_rules(self) -> None:
        ours, paper = (
            settings_of("paper", evolve={**EVOLVE, "variant": variant}).evolve
            for variant in ("ours", "paper")
        )
        rules = ("samples", "alpha_clip", "acceptability", "selection")
        assert [getattr(ours, rule) for rule in rules] == [3, 1, 0.75, "set"]
        assert [getattr(paper, rule) for rule in rules] == [1, None, None, "elites"]
        assert (paper.weights, paper.elites) == (ours.weights, ours.elites)
        with pytest.raises(ValueError, match="`variant: paper` has a rule of its own for `sam"):
            settings_of(evolve={**EVOLVE, "variant": "paper", "samples": 3})

    def test_models_that_are_asked(self, catalogue: Catalogue) -> None:
        respondents = [name for name in catalogue.models if takes(catalogue, name)]
        assert respondents == ["tiny", "talker", "big-server"]


NO_WEIGHTS = (
    "weights: {alpha: 0, gradient_focus: 0, semantic_diversity: 0, lexical_diversity: 0}",
    "weights",
    "all weights are 0",
)

# Keys of `evolve` | how the key begins | what else the line holds
REFUSED = """
{generation: 3}           | generation  | did you mean 'generations'?
{generations: {quick: 3}} | generations | expected one for quick and one for paper
{guided: [0.5, 1.1]}      | guided      | expected two probabilities
"""


@pytest.mark.parametrize(("keys", "key", "held"), [*read_cells(REFUSED), NO_WEIGHTS])
def test_what_is_refused_is_one_line_with_file_key_finding_and_remedy(
    file_with: FileWith, error_of: ErrorOf, keys: str, key: str, held: str
) -> None:
    evolve = {**EVOLVE, **YAML(typ="safe").load(keys)}
    declared = "{of: jobs, model: tiny, operator: {quick: talker, paper: big-server}}"
    path = file_with(
        "params.yaml",
        PARAMS,
        (declared, repr(evolve)),
    )
    line = error_of(read, path, "jobs-evolved")
    assert line.startswith(f"{path}: instruments.jobs-evolved.evolve.{key}")
    assert held in line


# What the settings say | key | what else the line holds
UNABLE = """
{embedder: minillm}             | embedder        | no model 'minillm'; 'minilm'?
{embedder: tiny}                | embedder        | 'tiny' (kind causal) cannot embed
{evolve: {model: minilm}}       | evolve.model    | 'minilm' (kind embedder) cannot loglikelihood
{evolve: {operator: tiny}}      | evolve.operator | 'tiny' does not chat; `chat: true`
{evolve: {operator: big-server}} | evolve.shots   | 'big-server' only chats; say false
"""


class TestModelsThatAreNamed:
    def test_can_do_what_is_asked_of_them(self, catalogue: Catalogue) -> None:
        hosted = {**EVOLVE, "operator": "big-server", "shots": False}
        for evolve in (EVOLVE, hosted):
            settings = settings_of(evolve=evolve)
            settings.require_able(None, catalogue, "instruments.jobs.{}".format)

    @pytest.mark.parametrize(("keys", "key", "held"), read_cells(UNABLE))
    def test_or_it_is_said(
        self, catalogue: Catalogue, error_of: ErrorOf, keys: str, key: str, held: str
    ) -> None:
        changes = YAML(typ="safe").load(keys)
        evolve = {**EVOLVE, **changes.pop("evolve", {})}
        settings = settings_of(evolve=evolve, **changes)
        line = error_of(
            settings.require_able,
            None,
            catalogue,
            "instruments.j.{}".format,
        )
        assert line.startswith(f"instruments.j.{key}: ")
        for words in held.split("; "):
            assert words in line


@pytest.mark.parametrize("model", ["talker", "tiny"])
def test_at_the_profile_of_the_paper_another_model_rewords(
    catalogue: Catalogue, error_of: ErrorOf, model: str
) -> None:
    """`tiny` is `talker` under another name."""
    place = "instruments.j.{}".format
    evolve = {**EVOLVE, "model": model}
    settings_of("quick", evolve=evolve).require_able(None, catalogue, place)
    hosted = {**evolve, "operator": "big-server"}
    settings_of("paper", evolve=hosted).require_able(None, catalogue, place)
    settings = settings_of("paper", evolve=evolve)
    assert error_of(settings.require_able, None, catalogue, place) == (
        "instruments.j.evolve.operator: 'talker' is measured, and would reword what it is measured "
        "with; name another model, as the paper has"
    )


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
            settings = settings_of(evolve={**EVOLVE, **keys})
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
