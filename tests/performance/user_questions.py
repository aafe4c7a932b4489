"""How well questions and splits are made of text that nobody wrote for it: the sentences of `user_text`.

Run by hand: `python -m tests.performance.user_questions ADDRESSES WHEEL [--model NAME]`, arguments as for `user_text`.
Printed are the questions, the splits, and how many there are by rule or reason; `--model` lets a model of the catalogue
write questions about 60 of the sentences. What a reader said stands in `tests/performance/user_questions.csv`, a
model's labels read twice, the second time in another order: `--labels` prints shares of wrong ones and kappa.
"""

import argparse
import csv
import random
from collections import Counter
from pathlib import Path

from evenruler.instruments.saged.rows.prompts import split
from evenruler.instruments.saged.rows.questions import Question, ask, questions
from evenruler.instruments.saged.scrape.sentences import matched
from evenruler.models import load
from evenruler.models.records import Sampling
from tests.performance.user_text import DOMAINS, drawn, kappa, source_of

LABELS = Path(__file__).with_suffix(".csv")
OF_MODEL = 60


def sentences(addresses: Path, wheel: Path) -> list[tuple[str, str]]:
    """Sentences in which a keyword was found, each with one of these at random."""
    draw, found = random.Random(7), []
    for kind in ("wikipedia", "addresses", "bold"):
        lines = drawn(kind, addresses, wheel, 22)
        keywords: dict[int, list[str]] = {}
        for domain in DOMAINS:
            source = source_of(domain)
            for match in matched(lines, {concept: source.keywords_of(concept) for concept in source.concepts}):
                keywords.setdefault(match.sentence, []).append(match.keyword)
        found += [(lines[i], draw.choice(keywords[i])) for i in sorted(keywords)]
    return found


def written(name: str, asked: list[tuple[str, str]]) -> list[Question]:
    """Questions of a model."""
    model, sampling = load(name), Sampling(max_new_tokens=100, temperature=0)
    texts, keywords = zip(*asked, strict=True)
    return ask(texts, keywords, lambda prompts: model.replies(prompts, sampling=sampling))


def agreement(labels: Path) -> None:
    """By what was made and by which rule: how many both readings call wrong; kappa of the two."""
    with labels.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for key in sorted({(row["made"], row["rule"]) for row in rows}):
        own = [row for row in rows if (row["made"], row["rule"]) == key]
        wrong = [sum(row[number] == "wrong" for row in own) for number in ("first", "second")]
        print(*key, *wrong, "of", len(own))
    for made in sorted({row["made"] for row in rows}):
        print("kappa", made, kappa([(row["first"], row["second"]) for row in rows if row["made"] == made]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("addresses", nargs="?", type=Path)
    parser.add_argument("wheel", nargs="?", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--labels", action="store_true")
    arguments = parser.parse_args()
    if arguments.labels:
        agreement(LABELS)
        return
    asked = sentences(arguments.addresses, arguments.wheel)
    if arguments.model:
        asked = random.Random(5).sample(asked, OF_MODEL)
    texts, keywords = zip(*asked, strict=True)
    made = written(arguments.model, asked) if arguments.model else questions(texts, keywords)
    parts = split(texts, keywords)
    for (text, keyword), question, part in zip(asked, made, parts, strict=True):
        print(keyword, question.text or "-", f"{part.prompt} | {part.continuation}", text, sep="\t")
    print(len(asked), Counter(question.rule for question in made), Counter(part.rule for part in parts))


if __name__ == "__main__":
    main()
