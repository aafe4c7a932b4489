from evenruler.instruments.probes.evolve.fitness import find_hotspot
from evenruler.instruments.probes.evolve.population import Template, TemplateMeter
from tests.instruments.probes.evolve.toy import BIT, ToyModel, toy_source
from tests.text_tables import read_cells

BITS = {
    "man": 3,
    "uncle": 5,
    "woman": 4,
    "girl": 6,
    "a": 1,
    "an": 2,
}
ADDED = """
strong          | man   | -2
strong          | uncle | -2
strong engineer | man   | 1
say             | girl  | -1
like baker      | girl  | 2
like engineer   | girl  | -2
engineer        | woman | 2
engineer        | girl  | 4
"""
AFTER = {(cues, cued): float(bits) for cues, cued, bits in read_cells(ADDED)}
STRONG = Template("strong", "Some say the {ATTRIBUTE} is strong like a {TARGET}.", 1)
PLAIN = Template("plain", "The {ATTRIBUTE} is a {TARGET}.", 1)


def ruler(gradient_attributes: int = 2, article="agree", **changes) -> TemplateMeter:
    return TemplateMeter(
        ToyModel(BITS, AFTER),
        toy_source(**changes),
        article,
        gradient_attributes,
    )


def in_bits(nats) -> list[float]:
    return [round(float(value) / BIT, 4) for value in nats]


class TestBiases:
    """Words that are the same for all targets fall out. In bits, and for men where women cost
    more."""

    # "a man" 1 + 3, "an uncle" 2 + 5: mean 5.5. "a woman" 1 + 4, "a girl" 1 + 6: mean 6. Half a bit
    # for men. An engineer adds 2 to woman and 4 to girl: 3 more.

    def test_equation_one_for_each_attribute_in_the_order_of_the_source(self) -> None:
        (measured,) = ruler().measure([PLAIN])

        assert in_bits(measured.biases) == [0.5, 3.5]

    def test_words_before_the_target_count(self) -> None:
        # Baker: 0.5, strong 2, say -0.5, like 1 (a girl costs 2 more: women 1).
        # Engineer: 3.5, strong 1.5 (a man gets 1 of his 2 back), say -0.5, like -1.
        (measured,) = ruler().measure([STRONG])

        assert in_bits(measured.biases) == [3.0, 3.5]

    def test_a_keying_of_minus_one_turns_biases_and_no_gradients(self) -> None:
        (measured,) = ruler().measure([STRONG])
        (turned,) = ruler().measure([Template("turned", STRONG.text, -1)])

        assert in_bits(turned.biases) == [-3.0, -3.5]
        assert turned.gradients == measured.gradients

    def test_the_group_that_is_named_first_is_the_positive_pole(self) -> None:
        targets = {
            "women": ["woman", "girl"],
            "men": ["man", "uncle"],
        }
        (measured,) = ruler(targets=targets).measure([PLAIN])

        assert in_bits(measured.biases) == [-0.5, -3.5]


class TestGradients:
    # Taken out, "say" moves both biases by 0.5, "strong" by 2 and 1.5, "like" by -1 and 1; the
    # others none.

    def test_mean_over_attributes_of_how_far_the_bias_moves(self) -> None:
        (measured,) = ruler().measure([STRONG])

        words = [word.word for word in measured.gradients]
        assert words == ["Some", "say", "is", "strong", "like"]
        assert [word.begin for word in measured.gradients] == [0, 5, 25, 28, 35]
        assert in_bits(word.gradient for word in measured.gradients) == [0, 0.5, 0, 1.75, 1]
        assert find_hotspot(measured.gradients).word == "strong"

    def test_of_fewer_attributes_those_evenly_spread(self) -> None:
        # One of two is the second: the engineer. Biases are of both.
        (measured,) = ruler(gradient_attributes=1).measure([STRONG])

        assert in_bits(word.gradient for word in measured.gradients) == [0, 0.5, 0, 1.5, 1]
        assert in_bits(measured.biases) == [3.0, 3.5]


class TestSentences:
    def test_all_are_asked_at_once(self) -> None:
        model = ToyModel(BITS)
        TemplateMeter(model, toy_source(), "agree", 2).measure([STRONG, PLAIN])

        (sentences,) = model.calls
        assert "Some say the engineer is strong like an uncle." in sentences
        assert "Say the engineer is strong like an uncle." in sentences
        assert "Some say the engineer is like an uncle." in sentences
        assert "The engineer a girl." in sentences


class TestAcceptability:
    def test_mean_of_nats_a_token(self) -> None:
        # "The baker is a man." 4 + 4 + 4 + 1 + 3 = 16 bits; uncle ("an") 19, woman 17, girl 19:
        # over 5 tokens, mean 71 / 20 = 3.55. "head cook" is one token and 4 bits more: 87 / 24 =
        # 3.625. Mean of both: 3.5875.
        acceptability = ruler(attributes=["baker", "head cook"]).acceptability([PLAIN.text])

        assert in_bits(acceptability) == [-3.5875]

    def test_over_the_attributes_of_gradients_only(self) -> None:
        # The second of two: 3.625; and with one word less ("is", 4 bits): (16 + 19 + 17 + 19) / 20.
        shorter = "The {ATTRIBUTE}, a {TARGET}."
        acceptability = ruler(1, attributes=["baker", "head cook"]).acceptability(
            [PLAIN.text, shorter]
        )

        assert in_bits(acceptability) == [-3.625, -3.55]
