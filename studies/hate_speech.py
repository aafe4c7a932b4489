"""Write the corpus of hate speech and its control, the tweets that `hate-speech` and `other-tweets`
of questionnaires name (EMPALC, section 3.3.5).

Both are negative by VADER, and of the data set `davidson-offensive` of params.yaml: tweets that
hurt, and as many that do not, each next to one of like valence and length. Run:
`python -m studies.hate_speech`.
"""

import argparse
import html
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from evenruler.declaration.params import load_params
from evenruler.instruments.questionnaires.declare.shared import load_corpus, profile_sentences
from evenruler.strict import read_yaml
from evenruler.text.english import vader_scores
from evenruler.training.fit import LabelledText, read_data

TRAINING = "davidson-offensive"
CORPORA = Path("data/sources/questionnaires/shared/corpora")
HATE, CONTROL = "hate-speech", "other-tweets"
N_TWEETS = 1003
"""As in the paper."""

NEGATIVE = -0.05
"""VADER's limit of a negative text."""

SHORTEST = 4
"""Words of a tweet, without addressees and links."""

FIRST_PERSON = r"\b(?:i|me|my|mine|myself|we|us|our|ours|ourselves)\b"
NOT_TEXT = re.compile(r"https?://\S+|\bRT\b|[@#]\w+:?|[^\x20-\x7e]|[\\\\\"!]+(?=\s|$)|^[\"!\s:]+")


def main() -> None:
    """Read the tweets, write two files, and say how like they are."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--training", default=TRAINING, help="entry of `training` in params.yaml")
    training = parser.parse_args().training
    rows, _ = read_data(training, load_params().training[training])
    hurting, harmless = choose_tweets(describe_tweets(rows))
    for name, tweets in ((HATE, hurting), (CONTROL, harmless)):
        source = CORPORA / f"{name}.yaml"
        path = Path(read_yaml(source)["file"])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"{tweet}\n" for tweet in tweets), encoding="utf-8")
        means = pd.Series(profile_sentences(load_corpus(source).sentences)).round(2)
        print(f"{path}: {len(tweets)} tweets, {means.to_dict()}")


def clean_tweet(tweet: str) -> str:
    """A tweet without addressees, links, marks of topics, signs that are no letters, and the marks
    of a quotation around it.
    """
    text = html.unescape(html.unescape(tweet)).replace("\\n", " ")
    return " ".join(NOT_TEXT.sub(" ", text).split())


def describe_tweets(rows: Sequence[LabelledText]) -> pd.DataFrame:
    """Distinct negative tweets: `text`, `label`, `valence`, `words`, `first_person`."""
    texts = [clean_tweet(row.texts[0]) for row in rows]
    tweets = pd.DataFrame({"text": texts, "label": [row.label for row in rows]})
    text = tweets["text"]
    tweets["words"] = text.str.split().str.len()
    tweets["first_person"] = text.str.contains(FIRST_PERSON, case=False)
    is_distinct = ~text.str.lower().duplicated()
    tweets = tweets[is_distinct & (tweets["words"] >= SHORTEST)]
    tweets = tweets.assign(valence=vader_scores(tweets["text"].tolist()))
    return tweets[tweets["valence"] <= NEGATIVE].reset_index(drop=True)


def choose_tweets(tweets: pd.DataFrame) -> tuple[list[str], list[str]]:
    """Tweets that hurt, and harmless ones, pair by pair.

    For each harmless one, in the order of the data, the nearest of those that hurt and are left: .1
    of valence counts as much as two words, as one being in the first person, and as being offensive
    in place of hate.
    """
    is_harmless = tweets["label"] == "neither"
    harmless = tweets[is_harmless].head(N_TWEETS)
    hurting = tweets[~is_harmless]
    penalty = (hurting["label"] != "hate").to_numpy(dtype=np.float64)
    chosen: list[str] = []
    for tweet in harmless.itertuples():
        valence = (hurting["valence"] - tweet.valence).abs() / 0.1
        length = (hurting["words"] - tweet.words).abs() / 2
        person = hurting["first_person"] != tweet.first_person
        nearest = int(np.argmin(penalty + valence + length + person))
        penalty[nearest] = np.inf
        chosen.append(str(hurting["text"].iloc[nearest]))
    return chosen, harmless["text"].tolist()


if __name__ == "__main__":
    main()
