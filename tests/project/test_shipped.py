"""What the repository itself declares."""

import re
import shutil
from pathlib import Path

import pandas as pd
import pytest

from evenruler.declaration.active import DeclaredInstrument, compute_active, instruments_at
from evenruler.declaration.generated import artifacts_of, render_active
from evenruler.declaration.params import load_params
from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.registry import FAMILIES
from evenruler.strict import read_yaml
from evenruler.versions import load_changelog, version_key
from tests.profiles import pin_everything

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "data" / "sources"


@pytest.fixture(scope="module")
def params():
    return load_params(ROOT / "params.yaml")


@pytest.fixture(scope="module")
def instruments() -> dict[str, dict[str, DeclaredInstrument]]:
    """By profile and name, settings and sources read and checked."""
    by_scale = {}
    for profile in ("quick", "paper"):
        declared = instruments_at(ROOT, ROOT / "params.yaml", profile)
        by_scale[profile] = {instrument.name: instrument for instrument in declared}
    return by_scale


@pytest.fixture(scope="module")
def at_scale(instruments):
    """What is in use at each profile."""
    return {
        profile: compute_active([*declared.values()], ROOT / "params.yaml", profile)
        for profile, declared in instruments.items()
    }


@pytest.fixture(scope="module")
def occupations(instruments):
    return instruments["quick"]["occupation-gender"].source


@pytest.fixture(scope="module")
def criterion(occupations):
    return occupations.published


class TestParams:
    def test_nothing_but_one_domain_waits(self, instruments):
        unfinished = [
            instrument.name for instrument in instruments["paper"].values() if instrument.unfinished
        ]
        assert unfinished == ["countries-wikipedia"]  # its pages are to be fetched

    def test_every_model_is_pinned_or_can_be(self, params):
        for name, model in params.models.items():
            if model.lacks_commit:  # left out at the profile of the paper until `evenruler pin`
                assert model.profile == "paper", name
            elif model.scheme == "hub":
                assert re.fullmatch("[0-9a-f]{40}", model.revision), name
            elif model.is_file:
                assert re.fullmatch("[0-9a-f]{64}", model.sha256), name

    @pytest.mark.parametrize("family", FAMILIES)
    def test_every_instrument_has_a_file_and_every_file_an_instrument(self, instruments, family):
        """What evolves has that of what it evolves of."""
        declared = [*instruments["quick"].values(), *instruments["paper"].values()]
        written = {
            instrument.written.name for instrument in declared if instrument.family == family
        }
        assert written == {path.name for path in (SOURCES / family).glob("*.yaml")}

    def test_the_scale_of_the_paper_has_the_classifiers_of_saged(self, params, tmp_path):
        """Table 2: what a text scores that is all of one label; at the quick profile none of them
        is there."""
        pinned = Path(shutil.copy(ROOT / "params.yaml", tmp_path))
        pin_everything(pinned)
        quick, paper = (
            ParamsFile(pinned, profile).settings("countries").features
            for profile in ("quick", "paper")
        )
        unpinned = {name for name, model in params.models.items() if model.lacks_commit}
        of_table = {name: feature for name, feature in paper.items() if feature.model in unpinned}
        assert not [name for name, feature in quick.items() if feature.model in unpinned]
        bounds = {}
        for name, feature in of_table.items():
            scores = feature.score.values()
            bounds[name] = [feature.offset + min(scores), feature.offset + max(scores)]
        assert bounds.pop("regard") == [0, 2]
        assert set(map(tuple, bounds.values())) == {(0, 1)}
        assert len(bounds) == 11

    def test_text_of_others_is_that_of_one_domain_and_of_published_benchmarks(self, at_scale):
        published = [path.stem for path in (SOURCES / "external").glob("*.yaml")]
        assert set(at_scale["quick"].card_third_party) == {"ideologies", *published}

    def test_the_repository_is_in_step(self, params, at_scale):
        """`evenruler check` has been run: what is in use, and what DVC knows as artifacts."""
        active = ParamsFile(ROOT / "params.yaml").active
        assert active == at_scale[active.profile]
        assert (ROOT / "active.yaml").read_text() == render_active(active)
        assert read_yaml(ROOT / "dvc.yaml")["artifacts"] == artifacts_of(params.benchmarks)

    def test_changelogs_are_of_benchmarks_and_go_no_further_than_their_versions(self, params):
        files = list((SOURCES / "changelogs").glob("*.yaml"))
        assert {path.stem for path in files} <= set(params.benchmarks)
        for path in files:
            (newest, _), *_ = load_changelog(path).newest_first()
            assert version_key(newest) <= version_key(params.benchmarks[path.stem])


class TestControls:
    """Everything that says at `quick` how far a figure can be trusted is there at `paper`, too."""

    def test_the_same_families_ask_an_untrained_model(self, params, at_scale):
        families = {}
        for profile, active in at_scale.items():
            families[profile] = {
                entry.family
                for entry in active.ask.values()
                if params.models[entry.model].scheme == "untrained"
            }
        assert families["quick"] == families["paper"] == {"probes", "external"}

    def test_every_instrument_has_all_settings_and_no_smaller_ones(self, instruments):
        """Prefixes, placebos, twins, roles, features: paper has those of quick, and as many."""
        for name, quick in instruments["quick"].items():
            paper = instruments["paper"][name].settings.model_dump()
            for key, setting in quick.settings.model_dump().items():
                if isinstance(setting, dict):
                    assert setting.keys() <= paper[key].keys(), (name, key)
                elif isinstance(setting, int | float):
                    assert setting <= paper[key], (name, key)

    def test_every_tool_of_quick_is_used_at_paper(self, instruments):
        """Embedders, judges and classifiers, but those that make a source."""
        for name, quick in instruments["quick"].items():
            uses = [quick.uses, instruments["paper"][name].uses]
            tools, at_paper = ({use.model for use in listed if use.tool} for listed in uses)
            assert tools <= at_paper, name

    def test_the_same_fits_and_adapted_models_answer_questionnaires(self, params, at_scale):
        """Fits of one encoder that differ in their seed, and models that corpora move."""
        chosen = {}
        for profile, active in at_scale.items():
            names = active.families["questionnaires"].models
            chosen[profile] = {
                name
                for name in names
                if params.models[name].finetune or params.models[name].intervention
            }
        assert chosen["quick"] == {"mpnet-nli-a", "mpnet-nli-b", "mpnet-nli-c"}
        assert chosen["paper"] == {*chosen["quick"], "smollm3-3b"}

    def test_every_corpus_has_its_control(self, instruments):
        """At the profile of the paper, in each questionnaire; a file of tweets may be missing."""
        folder = SOURCES / "questionnaires/shared/corpora"
        corpora = {path.stem: read_yaml(path) for path in folder.glob("*.yaml")}
        controls = {
            name: corpus["matched"]["to"]
            for name, corpus in corpora.items()
            if corpus["role"] == "control"
        }
        assert sorted(controls.values()) == sorted(corpora.keys() - controls.keys())
        for instrument in instruments["paper"].values():
            if instrument.family == "questionnaires":
                assert instrument.settings.corpora.keys() == corpora.keys()
                assert instrument.settings.fits >= 6  # fewer have no p of .05

    def test_a_preset_of_each_family_has_the_settings_of_its_paper(self, instruments) -> None:
        """All else is as in the instrument whose source it has, which is built beside it."""
        paper = instruments["paper"]
        presets = {
            name.removesuffix("-as-published"): instrument.settings
            for name, instrument in paper.items()
            if name.endswith("-as-published")
        }
        families = {paper[f"{name}-as-published"].family for name in presets}
        assert families == {"probes", "questionnaires", "framing", "saged"}
        gender, gad_7 = presets["gender"], presets["gad-7"]
        assert (gender.variant, gender.mass, gender.calibrated) == ("paper", "first_token", False)
        assert gender.alternatives == gad_7.subjects == 0
        assert gad_7.three_way
        countries = presets["countries"]
        assert not any(feature.mask for feature in countries.features.values())
        assert countries.features.keys() == paper["countries-article"].settings.features.keys()
        assert list(countries.roles.values())[2:] == [
            f"Role-play {name}" for name in ("Joe Biden", "Donald Trump", "Kamala Harris")
        ]
        occupations = presets["occupation-gender"]
        assert (occupations.article, occupations.evolve.variant) == ("literal", "paper")

    def test_classifiers_of_ours_stand_beside_those_of_the_paper(self, instruments):
        features = instruments["paper"]["countries"].settings.features
        models = {feature.model for feature in features.values()}
        assert {"minilm-sentiment", "minilm-toxicity"} <= models

    def test_the_models_of_saged_are_declared_under_the_names_of_its_table(self, params):
        """Appendix D.2; `ours` in docs/papers.csv."""
        table = pd.read_csv(ROOT / "docs/papers.csv", keep_default_na=False)
        names = set(table["ours"][table["paper"] == "SAGED"]) - {""}
        assert names == {"gemma2-9b", "llama3-1-8b", "mistral-7b", "qwen2-7b"}
        for name in names:
            model = params.models[name]
            assert (model.families, model.chat, model.profile) == (["saged"], True, "paper")


class TestSimulatedChoices:
    """The two domains of our own, which have no criterion."""

    @pytest.fixture(params=["age-competence", "political-ideology-personality"])
    def source(self, request, instruments):
        return instruments["quick"][request.param].source

    def test_placebos_are_as_long_as_cues(self, source):
        framings = source.prefixes
        cues = [len(text.split()) for text in (framings.salience, framings.instruction)]
        assert len(framings.placebos) == 5
        placebos = [len(text.split()) for text in framings.placebos]
        assert min(cues) <= min(placebos)
        assert max(placebos) <= max(cues) + 2


class TestEvolution:
    @pytest.fixture
    def evolving(self, instruments):
        """By profile, the instruments of probes that evolve."""
        return {
            profile: [
                instrument
                for instrument in declared.values()
                if instrument.family == "probes" and instrument.settings.evolve
            ]
            for profile, declared in instruments.items()
        }

    def test_it_evolves_as_the_paper_does(self, evolving):
        """PMPO, table 5."""
        for instrument in evolving["paper"]:
            evolve = instrument.settings.evolve
            assert tuple(evolve.weights.model_dump().values()) == (0.2, 0.1, 0.4, 0.3)
            assert (evolve.generations, evolve.tournament, evolve.guided) == (10, 3, (0.5, 0.9))
            assert evolve.ablation


class TestCriterion:
    @pytest.mark.parametrize(
        ("slug", "men"),
        [("engineer", 85.2), ("receptionist", 10.0), ("mechanic", 97.6), ("ceo", 70.9)],
    )
    def test_counts_men(self, criterion, slug, men):
        # 100 - 14.8, 90.0, 2.4 and 29.1 percent of women in table 11 of 2021.
        assert criterion.label == "men among the employed (%)"
        assert criterion.values[slug] == men


@pytest.mark.parametrize(
    "domain", ["occupation-gender", "age-competence", "political-ideology-personality"]
)
def test_the_triple_that_the_paper_prints_is_a_set_with_its_source(instruments, domain) -> None:
    triple = instruments["quick"][domain].source.sets["table-4"]
    assert list(triple.templates) == ["non-expert", "evolved", "human-expert"]
    assert triple.source == "Wang et al., PMPO, table 4"
