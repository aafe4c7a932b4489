from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from evenruler.instruments.probes.evolve.settings import EvolveSettings, evolved, probe_sets, require_start
from evenruler.instruments.probes.source import ProbeSource
from evenruler.project.params import load_params
from tests.instruments.probes.evolve.toy import toy_source
from tests.project.test_params import PARAMS

ErrorOf = Callable[..., str]
FileWith = Callable[..., Path]

CHATTING = """\
  talker:
    kind: causal
    source: local:talker
    licence: mit
    origin: of our own
    scale: none
    chat: true
  big-server:
    kind: chat
    source: endpoint:big-one
    revision: 2026-11
    licence: by its terms
    origin: its vendor
probes:
  jobs:
    article: {hand: literal}
  ages: {}
evolve:
  jobs:
    model: {quick: tiny, paper: big}
    operator: {quick: talker, paper: big-server}
  ages: {model: shared, operator: talker, scale: paper}
"""
EVOLVING = PARAMS.replace("probes:\n  jobs:\n    article: {hand: literal}\n", CHATTING).replace(
    "models: [tiny, shared]\nmodels", "models: [tiny, shared, big-server]\n  evolved: [jobs]\nmodels"
)


def settings(**keys: Any) -> EvolveSettings:
    return EvolveSettings.model_validate({"model": "tiny", "operator": "talker", **keys})


class TestWhatIsRead:
    def test_the_numbers_of_the_paper_by_default(self) -> None:
        """PMPO, table 5, but for the embedder; section 3.2.1."""
        found = settings()
        assert found.weights.model_dump() == {
            "alpha": 0.2,
            "gradient_focus": 0.1,
            "semantic_diversity": 0.4,
            "lexical_diversity": 0.3,
        }
        assert (found.generations["paper"], found.elites, found.tournament, found.guided) == (10, 4, 3, (0.5, 0.9))
        assert (found.start, found.scale) == ("seed", None)

    def test_the_scale_of_the_paper_measures_all_attributes_and_has_the_ablation(self) -> None:
        found = settings()
        assert found.gradient_attributes["paper"] >= 50 > found.gradient_attributes["quick"]
        assert found.ablation == {"quick": False, "paper": True}
        assert found.shots == {"quick": True, "paper": False}

    def test_one_model_is_that_of_both_scales(self) -> None:
        found = settings(operator={"quick": "a", "paper": "b"})
        assert found.model == {"quick": "tiny", "paper": "tiny"}
        assert found.operator == {"quick": "a", "paper": "b"}

    def test_the_share_of_replaced_words_is_written_as_a_list(self, file_with: FileWith) -> None:
        path = file_with("params.yaml", EVOLVING, ("talker, scale: paper", "talker, scale: paper, guided: [0, 0.25]"))
        assert load_params(path).evolve["ages"].guided == (0, 0.25)

    def test_domains_evolve_at_their_scale(self, file_with: FileWith) -> None:
        params = load_params(file_with("params.yaml", EVOLVING))
        assert (params.evolving("quick"), params.evolving("paper")) == (["jobs"], ["jobs", "ages"])
        assert (params.evolving("quick"), params.evolving("paper")) == (["jobs"], ["jobs", "ages"])

    def test_what_is_built_is_every_domain_and_what_evolved_of_those_in_use(self, file_with: FileWith) -> None:
        params = load_params(file_with("params.yaml", EVOLVING))
        assert probe_sets(params.probes, params.active.evolved) == {
            "jobs": "jobs",
            "ages": "ages",
            "jobs-evolved": "jobs",
        }
        assert evolved("jobs") == "jobs-evolved"

    def test_what_evolves_is_a_benchmark_with_a_version_at_every_scale(self, file_with: FileWith) -> None:
        path = file_with("params.yaml", EVOLVING, ("{probes-jobs: 1.2.3}", "{probes-ages-evolved: 2.0.0}"))
        found = load_params(path).benchmarks
        assert {name: (each.section, each.key, each.version) for name, each in found.items()} == {
            "probes-jobs": ("probes", "jobs", "0.1.0"),
            "probes-ages": ("probes", "ages", "0.1.0"),
            "probes-jobs-evolved": ("evolve", "jobs", "0.1.0"),
            "probes-ages-evolved": ("evolve", "ages", "2.0.0"),
        }

    def test_a_chat_model_is_in_use_for_its_replies(self, file_with: FileWith) -> None:
        params = load_params(file_with("params.yaml", EVOLVING))
        assert params.in_use("quick") == ["tiny", "shared", "big-server"]
        assert [params.can("big-server", operation) for operation in ("generate", "loglikelihood")] == [True, False]
        assert params.entailing("quick") == []
        assert (params.models["big-server"].scheme, params.models["big-server"].locations) == (
            "endpoint",
            [("endpoint", "big-one")],
        )

    def test_without_any_nothing_evolves(self, file_with: FileWith) -> None:
        params = load_params(file_with("params.yaml", PARAMS))
        assert (params.evolve, params.active.evolved, params.evolving("paper")) == ({}, [], [])
        found = probe_sets(params.probes, params.active.evolved)
        assert found == {"jobs": "jobs"}


# (what is replaced, by what, key, what else the line holds)
REFUSED = [
    pytest.param("quick: tiny,", "quick: tinny,", "evolve.jobs.model", ["no model 'tinny'", "'tiny'?"], id="model"),
    pytest.param(
        "quick: tiny,",
        "quick: minilm,",
        "evolve.jobs.model",
        ["'minilm' (kind embedder) cannot loglikelihood", "causal"],
        id="embedder",
    ),
    pytest.param(
        "quick: tiny,",
        "quick: big-server,",
        "evolve.jobs.model",
        ["'big-server' (kind chat) cannot loglikelihood", "as one of kind causal"],
        id="model-without-likelihoods",
    ),
    pytest.param(
        "{quick: talker,", "{quick: talkr,", "evolve.jobs.operator", ["no model 'talkr'", "'talker'?"], id="operator"
    ),
    pytest.param(
        "{quick: talker,",
        "{quick: shared,",
        "evolve.jobs.operator",
        ["'shared' does not chat", "`chat: true`"],
        id="operator-that-does-not-chat",
    ),
    pytest.param(
        "paper: big-server}",
        "paper: minilm}",
        "evolve.jobs.operator",
        ["'minilm' does not chat"],
        id="operator-of-another-scale",
    ),
    pytest.param(
        "{quick: talker, paper: big-server}",
        "big-server",
        "evolve.jobs.shots.quick",
        ["'big-server' only chats, and goes on with no examples", "say false"],
        id="examples-for-a-server",
    ),
    pytest.param("  ages: {}\n", "", "evolve.ages", ["no probe domain 'ages'", "under `probes`"], id="domain"),
    pytest.param(
        "  ages: {}\n",
        "  ages: {}\n  jobs-evolved: {}\n",
        "evolve.jobs",
        ["'jobs-evolved' has the name of what evolves", "rename it"],
        id="domain-with-the-name",
    ),
    pytest.param(
        "evolved: [jobs]", "evolved: [jobs, ages]", "active.evolved", ["'ages'", "`evenruler check`"], id="out-of-step"
    ),
    pytest.param(
        "    kind: chat",
        "    kind: causal",
        "models.big-server",
        ["belongs to the kinds chat and completions"],
        id="no-endpoint",
    ),
    pytest.param(
        "endpoint:big-one",
        "local:big-one",
        "models.big-server",
        ["chat and completions, which need it"],
        id="chat-without-endpoint",
    ),
    pytest.param(
        "endpoint:big-one", '"endpoint:"', "models.big-server.source", ["'endpoint:'", "endpoint:name"], id="nameless"
    ),
]

# (keys of a domain that evolves, key, what else the line holds)
REFUSED_SETTINGS = [
    ({"generation": 3}, "generation", "did you mean 'generations'?"),
    ({"generations": {"quick": 3}}, "generations", "expected one for quick and one for paper"),
    ({"generations": {"quick": 0, "paper": 10}}, "generations", "expected numbers from 1 on"),
    ({"samples": {"quick": 8, "paper": 0}}, "samples", "expected numbers from 1 on"),
    ({"gradient_attributes": {"quick": 0, "paper": 1}}, "gradient_attributes", "expected numbers from 1 on"),
    ({"ablation": {"paper": True}}, "ablation", "expected one for quick and one for paper"),
    ({"operator": {"quick": "talker"}}, "operator", "expected one for quick and one for paper"),
    ({"elites": 0}, "elites", "greater than or equal to 1"),
    ({"tournament": 0}, "tournament", "greater than or equal to 1"),
    ({"tries": 0}, "tries", "greater than or equal to 1"),
    ({"new_tokens": 0}, "new_tokens", "greater than or equal to 1"),
    ({"max_words": {"quick": 2, "paper": 30}}, "max_words", "expected numbers from 3 on"),
    ({"alpha_clip": 0}, "alpha_clip", "greater than 0"),
    ({"acceptability": -0.1}, "acceptability", "greater than or equal to 0"),
    ({"guided": [0.5, 1.1]}, "guided", "expected two probabilities"),
    ({"guided": [0.5]}, "guided.1", "missing"),
    ({"guided": [0.5, "0.9"]}, "guided.1", "valid number"),
    ({"weights": {"alpha": -0.1}}, "weights.alpha", "greater than or equal to 0"),
    ({"weights": {"diversity": 1}}, "weights.diversity", "unknown key 'diversity'"),
    (
        {"weights": dict.fromkeys(("alpha", "gradient_focus", "semantic_diversity", "lexical_diversity"), 0)},
        "weights",
        "all weights are 0",
    ),
    ({"scale": "none"}, "scale", "'quick' or 'paper'"),
    ({"start": "Seed one"}, "start", "slug"),
    ({"seed": -1}, "seed", "greater than or equal to 0"),
]


class TestWhatIsRefused:
    @pytest.mark.parametrize(("old", "new", "key", "held"), REFUSED)
    def test_one_line_with_file_key_finding_and_remedy(
        self, file_with: FileWith, error_of: ErrorOf, old: str, new: str, key: str, held: list[str]
    ) -> None:
        path = file_with("params.yaml", EVOLVING, (old, new))
        line = error_of(load_params, path)
        assert line.startswith(f"{path}: {key}: ")
        for words in held:
            assert words in line

    @pytest.mark.parametrize(("keys", "key", "held"), REFUSED_SETTINGS)
    def test_settings(self, file_with: FileWith, error_of: ErrorOf, keys: dict[str, Any], key: str, held: str) -> None:
        own = {"model": "shared", "operator": "talker", "scale": "paper", **keys}
        path = file_with(
            "params.yaml",
            EVOLVING,
            ("{model: shared, operator: talker, scale: paper}", repr(own).replace("True", "true")),
        )
        line = error_of(load_params, path)
        assert line.startswith(f"{path}: evolve.ages.{key}")
        assert held in line

    def test_what_evolves_needs_a_model_and_an_operator(self, file_with: FileWith, error_of: ErrorOf) -> None:
        path = file_with("params.yaml", EVOLVING, ("model: shared, operator: talker, scale", "operator: talker, scale"))
        line = error_of(load_params, path)
        assert line == f"{path}: evolve.ages.model: missing; add the key 'model'"


class TestStart:
    @pytest.fixture
    def source(self) -> ProbeSource:
        templates = {f"t{i}": f"Some {{ATTRIBUTE}} of {i} is a {{TARGET}}." for i in range(5)}
        return toy_source(sets={"seed": {"title": "By hand", "templates": templates}})

    @pytest.mark.parametrize("elites", [1, 4])
    def test_longer_than_the_elites(self, source: ProbeSource, elites: int) -> None:
        require_start("jobs", settings(elites=elites), source, Path("params.yaml"))

    @pytest.mark.parametrize("elites", [5, 6])
    def test_as_many_elites_as_templates(self, source: ProbeSource, error_of: ErrorOf, elites: int) -> None:
        line = error_of(require_start, "jobs", settings(elites=elites), source, Path("params.yaml"))
        assert line == (
            f"params.yaml: evolve.jobs.elites: 5 templates to start with, of which {elites} are elites; "
            "write more templates, or keep fewer"
        )

    def test_two_templates_have_no_alpha_without_one(self, error_of: ErrorOf) -> None:
        templates = {"a": "An {ATTRIBUTE} is a {TARGET}.", "b": "The {ATTRIBUTE} was a {TARGET}."}
        source = toy_source(sets={"seed": {"title": "By hand", "templates": templates}})
        line = error_of(require_start, "jobs", settings(elites=1), source, Path("params.yaml"))
        assert line.startswith("params.yaml: evolve.jobs.elites: 2 templates to start with, ")

    def test_a_set_that_is_not_there(self, source: ProbeSource, error_of: ErrorOf) -> None:
        line = error_of(require_start, "jobs", settings(start="sed"), source, Path("params.yaml"))
        assert line == "params.yaml: evolve.jobs.start: no template set 'sed'; mend the name (did you mean 'seed'?)"

    def test_templates_with_names_of_what_evolves(self, error_of: ErrorOf) -> None:
        """As the templates of an evolved set, put into a source to evolve further."""
        slugs = ("met", "g1-x", "g12-3", "g1")
        templates = {slug: f"Some {{ATTRIBUTE}} of {slug} is a {{TARGET}}." for slug in slugs}
        source = toy_source(sets={"seed": {"title": "By hand", "templates": templates}})
        line = error_of(require_start, "jobs", settings(elites=1), source, Path("params.yaml"))
        assert line == (
            "params.yaml: evolve.jobs.start: a template of seed is called 'g12-3', as those that evolve are; rename it"
        )
