"""Questionnaires asked by several methods, from the templates to the figures, with tiny random
models in this process."""

import json
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from ruamel.yaml import YAML

from evenruler.declaration.params import load_params
from evenruler.instruments.questionnaires import two_way_of_logs
from evenruler.instruments.questionnaires.ask.questions import locate_intensifiers, prefixed_rows
from evenruler.models import WordInPlace, load
from stages import agree, ask, card, diagnose, report
from stages import rows as rows_stage
from stages.files import KNOWN, plan_of, read_tables
from tests.profiles import set_profile
from tests.stages.conftest import ROOT, short_pairs
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
WORDS = {
    "never": (1, -2.0),
    "very rarely": (2, -1.0),
    "always": (3, 2.0),
}
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
        "prefixes": {"salience": "This is a test.", "instruction": "Answer:"},
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
    levels = [
        {
            "weight": weight,
            "words": [word],
        }
        for word, (_, weight) in WORDS.items()
    ]
    write(SOURCES / "trust.yaml", declared)
    write(
        SOURCES / "shared/scales/short.yaml",
        {"title": "Short", "source": "ours", "levels": levels},
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
    declared["models"]["causal"] |= {"methods": ["verbaliser", "sentence"], "intervention": "last"}
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
        "prefixed": {"trial": 3, "standard": 3, "full": 9},
        "corpora": {"calm": {"epochs": {"quick": 1, "paper": 1}}},
    }
    return declared


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder in which the stages of the questionnaires were run; the working directory
    meanwhile."""
    folder = tmp_path_factory.mktemp("methods")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("EVENRULER_CACHE", str(folder / "cache"))
        write(folder / "params.yaml", declare(folder))
        write_sources(ITEMS)
        KNOWN.parent.mkdir(parents=True)
        shutil.copy(ROOT / KNOWN, KNOWN)
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
    """How likely a model as it is takes the intensifiers by a method, with the prompts."""
    prompts = pd.read_parquet(built / "data/built/questionnaires/trust/prompts.parquet")

    def select(model: str, method) -> pd.DataFrame:
        likelihoods = answered(model, "likelihoods")
        return likelihoods.query("method == @method").merge(prompts, on="id")

    return select


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
    text = f"{row['premise']} {row['hypothesis']}"
    word = row["intensifier"].replace("-", " ")
    in_place = word if word in text else word.capitalize()
    before, after = text.split(in_place)
    return WordInPlace(before, in_place, after)


@pytest.mark.slow
class TestAnswers:
    def test_each_form_has_its_rows(self, built: Path) -> None:
        n = len(ITEMS) * 4 * len(WORDS)
        framed = 3 * n
        for model, table, expected in (
            ("causal", "entailment", {"verbaliser": n + framed}),
            ("causal", "likelihoods", {"sentence": n}),
            ("masked", "entailment", {}),
            ("masked", "likelihoods", {"mlm": n}),
        ):
            assert Counter(answered(model, table)["method"]) == expected

    def test_after_prefixes_items_of_the_scale_are_asked_by_verbaliser(self, built: Path) -> None:
        prompts = read_tables("questionnaires", "trust")["prompts"]
        framed = prefixed_rows(prompts, plan_of("questionnaires", "trust"))
        rows = framed.merge(answered("causal", "entailment"), on="id")
        pairs = list(zip(rows["premise"], rows["hypothesis"], strict=True))
        model = load("causal", load_params())
        expected = model.entailment(pairs, before=rows["before"].tolist())[:, 0]
        assert rows["entailment"].tolist() == pytest.approx(expected.tolist(), abs=1e-4)
        unframed = model.entailment(pairs)[:, 0]
        assert abs(expected - unframed).min() > 1e-4

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
        likelihoods = model.loglikelihood((rows["premise"] + " " + rows["hypothesis"]).tolist())
        assert rows["nats"].tolist() == pytest.approx(likelihoods.nats.tolist(), abs=1e-4)
        assert rows["tokens"].tolist() == likelihoods.tokens.tolist()

    def test_facts_are_asked_as_items_are(self, built: Path) -> None:
        facts = plan_of("questionnaires", "trust")["accuracy"]["facts"]
        causal = pd.read_parquet(built / ANSWERS / "causal" / "known_answers.parquet")
        rows = causal.query("fact == 0 and term == 'wrong'").set_index("word")["nats"]
        fact = facts[0]
        sentence = fact["template"].replace("{t}", fact["wrong"]).replace("{i}", "never")
        expected = load("causal", load_params()).loglikelihood([sentence])
        assert rows["never"] == pytest.approx(expected.nats[0], abs=1e-4)


@pytest.mark.slow
class TestFigures:
    @pytest.mark.parametrize(("model", "method"), [("causal", "sentence"), ("masked", "mlm")])
    def test_scores_are_those_of_the_probabilities(self, model, method, answers, diagnosed) -> None:
        rows = answers(model, method).query("item == 'wallet'")
        matrix = rows.pivot(
            index=["polarity", "term"], columns=["level", "weight"], values="nats"
        ).sort_index(axis=1)
        pss = two_way_of_logs(matrix.to_numpy())
        source = matrix.index.get_level_values("polarity") == "source"
        expected = (pss[source] * [-2.0, -1.0, 2.0]).mean()
        items = diagnosed("items").query(
            "model == @model and method == @method and item == 'wallet'"
        )
        assert items["score"].tolist() == pytest.approx([expected], abs=1e-12)

    def test_forms_are_rows_of_their_own(self, diagnosed) -> None:
        methods = {
            ("causal", "causal", "verbaliser"),
            ("causal", "causal", "sentence"),
            ("masked", "masked", "mlm"),
        }
        for table in ("cells", "items", "scales", "population"):
            rows = diagnosed(table)
            assert (
                set(rows[["model", "kind", "method"]].itertuples(index=False, name=None)) == methods
            ), table
        assert len(diagnosed("population")) == 3

    def test_an_adaptation_is_followed_in_both_methods(self, diagnosed) -> None:
        rows = diagnosed("trajectories").set_index(["method", "epoch"])["answer"]
        assert set(rows.index) == set(product(("sentence", "verbaliser"), (0, 1)))

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
            "variant": "agree",
        }
        prompt["premise"], prompt["hypothesis"] = filled
        item = {
            "item": "i",
            "twin": 0,
            "premise": templates[0],
            "hypothesis": templates[1],
        }
        term = {
            "item": "i",
            "twin": 0,
            "term": "t",
            "word": "calm",
        }
        rows = {"prompts": prompt, "items": item, "terms": term}
        tables = {name: pd.DataFrame([row]) for name, row in rows.items()}
        before, word, after = expected
        located = locate_intensifiers(tables)
        assert located == {"before": [before], "word": [word], "after": [after]}
