"""Questionnaires asked in several forms, from the templates to the figures, with tiny random models
in this process."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from ruamel.yaml import YAML

from evenruler.declaration.params import load_params
from evenruler.instruments.questionnaires import two_way_of_logs
from evenruler.instruments.questionnaires.ask.questions import locate_intensifiers, prefixed_rows
from evenruler.models import WordInPlace, load
from stages import agree, ask, card, diagnose, report
from stages import rows as rows_stage
from stages.files import plan_of, read_subject, read_tables
from tests.profiles import set_profile
from tests.stages.conftest import short_pairs
from tests.tiny import save_tiny, save_tiny_masked, tiny_declaration

SOURCES, ANSWERS = Path("data/sources/questionnaires"), Path("data/answers/questionnaires")
ITEMS = {
    "promises": ("When people make a promise, they {TERM} it.", "They {INTENSIFIER} do so."),
    "chance": ("A stranger is {TERM} by me.", "{INTENSIFIER} that is so."),
    "wallet": (
        "A wallet that I found is {TERM} by me {INTENSIFIER}, in the street.",
        "That is so.",
    ),
}
WORDS = {"never": (1, -2.0), "very rarely": (2, -1.0), "always": (3, 2.0)}
TERMS = {"source": ["kept", "held"], "inverse": ["lost", "broken"]}


def write(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    YAML(typ="safe", pure=True).dump(content, path)


def write_sources(items: dict[str, tuple[str, str]]) -> None:
    """A questionnaire `trust`, its scale and a corpus, under `data/sources` here."""
    declared = {
        "title": "Trust",
        "construct": "trust",
        "direction": "positive means more trust",
        "original": {"name": "Trust", "licence": "cc0-1.0", "reference": "ours", "wording": "held"},
        "source": "ours",
        "licence": "cc0-1.0",
        "scale": "short",
        "framings": {"salience": "This is a test.", "instruction": "Answer:"},
        "items": {
            slug: {
                "original": f"How often {slug}?",
                "premise": premise,
                "hypothesis": hypothesis,
                "terms": TERMS,
            }
            for slug, (premise, hypothesis) in items.items()
        },
    }
    levels = [{"weight": weight, "words": [word]} for word, (_, weight) in WORDS.items()]
    write(SOURCES / "trust.yaml", declared)
    write(
        SOURCES / "shared/scales/short.yaml", {"title": "Short", "source": "ours", "levels": levels}
    )
    corpus = {
        "title": "Calm",
        "about": "calm",
        "role": "intervention",
        "expect": {"trust": "up"},
        "source": "ours",
        "licence": "cc0-1.0",
        "provenance": "ours",
        "sentences": [
            f"The man is at {place}, and that is a fact."
            for place in ("sea", "home", "work", "rest")
        ],
    }
    write(SOURCES / "shared/corpora/calm.yaml", corpus)
    short_pairs(SOURCES / "shared/pairs")


def declare(folder: Path) -> dict[str, Any]:
    """`causal` answers by verbaliser and by sentence, and is adapted; `masked` by mlm."""
    declared = tiny_declaration({"causal": save_tiny(folder / "causal", chat=True)})
    declared["models"]["causal"] |= {"forms": ["verbaliser", "sentence"], "intervention": "last"}
    masked = save_tiny_masked(folder / "masked")
    declared["models"]["masked"] = {
        "kind": "masked",
        "source": f"local:{masked}",
        "licence": "cc0-1.0",
        "origin": "tests.tiny",
    }
    declared["instruments"] = {"trust": {"family": "questionnaires"}}
    declared["families"]["questionnaires"] |= {
        "accuracy": 0.01,  # what a random model reaches
        "accuracy_pairs": 30,
        "prefixed": {"trial": 3, "standard": 3, "paper": 9},
        "corpora": {"calm": {"epochs": {"quick": 1, "paper": 1}}},
    }
    return declared


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which the stages of the questionnaires were run; the working directory
    meanwhile."""
    folder = tmp_path_factory.mktemp("forms")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("EVENRULER_CACHE", str(folder / "cache"))
        write(folder / "params.yaml", declare(folder))
        write_sources(ITEMS)
        set_profile(Path(), "quick")
        rows_stage.main("trust")
        ask.main("questionnaires", "causal")
        ask.main("questionnaires", "masked")
        diagnose.main("questionnaires")
        agree.main()
        card.main("trust")
        report.main()
        yield folder


@pytest.fixture
def answers(built: Path) -> Callable[[str, str], pd.DataFrame]:
    """How likely a model as it is takes the intensifiers in a form, with the prompts."""
    prompts = pd.read_parquet(built / "data/built/questionnaires/trust/prompts.parquet")

    def of(model: str, form: str) -> pd.DataFrame:
        return (
            answered(model, "likelihoods").query("configuration == @form").merge(prompts, on="id")
        )

    return of


def answered(model: str, table: str) -> pd.DataFrame:
    """What a model answered as it is, before any epoch."""
    return pd.read_parquet(ANSWERS / model / f"{table}.parquet").query("corpus == ''")


@pytest.fixture
def diagnosed(built: Path) -> Callable[[str], pd.DataFrame]:
    return lambda table: pd.read_parquet(
        built / f"data/diagnosis/questionnaires/tables/{table}.parquet"
    )


def expected_place(row: pd.Series) -> WordInPlace:
    """Where the word stands, found by itself: it is in no template."""
    text, word = f"{row['premise']} {row['hypothesis']}", row["intensifier"].replace("-", " ")
    found = word if word in text else word.capitalize()
    before, after = text.split(found)
    return WordInPlace(before, found, after)


class TestAnswers:
    def test_each_form_has_its_rows(self, built: Path) -> None:
        n = len(ITEMS) * 4 * len(WORDS)
        framed = 3 * n
        found = {
            model: {
                table: answered(model, table).groupby("configuration").size().to_dict()
                for table in ("entailment", "likelihoods")
            }
            for model in ("causal", "masked")
        }
        assert found == {
            "causal": {"entailment": {"verbaliser": n + framed}, "likelihoods": {"sentence": n}},
            "masked": {"entailment": {}, "likelihoods": {"mlm": n}},
        }
        for model in found:
            subject = read_subject(built / ANSWERS / model)
            assert (subject.name, subject.lineage) == (model, model)

    def test_after_prefixes_items_of_the_scale_are_asked_by_verbaliser(self, built: Path) -> None:
        prompts = read_tables("questionnaires", "trust")["prompts"]
        framed = prefixed_rows(prompts, plan_of("questionnaires", "trust"))
        rows = framed.merge(answered("causal", "entailment"), on="id")
        assert rows.groupby(["framing", "item"]).size().to_dict() == {
            (framing, item): 4 * len(WORDS)
            for framing in ("instruction", "salience", "salience+instruction")
            for item in ITEMS
        }
        pairs = list(zip(rows["premise"], rows["hypothesis"], strict=True))
        model = load("causal", load_params())
        expected = model.entailment(pairs, before=rows["before"].tolist())[:, 0]
        assert rows["entailment"].tolist() == pytest.approx(expected.tolist(), abs=1e-4)
        assert abs(expected - model.entailment(pairs)[:, 0]).min() > 1e-4

    def test_of_a_masked_model_are_of_the_intensifier_in_its_place(self, answers) -> None:
        rows = answers("masked", "mlm")
        places = [expected_place(row) for _, row in rows.iterrows()]
        assert rows["nats"].tolist() == pytest.approx(
            load("masked", load_params()).in_place(places), abs=1e-4
        )
        words = {place.word for place in places}
        assert words == {"never", "very rarely", "always", "Never", "Very rarely", "Always"}

    def test_by_sentence_are_of_premise_and_hypothesis_as_one_text(self, answers) -> None:
        rows = answers("causal", "sentence")
        model = load("causal", load_params())
        found = model.loglikelihood((rows["premise"] + " " + rows["hypothesis"]).tolist())
        assert rows["nats"].tolist() == pytest.approx(found.nats.tolist(), abs=1e-4)
        assert rows["tokens"].tolist() == found.tokens.tolist()

    def test_facts_are_asked_as_items_are(self, built: Path) -> None:
        facts = plan_of("questionnaires", "trust")["accuracy"]["facts"]
        for model, form in (("causal", "sentence"), ("masked", "mlm")):
            rows = pd.read_parquet(built / ANSWERS / model / "known_answers.parquet")
            assert set(rows["configuration"]) == {form}
            assert len(rows) == len(facts) * 2 * len(WORDS)
        causal = pd.read_parquet(built / ANSWERS / "causal" / "known_answers.parquet")
        rows = causal.query("fact == 0 and term == 'wrong'").set_index("word")["nats"]
        said = facts[0]["template"].replace("{t}", facts[0]["wrong"]).replace("{i}", "never")
        assert rows["never"] == pytest.approx(
            load("causal", load_params()).loglikelihood([said]).nats[0], abs=1e-4
        )


class TestFigures:
    @pytest.mark.parametrize(("model", "form"), [("causal", "sentence"), ("masked", "mlm")])
    def test_scores_are_those_of_the_probabilities(self, model, form, answers, diagnosed) -> None:
        rows = answers(model, form).query("item == 'wallet'")
        matrix = rows.pivot(
            index=["polarity", "term"], columns=["level", "weight"], values="nats"
        ).sort_index(axis=1)
        pss = two_way_of_logs(matrix.to_numpy())
        source = matrix.index.get_level_values("polarity") == "source"
        expected = (pss[source] * [-2.0, -1.0, 2.0]).mean()
        items = diagnosed("items").query(
            "model == @model and configuration == @form and item == 'wallet'"
        )
        assert items["score"].tolist() == pytest.approx([expected], abs=1e-12)

    def test_forms_are_rows_of_their_own(self, diagnosed) -> None:
        forms = {
            ("causal", "causal", "verbaliser"),
            ("causal", "causal", "sentence"),
            ("masked", "masked", "mlm"),
        }
        for table in ("cells", "items", "scales", "population"):
            rows = diagnosed(table)
            assert (
                set(rows[["model", "kind", "configuration"]].itertuples(index=False, name=None))
                == forms
            ), table
        assert len(diagnosed("population")) == 3

    def test_figures_of_models_name_the_form(self, diagnosed) -> None:
        names = {"causal", "causal (sentence)", "masked (mlm)"}
        for table in ("figures", "quality"):
            assert set(diagnosed(table)["model"].dropna()) == names, table
        figures = diagnosed("figures").query("model.notna()")
        each = {"answer", "beyond_twins", "intensifier_order", "level_shift", "pss_range"}
        each |= {"reordering", "silhouette"}
        adapted = {"changed_with_calm", "moved_by_calm"}
        told = {"accuracy", "accuracy_of_statements", "auc", "auc_of_statements"}
        assert figures.groupby("model")["figure"].apply(set).to_dict() == {
            "causal": each | adapted | told,
            "causal (sentence)": each | adapted | {"accuracy"},
            "masked (mlm)": each | {"accuracy"},
        }
        answer = figures.query("figure == 'answer'").set_index("model")["value"]
        assert answer.nunique() == 3

    def test_shifts_are_of_the_verbaliser_alone(self, diagnosed) -> None:
        rows = diagnosed("figures").query("figure == 'level_shift'").set_index("model")
        assert rows["value"].notna().to_dict() == {
            "causal": True,
            "causal (sentence)": False,
            "masked (mlm)": False,
        }
        assert (rows.loc["causal", "n"], rows.loc["causal", "unit"]) == (3, "items")
        assert rows.loc["causal", "value"] > 0
        assert set(diagnosed("items")["framing"]) == set(diagnosed("cells")["framing"]) == {"bare"}

    def test_the_population_does_not_mix_measures(self, diagnosed) -> None:
        rows = diagnosed("figures").query("model.isna()").set_index("figure")
        assert rows.loc["alpha (verbaliser)", "n"] == 1
        counts = diagnosed("population").set_index("configuration")["member"]
        for form in (
            "sentence",
            "mlm",
        ):  # as far as the facts are known, which random models may be lucky in
            assert rows.loc[f"alpha ({form})", "n"] == counts[form]

    def test_an_adaptation_is_followed_in_both_forms(self, built: Path, diagnosed) -> None:
        figures = (
            diagnosed("figures").drop_duplicates(["figure", "model"]).set_index(["figure", "model"])
        )
        rows = diagnosed("trajectories").set_index(["configuration", "epoch"])["answer"]
        assert set(rows.index) == {
            (form, epoch) for form in ("sentence", "verbaliser") for epoch in (0, 1)
        }
        for form, name in (("sentence", "causal (sentence)"), ("verbaliser", "causal")):
            changed = figures.loc[("changed_with_calm", name)]
            assert changed["value"] == pytest.approx(rows[form, 1] - rows[form, 0], abs=1e-12)
            assert figures.loc[("moved_by_calm", name), "reason"] == "no corpus that is its control"
        assert diagnosed("changes").empty

    def test_shifts_stand_in_evidence_and_on_the_card(self, built: Path) -> None:
        evidence = json.loads((built / "benchmarks/questionnaires-trust/evidence.json").read_text())
        card = (built / "benchmarks/questionnaires-trust/README.md").read_text()
        assert '"level_shift"' in json.dumps(evidence)
        assert 'put after "This is a test." and "Answer:", each alone and both.' in card
        assert "| level shift | reordering |" in card

    def test_card_and_report_have_them_apart(self, built: Path) -> None:
        card = (built / "benchmarks/questionnaires-trust/README.md").read_text()
        page = (built / "data/report/index.html").read_text()
        for name in ("causal", "causal (sentence)", "masked (mlm)"):
            assert f"\n| {name} | " in card
            assert f"\n- {name}: tests.tiny; cc0-1.0\n" in card
            assert name in page


class TestPlaced:
    @pytest.mark.parametrize(
        ("templates", "filled", "expected"),
        [
            (
                ("I am {TERM}.", "It is {INTENSIFIER} so."),
                ("I am calm.", "It is very rarely so."),
                ("I am calm. It is ", "very rarely", " so."),
            ),
            (
                ("I am {TERM}.", "{INTENSIFIER} I am."),
                ("I am calm.", "Often I am."),
                ("I am calm. ", "Often", " I am."),
            ),
            (
                ("I am {TERM} {INTENSIFIER}, I say.", "So it is."),
                ("I am calm never, I say.", "So it is."),
                ("I am calm ", "never", ", I say. So it is."),
            ),
            (
                ("It is an {INTENSIFIER} seen thing.", "That is a {TERM} thing."),
                ("It is a rarely seen thing.", "That is a calm thing."),
                ("It is a ", "rarely", " seen thing. That is a calm thing."),
            ),
        ],
    )
    def test_by_hand(self, templates, filled, expected) -> None:
        prompt = {
            "item": "i",
            "twin": 0,
            "term": "t",
            "premise": filled[0],
            "hypothesis": filled[1],
            "variant": "agree",
        }
        tables = {
            "prompts": pd.DataFrame([prompt]),
            "items": pd.DataFrame(
                [{"item": "i", "twin": 0, "premise": templates[0], "hypothesis": templates[1]}]
            ),
            "terms": pd.DataFrame([{"item": "i", "twin": 0, "term": "t", "word": "calm"}]),
        }
        assert locate_intensifiers(tables) == dict(
            zip(("before", "word", "after"), ([part] for part in expected), strict=True)
        )


class TestOrder:
    @pytest.fixture
    def turned(self, tmp_path, monkeypatch) -> None:
        """A place where the intensifier of the only item stands before its term."""
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("EVENRULER_CACHE", str(tmp_path / "cache"))
        write(tmp_path / "params.yaml", declare(tmp_path))
        write_sources({"turned": ("I {INTENSIFIER} think so.", "People {TERM} it.")})
        set_profile(Path(), "quick")
        rows_stage.main("trust")

    def test_mlm_is_not(self, turned) -> None:
        ask.main("questionnaires", "masked")
        rows = answered("masked", "likelihoods")
        assert (len(rows), np.isfinite(rows["nats"]).all()) == (12, True)
        assert rows["nats"].nunique() == 12  # the term behind it is read
