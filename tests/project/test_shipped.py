"""What the repository itself declares."""

import re
from collections import Counter
from pathlib import Path

import pytest

from evenruler.declaration.active import DeclaredInstrument, compute_active, instruments_at
from evenruler.declaration.generated import artifacts_of, render_active
from evenruler.declaration.params import load_params
from evenruler.declaration.params_file import ParamsFile
from evenruler.instruments.registry import FAMILIES
from evenruler.strict import read_yaml
from evenruler.versions import load_changelog, version_key

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "data" / "sources"

OF_PMPO = [
    "smollm3-3b",
    "qwen3-4b",
    "gemma-2-2b",
    "granite-3-3-2b-instruct",
    "llama-3-2-3b",
    "phi-3-mini-4k-instruct",
    "phi-4-mini-instruct",
    "falcon-h1-3b-base",
]
OF_FRAMINGS = [
    "mistral-small-instruct-2409",
    "llama-3-1-8b",
    "vicuna-13b-v1-5",
    "qwen2-5-14b-instruct",
    "qwen2-5-32b-instruct",
    "flan-t5-base",
    "flan-t5-large",
    "flan-t5-xl",
    "flan-t5-xxl",
]


@pytest.fixture(scope="module")
def params():
    return load_params(ROOT / "params.yaml")


@pytest.fixture(scope="module")
def at_scale():
    """What is in use at each scale."""
    return {
        scale: compute_active(
            instruments_at(ROOT, ROOT / "params.yaml", scale), ROOT / "params.yaml", scale
        )
        for scale in ("quick", "paper")
    }


@pytest.fixture(scope="module")
def instruments() -> dict[str, dict[str, DeclaredInstrument]]:
    """By scale and name, settings and sources read and checked."""
    return {
        scale: {own.name: own for own in instruments_at(ROOT, ROOT / "params.yaml", scale)}
        for scale in ("quick", "paper")
    }


@pytest.fixture(scope="module")
def occupations(instruments):
    return instruments["quick"]["occupation-gender"].source


@pytest.fixture(scope="module")
def criterion(occupations):
    return occupations.published


class TestParams:
    @pytest.mark.parametrize("family", ["probes", "framing", "saged"])
    def test_the_quick_scale_has_the_models_inside_packages(self, at_scale, family):
        untrained = ["untrained-smollm2"] if family == "probes" else []
        assert at_scale["quick"].families[family].models == [
            "smollm2-135m-instruct",
            "gemma-3-270m",
            *untrained,
        ]

    def test_the_scale_of_the_paper_has_the_models_of_the_papers(self, at_scale):
        """Eight of PMPO; of framings five of its six and four of Flan-T5. The sixth brings code
        along."""
        families = at_scale["paper"].families
        assert families["probes"].models == OF_PMPO
        assert families["framing"].models == [*OF_PMPO, *OF_FRAMINGS]

    def test_features_wait_for_the_commits_of_their_classifiers_and_domains_do_not(
        self, at_scale, instruments
    ):
        domains = ["countries", "fruit", "ideologies", "countries-article"]
        assert at_scale["paper"].families["saged"].instruments == domains
        assert at_scale["paper"].families["saged"].models == OF_PMPO
        classifiers = ["multilingual-sentiments-student", "regard-v3", "stereotype-deberta-v3-base"]
        for name in domains:
            own = instruments["paper"][name].settings
            assert list(own.features) == ["vader", "sentiment", "distance", "topics"]
            assert own.waiting.startswith("sentiment-student, regard, ")
            assert all(
                classifier in own.waiting
                for classifier in [*classifiers, "edit-personality", "toxic-bert"]
            )
        unfinished = [own.name for own in instruments["paper"].values() if own.unfinished]
        assert unfinished == ["countries-wikipedia"]  # its pages are to be fetched

    def test_every_model_is_pinned(self, params):
        for name, entry in params.models.items():
            if entry.lacks_commit:  # left out at the scale of the paper, and asked for
                assert entry.scale == "paper", name
            elif entry.scheme == "hub":
                assert re.fullmatch("[0-9a-f]{40}", entry.revision), name
            elif entry.is_file:
                assert re.fullmatch("[0-9a-f]{64}", entry.sha256), name

    def test_questionnaires_are_asked_of_those_that_tell_what_entails_what(self, at_scale):
        ours = ["mpnet-nli-a", "mpnet-nli-b", "mpnet-nli-c"]
        assert {
            scale: set(active.families["questionnaires"].models)
            for scale, active in at_scale.items()
        } == {
            "quick": {*ours},
            "paper": {*ours, *OF_PMPO},
        }

    @pytest.mark.parametrize("family", FAMILIES)
    def test_every_instrument_has_a_file_and_every_file_an_instrument(self, instruments, family):
        """What evolves has that of what it evolves of."""
        written = {
            own.written.name
            for found in instruments.values()
            for own in found.values()
            if own.family == family
        }
        assert written == {path.name for path in (SOURCES / family).glob("*.yaml")}

    def test_the_scale_of_the_paper_has_the_classifiers_of_saged(self, params, tmp_path):
        """Table 2: what a text scores that is all of one label; at the quick scale none of them is
        there."""
        given = tmp_path / "params.yaml"
        given.write_text((ROOT / "params.yaml").read_text().replace("to be given", "a" * 40))
        quick, paper = (
            ParamsFile(given, scale).settings("countries").features for scale in ("quick", "paper")
        )
        open_commits = {name for name, entry in params.models.items() if entry.lacks_commit}
        of_table = {name: own for name, own in paper.items() if own.model in open_commits}
        assert not [name for name, own in quick.items() if own.model in open_commits]
        assert {name: own.offset + max(own.score.values()) for name, own in of_table.items()} == {
            "sentiment-student": 1,
            "regard": 2,
            "toxic-bert": 1,
            **{f"stereotype-{of}": 1 for of in ("gender", "religion", "profession", "race")},
            **dict.fromkeys(
                ["extraversion", "neuroticism", "agreeableness", "conscientiousness", "openness"], 1
            ),
        }
        lowest = {name: own.offset + min(own.score.values()) for name, own in of_table.items()}
        assert set(lowest.values()) == {0}
        chosen = {
            name: [label for label, weight in own.score.items() if weight == 1]
            for name, own in of_table.items()
        }
        assert (chosen["stereotype-race"], chosen["openness"]) == (
            ["stereotype_race"],
            ["openness"],
        )

    def test_text_of_others_is_that_of_one_domain_and_of_published_benchmarks(self, at_scale):
        published = [path.stem for path in (SOURCES / "fixed").glob("*.yaml")]
        assert set(at_scale["quick"].card_of_others) == {"ideologies", *published}

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

    def test_the_templates_of_the_paper_keep_their_articles(self, instruments):
        settings = instruments["quick"]["occupation-gender"].settings
        assert (settings.article_of("validation"), settings.article_of("seed")) == (
            "literal",
            "agree",
        )


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
        scored = {name: len(entry.scored) for name, entry in occupations.sets.items()}
        assert scored == {"validation": 8, "seed": 8, "validation-negated": 5}

    def test_the_template_that_is_keyed_the_other_way_is_a_control(self, occupations):
        turned = [
            (name, slug, template.control)
            for name, entry in occupations.sets.items()
            for slug, template in entry.templates.items()
            if template.keying == -1 or template.control
        ]
        negated = ("not-typical", "not-employed", "not-primary-role", "not-common", "not-story")
        assert turned == [
            ("seed", "odd", True),
            *(("validation-negated", slug, True) for slug in negated),
        ]

    def test_who_wrote_what_under_which_licence(self, occupations):
        assert occupations.licence == "cc-by-4.0"
        assert (occupations.sets["seed"].source, occupations.sets["seed"].licence) == (
            "Even Ruler",
            "apache-2.0",
        )


class TestSimulatedChoices:
    """The two domains of our own, which have no criterion."""

    @pytest.fixture(params=["age-competence", "political-ideology-personality"])
    def source(self, request, instruments):
        return instruments["quick"][request.param].source

    def test_as_large_as_is_said(self, source):
        assert len(source.attributes) == (32 if source.title.startswith("Age") else 24)
        assert min(len(source.keys.high), len(source.keys.low)) >= 8
        assert {len(nouns) for nouns in source.placebos} == {3}
        assert len(source.placebos) == 12
        assert [len(words) for words in source.targets.values()] == [6, 6]
        assert {name: len(entry.scored) for name, entry in source.sets.items()} == {"seed": 8}

    def test_the_template_that_is_keyed_the_other_way_is_a_control(self, source):
        templates = source.sets["seed"].templates.values()
        assert [(template.keying, template.control) for template in templates] == [
            (1, False)
        ] * 8 + [(-1, True)]

    def test_placebos_are_as_long_as_cues(self, source):
        framings = source.framings
        cues = [len(text.split()) for text in (framings.salience, framings.instruction)]
        assert len(framings.placebos) == 5
        assert all(min(cues) <= len(text.split()) <= max(cues) + 2 for text in framings.placebos)

    def test_nobody_published_numbers_for_it(self, source):
        assert source.published is None
        assert (source.source, source.licence) == ("Even Ruler", "apache-2.0")


class TestEvolution:
    @pytest.fixture
    def evolving(self, instruments):
        """By scale, the instruments of probes that evolve."""
        return {
            scale: [own for own in found.values() if own.family == "probes" and own.settings.evolve]
            for scale, found in instruments.items()
        }

    def test_the_quick_scale_evolves_one_domain_and_the_paper_s_all(self, instruments, evolving):
        written = [own.name for own in instruments["paper"].values() if own.family == "probes"]
        every = [name for name in written if not name.endswith("-evolved")]
        assert [own.settings.evolve.of for own in evolving["quick"]] == ["occupation-gender"]
        assert [own.settings.evolve.of for own in evolving["paper"]] == every
        assert all(own.name == f"{own.settings.evolve.of}-evolved" for own in evolving["paper"])

    def test_every_domain_starts_with_eight_templates_and_keeps_four(self, evolving):
        for own in evolving["paper"]:
            evolve = own.settings.evolve
            assert (evolve.start, len(own.source.sets["seed"].scored), evolve.elites) == (
                "seed",
                8,
                4,
            )

    def test_it_asks_models_of_its_scale(self, at_scale, evolving):
        for scale, found in evolving.items():
            for own in found:
                asked = {own.settings.evolve.model, own.settings.evolve.operator}
                assert asked <= set(at_scale[scale].families["probes"].models)

    def test_it_evolves_as_the_paper_does(self, evolving):
        """PMPO, table 5."""
        for own in evolving["paper"]:
            evolve = own.settings.evolve
            assert tuple(evolve.weights.model_dump().values()) == (0.2, 0.1, 0.4, 0.3)
            assert (evolve.generations, evolve.tournament, evolve.guided) == (10, 3, (0.5, 0.9))
            assert evolve.ablation


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
        ("slug", "men"),
        [("engineer", 85.2), ("receptionist", 10.0), ("mechanic", 97.6), ("ceo", 70.9)],
    )
    def test_counts_men(self, criterion, slug, men):
        # 100 - 14.8, 90.0, 2.4 and 29.1 percent of women in table 11 of 2021.
        assert criterion.label == "men among the employed (%)"
        assert criterion.values[slug] == men


class TestFramings:
    def test_every_set_of_probes_and_questionnaire_has_its_own(self, instruments):
        framings = {
            own.written: own.source.framings
            for own in instruments["paper"].values()
            if own.family in ("probes", "questionnaires")
        }
        assert len(framings) == 10
        assert None not in framings.values()
        assert set(Counter(entry.salience for entry in framings.values()).values()) == {1}
