"""Which tweets become the corpus of hate speech, and which its control."""

import pytest

from evenruler.training.fit import LabelledText
from studies.hate_speech import choose_tweets, clean_tweet, describe_tweets

ROWS = """\
neither: the storm ruined all of my terrible holiday
neither: the storm ruined all of my TERRIBLE holiday
neither: what a bad day for them
neither: what a lovely day for them
offensive: what an awful fool you are today
offensive: they ruined all of my terrible holiday
hate: they are a bad lot here
hate: so awful
"""
"""Of these, one is the same as another, one is not negative, and one is too short."""


@pytest.mark.parametrize(
    ("tweet", "text"),
    [
        ("!!! RT @somebody: it rains &amp; rains", "it rains & rains"),
        ('"@else: who cares about that?" #rain http://t.co/x', "who cares about that?"),
        ("cold &#128514;&#128514; soup\\n\\nagain", "cold soup again"),
    ],
)
def test_what_is_no_text_is_taken_out_of_a_tweet(tweet, text) -> None:
    assert clean_tweet(tweet) == text


def test_those_that_hurt_are_next_to_harmless_ones_of_like_valence_and_length_hate_first() -> None:
    lines = [line.split(": ") for line in ROWS.splitlines()]
    tweets = describe_tweets([LabelledText((text,), label) for label, text in lines])
    assert len(tweets) == 5
    assert (tweets["valence"] < 0).all()
    hurting, harmless = choose_tweets(tweets)
    assert harmless == [
        "the storm ruined all of my terrible holiday",
        "what a bad day for them",
    ]
    assert hurting == ["they ruined all of my terrible holiday", "they are a bad lot here"]
