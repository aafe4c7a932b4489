"""What the repository itself declares."""

import re
from pathlib import Path

import pytest

from evenruler.instruments.probes.criterion import read_criterion
from evenruler.instruments.probes.evolve.settings import require_start
from evenruler.instruments.probes.source import load_probe_source
from evenruler.instruments.questionnaires.source import load_questionnaire
from evenruler.project.params import load_params
from evenruler.publish.versions import load_changelog, version_key
from evenruler.strict import read_yaml

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "data" / "sources"


@pytest.fixture(scope="module")
def params():
    return load_params(ROOT / "params.yaml")


@pytest.fixture(scope="module")
def occupations(params):
    path = SOURCES / "probes" / "occupation-gender.yaml"
    return load_probe_source(path, params.probes["occupation-gender"])


@pytest.fixture(scope="module")
def criterion(occupations):
    return read_criterion(occupations, SOURCES / "criteria")


class TestParams:
    def test_the_quick_scale_has_the_models_inside_packages(self, params):
        assert params.in_use("quick") == ["smollm2-135m-instruct", "gemma-3-270m"]

    def test_the_scale_of_the_paper_has_its_eight_models(self, params):
        assert params.in_use("paper") == [
            "smollm3-3b",
            "qwen3-4b",
            "gemma-2-2b",
            "granite-3-3-2b-instruct",
            "llama-3-2-3b",
            "phi-3-mini-4k-instruct",
            "phi-4-mini-instruct",
            "falcon-h1-3b-base",
        ]

    def test_every_model_is_pinned(self, params):
        for name, entry in params.models.items():
            if entry.scheme == "hub":
                assert re.fullmatch("[0-9a-f]{40}", entry.revision), name
            elif entry.is_file:
                assert re.fullmatch("[0-9a-f]{64}", entry.sha256), name

    def test_every_domain_has_a_file_and_every_file_a_domain(self, params):
        assert set(params.probes) == {path.stem for path in (SOURCES / "probes").glob("*.yaml")}

    def test_dvc_knows_the_benchmarks_as_artifacts(self, params):
        """Those that the scale in use builds."""
        others = {f"probes-{name}-evolved" for name in params.evolve if name not in params.active.evolved}
        assert others < set(params.benchmarks)
        assert read_yaml(ROOT / "dvc.yaml")["artifacts"] == {
            name: {
                "path": f"benchmarks/{name}",
                "type": "dataset",
                "desc": f"Rows, card, manifest and evidence of {name}",
                "labels": [declared.section, "bias", "language-models"],
            }
            for name, declared in params.benchmarks.items()
            if name not in others
        }

    def test_changelogs_are_of_benchmarks_and_go_no_further_than_their_versions(self, params):
        files = list((SOURCES / "changelogs").glob("*.yaml"))
        assert {path.stem for path in files} <= set(params.benchmarks)
        for path in files:
            (newest, _), *_ = load_changelog(path).newest_first()
            assert version_key(newest) <= version_key(params.benchmarks[path.stem].version)

    def test_the_templates_of_the_paper_keep_their_articles(self, params):
        settings = params.probes["occupation-gender"]
        assert (settings.article_of("validation"), settings.article_of("seed")) == ("literal", "agree")


class TestOccupations:
    def test_fifty_attributes(self, occupations):
        assert len(occupations.attributes) == 50
        assert list(occupations.attributes)[:3] == ["technician", "accountant", "supervisor"]
        assert list(occupations.attributes.values())[-2:] == ["CEO", "chief"]

    def test_six_targets_a_group(self, occupations):
        assert {group: list(words.values()) for group, words in occupations.targets.items()} == {
            "men": ["man", "male", "he", "boy", "brother", "son"],
            "women": ["woman", "female", "she", "girl", "sister", "daughter"],
        }

    def test_eight_templates_a_set(self, occupations):
        assert {name: len(entry.templates) for name, entry in occupations.sets.items()} == {"validation": 8, "seed": 8}

    def test_one_template_is_keyed_the_other_way(self, occupations):
        turned = [
            (name, slug)
            for name, entry in occupations.sets.items()
            for slug, template in entry.templates.items()
            if template.keying == -1
        ]
        assert turned == [("seed", "odd")]

    def test_who_wrote_what_under_which_licence(self, occupations):
        assert occupations.licence == "cc-by-4.0"
        assert (occupations.sets["seed"].source, occupations.sets["seed"].licence) == ("Even Ruler", "apache-2.0")


class TestSimulatedChoices:
    """The two domains of our own, which have no criterion."""

    @pytest.fixture(params=["age-competence", "political-ideology-personality"])
    def source(self, request, params):
        return load_probe_source(SOURCES / "probes" / f"{request.param}.yaml", params.probes[request.param])

    def test_as_large_as_is_said(self, source):
        assert len(source.attributes) == 24
        assert [len(words) for words in source.targets.values()] == [4, 4]
        assert {name: len(entry.templates) for name, entry in source.sets.items()} == {"seed": 8}

    def test_one_template_is_keyed_the_other_way(self, source):
        assert [template.keying for template in source.sets["seed"].templates.values()] == [1] * 7 + [-1]

    def test_nobody_published_numbers_for_it(self, source):
        assert read_criterion(source, SOURCES / "criteria") is None
        assert (source.source, source.licence) == ("Even Ruler", "apache-2.0")


class TestEvolution:
    def test_the_quick_scale_evolves_one_domain_and_the_paper_s_all(self, params):
        assert params.evolving("quick") == ["occupation-gender"]
        assert params.evolving("paper") == list(params.probes)

    def test_every_domain_starts_with_eight_templates_and_keeps_four(self, params):
        for name, settings in params.evolve.items():
            source = load_probe_source(SOURCES / "probes" / f"{name}.yaml", params.probes[name])
            require_start(name, settings, source, ROOT / "params.yaml")
            assert (settings.start, len(source.sets["seed"].templates), settings.elites) == ("seed", 8, 4)

    def test_it_asks_models_of_its_scale(self, params):
        for settings in params.evolve.values():
            for scale in ("quick", "paper"):
                assert {settings.model[scale], settings.operator[scale]} <= set(params.in_use(scale))

    def test_it_evolves_as_the_paper_does(self, params):
        """PMPO, table 5."""
        for settings in params.evolve.values():
            assert tuple(settings.weights.model_dump().values()) == (0.2, 0.1, 0.4, 0.3)
            assert (settings.generations["paper"], settings.tournament, settings.guided) == (10, 3, (0.5, 0.9))
            assert settings.ablation["paper"]


class TestCriterion:
    def test_figures(self, criterion):
        assert len(criterion.values) == 50
        assert sum(value is not None for value in criterion.values.values()) == 43

    def test_matches(self, criterion):
        matches = list(criterion.matches.values())
        assert {match: matches.count(match) for match in ("exact", "group", "none")} == {
            "exact": 21,
            "group": 22,
            "none": 7,
        }

    def test_the_seven_without_a_figure(self, criterion):
        assert [slug for slug, value in criterion.values.items() if value is None] == [
            "apprentice",
            "historian",
            "poet",
            "performer",
            "dancer",
            "actor",
            "chief",
        ]

    @pytest.mark.parametrize(
        ("slug", "men"), [("engineer", 85.2), ("receptionist", 10.0), ("mechanic", 97.6), ("ceo", 70.9)]
    )
    def test_counts_men(self, criterion, slug, men):
        # 100 - 14.8, 90.0, 2.4 and 29.1 percent of women in table 11 of 2021.
        assert criterion.label == "men among the employed (%)"
        assert criterion.values[slug] == men


class TestFramings:
    def test_every_domain_and_questionnaire_has_its_own(self, params):
        probes = [
            load_probe_source(SOURCES / "probes" / f"{name}.yaml", entry) for name, entry in params.probes.items()
        ]
        scales = [
            load_questionnaire(SOURCES / "questionnaires" / f"{name}.yaml", SOURCES / "scales")[0]
            for name in params.questionnaires
        ]
        framings = [source.framings for source in (*probes, *scales)]
        assert None not in framings
        assert len({entry.salience for entry in framings}) == len(framings)
