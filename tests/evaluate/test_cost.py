"""What is going to be sent, what it costs, and who agreed."""

import pandas as pd
import pytest
import typer

from evenruler.evaluate.cost import (
    Cost,
    Price,
    SpendingLimit,
    cost_of,
    power_text,
    questions_in_words,
)
from evenruler.instruments.instrument import RequestBatch
from evenruler.instruments.possible_verdicts import detected_effect_text
from tests.evaluate.conftest import ErrorOf

COST = Cost({"generate": 1000}, 100_000, 16_000)
PRICE = Price(0.75, 4.5)


def test_tokens_are_of_what_the_model_itself_is_asked() -> None:
    two = pd.DataFrame({"id": ["a", "b"]})
    replies = RequestBatch(
        "replies",
        "generate",
        two,
        {"prompt": ["x" * 20, "y" * 20], "seed": [1, 2]},
        {"new_tokens": 16},
    )
    tool = RequestBatch(
        "vectors",
        "embed",
        two,
        {"text": ["z" * 400] * 2},
        by="embedder",
    )
    assert cost_of([replies, tool]) == Cost({"generate": 2}, 10, 32)
    texts = {"text": ["x" * 8] * 2, "before": ["", "y" * 8]}
    likelihoods = RequestBatch("likelihoods", "loglikelihood", two, texts)
    assert cost_of([replies, likelihoods]) == Cost({"generate": 2, "loglikelihood": 2}, 16, 32)


def test_a_price_is_of_a_million_tokens() -> None:
    assert COST.dollars(PRICE) == pytest.approx(0.075 + 0.072)
    assert (
        COST.in_words(PRICE)
        == "1,000 requests, about 100,000 tokens in, at most 16,000 out; at most $0.15"
    )
    assert "$" not in COST.in_words(None)
    assert Cost({}, read=100).in_words(PRICE).endswith("at most $0.01"), "not nothing"


def test_a_form_without_a_verdict_promises_none() -> None:
    plan = {
        "sizes": {
            "trial": {"detects": None},
            "standard": {"detects": "0.9 points", "choice": "32 points"},
        }
    }
    methods = (None, "entail", "choice", "options")
    assert [detected_effect_text(plan, "standard", method) for method in methods] == [
        "0.9 points",
        "0.9 points",
        "32 points",
        None,
    ]
    assert [detected_effect_text(plan, "trial", method) for method in methods] == [None] * 4
    assert detected_effect_text(plan, "full", "choice") == ""


def test_questions_are_counted_in_the_words_of_their_operation() -> None:
    questions = {"generate": 1244, "loglikelihood": 9952}
    assert questions_in_words(questions) == "1,244 replies, 9,952 likelihoods"
    assert questions_in_words({"generate": 2}, "choice") == "2 replies (choice)"


def test_what_a_study_detects_in_words() -> None:
    assert power_text(None) == "no verdict is possible"
    assert power_text("") == "what it detects is not known"
    assert power_text("0.2") == "8 of 10 such studies detect 0.2"


class TestAgreeing:
    """Nobody is at a terminal here, unless a test says so."""

    def test_nothing_is_sent_unless_somebody_said_so(
        self, error_of: ErrorOf, capsys: pytest.CaptureFixture[str]
    ) -> None:
        line = error_of(SpendingLimit(PRICE).agree, [COST, COST], [])
        assert line.startswith("measure: it sends 2,000 requests, about 200,000 tokens in")
        assert line.endswith("$0.30; say --yes, or --max-cost with --price")
        SpendingLimit(yes=True).agree([COST], [])
        SpendingLimit(PRICE, most=0.15).agree([COST], [])
        assert capsys.readouterr().err.splitlines() == [
            f"it sends {COST.in_words(None)}",
            f"it sends {COST.in_words(PRICE)}",
        ]

    def test_more_than_allowed(self, error_of: ErrorOf) -> None:
        line = error_of(SpendingLimit(PRICE, most=0.14, yes=True).agree, [COST], [])
        assert line == "--max-cost 0.14: it may cost $0.15; take --size trial, or allow more"
        assert "add --price" in error_of(SpendingLimit(most=1).agree, [COST], [])

    def test_no_verdict_is_possible(self, error_of: ErrorOf) -> None:
        line = error_of(SpendingLimit(PRICE, most=1).agree, [COST], ["framing-age"])
        assert line.startswith("measure: no verdict is possible on framing-age; ")
        SpendingLimit(PRICE, most=1, yes=True).agree([COST], ["framing-age"])

    @pytest.mark.parametrize("agrees", [True, False])
    def test_at_a_terminal_it_asks(self, monkeypatch: pytest.MonkeyPatch, agrees: bool) -> None:
        questions: list[str] = []
        monkeypatch.setattr("sys.stdin.isatty", lambda: True)
        monkeypatch.setattr(typer, "confirm", lambda text, err: questions.append(text) or agrees)
        if agrees:
            SpendingLimit(PRICE).agree([COST], [])
        else:
            with pytest.raises(typer.Exit) as stopped:
                SpendingLimit(PRICE).agree([COST], [])
            assert stopped.value.exit_code == 1
        assert questions == [f"It sends {COST.in_words(PRICE)}. Send?"]
