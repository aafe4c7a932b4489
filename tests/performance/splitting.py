"""Sentences split in two: ours against the authors' package, in one run.

Run by hand: `python -m tests.performance.splitting`. Prints a Markdown table: sentences/s, seconds,
and how much faster ours is. Theirs is `sagedbias` 0.0.13 where it is installed, with its whole
spaCy pipeline on one sentence at a time (the model is the packaged one, which they ask for under
another name); else that pipeline alone, one sentence at a time, stands in for it, and is called so.
Contenders take turns, the best of the turns counts; loading is not timed.
"""

import argparse
import contextlib
import io
import itertools
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

import spacy

from evenruler.instruments.saged.rows.branching import sentence_beginnings
from evenruler.text.english import PACKAGE, _model_folder

SENTENCES = 500
TURNS = 3
INSTALL = (
    "pip install --no-deps --target FOLDER sagedbias==0.0.13 nltk bs4 beautifulsoup4 "
    "soupsieve plotly"
)
SUBJECTS = [
    *(
        "The farmers of {}",
        "{}",
        "The parliament of {}",
        "The people who live in the hills of {}",
        "Most schools in {}",
    ),
    *(
        "In 1921, after a long war, {}",
        "The largest towns of {}, which lie on the coast,",
        "Every government of {}",
    ),
    *("A report on {} by Dr. A. B. Lind", "The old railway between {} and its neighbours"),
]
VERBS = [
    *(
        "was praised by visitors",
        "has not yet given up its claim",
        "exports wool and timber",
        "said that peace would last",
    ),
    *(
        "is known for its (very) long winters",
        "cannot feed all of its people",
        "set up a fund for young poets",
    ),
    *("will have finished the bridge", "grew quickly", "keeps what the old law asks for"),
]
ENDINGS = [
    *(
        ".",
        " in the north of the continent.",
        " because the soil is thin and rain is rare.",
        ", and trade followed.",
    ),
    *(" for more than a century, according to the first census of the union.",),
]
Splitter = Callable[[list[str]], int]


def sentences(n: int) -> list[str]:
    every = [
        subject.format("Aurelia") + f" {verb}{end}"
        for subject, verb, end in itertools.product(SUBJECTS, VERBS, ENDINGS)
    ]
    return [every[index % len(every)] for index in range(n)]


def ours(texts: list[str]) -> int:
    return len(sentence_beginnings(texts, ["Aurelia"] * len(texts)))


def theirs() -> tuple[str, Splitter]:
    """The authors' splitter, or what stands in for it, ready to run."""
    nlp = spacy.load(_model_folder(PACKAGE))
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            import saged
    except ImportError as error:
        print(
            f"{error}: for the authors' own splitter run `{INSTALL}`, and this with "
            "`PYTHONPATH=FOLDER`.\n"
        )
        return "stand-in: the whole pipeline, one at a time", lambda texts: len(
            [nlp(text) for text in texts]
        )
    return "sagedbias 0.0.13", lambda texts: _split_by_authors(saged, nlp, texts)


def _split_by_authors(saged: Any, nlp: Any, texts: list[str]) -> int:
    tier = saged.SAGEDData("countries", "Aurelia", "scraped_sentences")
    tier.data[0]["keywords"] = {
        "Aurelia": {"scraped_sentences": [(text, "wiki") for text in texts]}
    }
    with mock.patch("spacy.load", return_value=nlp), contextlib.redirect_stderr(io.StringIO()):
        assembler = saged.PromptAssembler(tier)
        with mock.patch.object(
            assembler, "scraped_sentence_saged_data"
        ):  # checks the format of what it just made
            assembler.split_sentences()
    return len(assembler.output_df)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=SENTENCES)
    parser.add_argument("--turns", type=int, default=TURNS)
    arguments = parser.parse_args()
    texts = sentences(arguments.sentences)
    name, other = theirs()
    contenders: dict[str, Splitter] = {"ours": ours, name: other}
    seconds = dict.fromkeys(contenders, float("inf"))
    for run in contenders.values():
        run(texts[:20])
    for _ in range(arguments.turns):
        for contender, run in contenders.items():
            start = time.perf_counter()
            run(texts)
            seconds[contender] = min(seconds[contender], time.perf_counter() - start)
    print("| | sentences/s | seconds | ours is faster by |\n| --- | --- | --- | --- |")
    for contender, taken in seconds.items():
        print(
            f"| {contender} | {len(texts) / taken:,.0f} | {taken:.2f} | "
            f"{taken / seconds['ours']:.2f}x |"
        )


if __name__ == "__main__":
    main()
