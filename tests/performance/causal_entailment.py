"""Whether small causal models can be made to say what follows from what: other questions, calibration, a head.

Run by hand in the repository: `python -m tests.performance.causal_entailment`. Prints Markdown tables and the minutes
of a processor that they took (25 on a busy machine; `--pairs 60 --choosing 30 --fitting 200 --validation 60` tries it
out in five). It reads the data set `mnli-dev` of `training` in params.yaml, which is not in git. What is asked of the
501 pairs of MultiNLI that ship is accuracy, which counts where the lower end of Wilson's 95% interval lies above the
bar.

**Nothing is chosen on the pairs that ship.** The best of many ways on the same rows is better than it will ever be
again. So all ways of asking are compared on training rows, the best of them and the one in use are asked about the
pairs that ship, and only that is to be read. Settings of the head are chosen on other training rows, too. Of a premise
one training row is taken, and none whose premise or hypothesis ships; choosing, validating and fitting share no row.

**Questions.** The one in use (`evenruler.text.verbaliser`); that of GPT-3 for ANLI (Brown et al. 2020); whether it is
true that; the names of the labels; and the channel (Min et al. 2022), which asks how likely the hypothesis is after the
premise and a word for each label: yes, maybe and no, or connectives. As plain text, and, but for the channel, in the
chat template where a model has one.

**Calibration**, by what is taken off the log-probabilities of the three labels:
- `content-free`: contextual calibration (Zhao et al. 2021), the log of the mean probability after the question with
  "N/A", "[MASK]" or nothing in the place of premise and hypothesis;
- `domain`: PMI-DC (Holtzman et al. 2021), what they are after the end of the question alone;
- `batch`: batch calibration (Zhou et al. 2024), the log of the mean probability over rows; these are the training
  rows, whose labels it does not see;
- `premise-free`: what the question in use has: the same hypothesis after the premise "N/A". It is PMI-DC with all but
  the premise for domain.
The channel has no label that could be likely by itself; its domain is the hypothesis after that word alone.

**The head** is a logistic regression on frozen hidden states of the question of GPT-3, at a quarter, half, three
quarters and all of the layers: the last token's; the mean of all; both; and, of the means of premise and hypothesis,
these two, their absolute difference and their product (`parts`, Conneau et al. 2017). Beside it stands one on the words
of the hypothesis alone, without a model: what labels of MultiNLI follow from how hypotheses are written (Gururangan et
al. 2018).
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evenruler.instruments.questionnaires.declare import Settings
from evenruler.instruments.questionnaires.declare.shared import MNLI, first_pairs, load_pairs
from evenruler.instruments.questionnaires.diagnose.population import accuracies, fitness
from evenruler.models import load
from evenruler.models.backends.causal import Causal
from evenruler.models.backends.likelihood import padded
from evenruler.models.model import Model
from evenruler.models.records import LABELS, Pair
from evenruler.project.params import Params, load_params
from evenruler.text.verbaliser import INSTRUCTION, OPTIONS
from evenruler.training.data import read

MODELS = ("smollm2-135m-instruct", "gemma-3-270m")
PAIRS = Path("data/sources/questionnaires/shared/pairs/entailment-pairs.csv")
TRAINING = "mnli-dev"
LEVEL, SEED = 0.95, 0
CONTENT_FREE = ("N/A", "[MASK]", "")
STRENGTHS = (0.0003, 0.003, 0.03)
"""C of the logistic regression."""
PARTS = ("last", "all", "premise", "hypothesis")
POOLINGS = ("last", "mean", "both", "parts")
Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Rows:
    """Labelled pairs."""

    pairs: list[Pair]
    labels: list[str]

    def part(self, first: int, last: int) -> "Rows":
        return Rows(self.pairs[first:last], self.labels[first:last])


@dataclass(frozen=True)
class Way:
    """A way of asking: what stands before each of three texts whose likelihood is compared."""

    name: str
    question: str
    """Of an answer: what stands before it; of the channel: nothing."""
    words: tuple[str, str, str]
    """What stands for entailment, neutral and contradiction."""
    chat: bool = False
    channel: bool = False

    def asked(self, pair: Pair) -> list[tuple[str, str]]:
        """(What stands before, text) of each label."""
        premise, hypothesis = pair
        if self.channel:
            return [(f"{premise} {word}".strip(), hypothesis) for word in self.words]
        return self._answers(self.question.format(premise=premise, hypothesis=hypothesis))

    def domain(self, pair: Pair) -> list[tuple[str, str]]:
        """The same without what the pair says."""
        return self.asked(("", pair[1])) if self.channel else self._answers(self._end)

    def _answers(self, question: str) -> list[tuple[str, str]]:
        return [(question, word.capitalize() if self.chat else word) for word in self.words]

    @property
    def _end(self) -> str:
        return self.question.partition("{hypothesis}")[2].lstrip('"? ').strip()

    def __str__(self) -> str:
        return f"{self.name}, {'chat' if self.chat else 'plain'}"


IN_USE = Way("in use", INSTRUCTION, tuple(word.strip() for word in OPTIONS))  # type: ignore[arg-type]
GPT3 = Way(
    "true, false or neither",
    "{premise}\nQuestion: {hypothesis} True, False, or Neither?\nAnswer:",
    ("True", "Neither", "False"),
)
ANSWERED = (
    IN_USE,
    GPT3,
    Way(
        "is it true that",
        '{premise}\nQuestion: Is it true that "{hypothesis}"? Yes, no or maybe?\nAnswer:',
        ("yes", "maybe", "no"),
    ),
    Way(
        "names of labels",
        "{premise}\nHypothesis: {hypothesis}\nIs this hypothesis an entailment, neutral or a contradiction?\nAnswer:",
        LABELS,
    ),
)
CHANNELS = (
    Way("channel of answers", "", ("Yes,", "Maybe,", "No,"), channel=True),
    Way("channel of connectives", "", ("In other words,", "Besides,", "On the contrary,"), channel=True),
)


def ways(chats: bool) -> list[Way]:
    """All that a model can be asked in."""
    in_chat = [Way(way.name, way.question, way.words, chat=True) for way in ANSWERED if chats]
    return [*ANSWERED, *CHANNELS, *in_chat]


def nats(model: Model, questions: Sequence[tuple[str, str]], chat: bool) -> Numbers:
    """[n / 3, 3] log-probability of each text after what stands before it."""
    before, texts = ([question[i] for question in questions] for i in (0, 1))
    found = model.whole_words(before, texts, chat=True).nats if chat else model.loglikelihood(texts, before).nats
    return found.reshape(-1, len(LABELS))


def warm(model: Model, asking: Sequence[Way], pairs: Sequence[Pair]) -> None:
    """Ask everything at once, since what begins alike is then computed once; the store has the answers from then on."""
    for chat in (False, True):
        questions = [q for pair in pairs for way in asking if way.chat == chat for q in way.asked(pair)]
        if questions:
            nats(model, questions, chat)


def answers(model: Model, way: Way, pairs: Sequence[Pair], others: Sequence[Pair]) -> dict[str, Numbers]:
    """[n, 3] scores of pairs by calibration.

    Args:
        model: Who is asked.
        way: How.
        pairs: n of them.
        others: Whose mean answer `batch` takes off.
    """
    asked = nats(model, [q for pair in pairs for q in way.asked(pair)], way.chat)
    mean = logsumexp(log_softmax(nats(model, [q for pair in others for q in way.asked(pair)], way.chat), 1), 0)
    found = {"none": asked, "batch": asked - mean}
    domains = [way.domain(pair) for pair in (pairs if way.channel else pairs[:1])]
    found["domain"] = asked - nats(model, [q for domain in domains for q in domain], way.chat)
    if not way.channel:
        free = nats(model, [q for text in CONTENT_FREE for q in way.asked((text, text))], way.chat)
        found["content-free"] = asked - logsumexp(free, 0)
    if way == IN_USE:
        found["premise-free"] = model.entailment(pairs)
    return found


def judged(scores: Numbers, rows: Rows, **said: object) -> dict[str, Any]:
    """Accuracy with its interval, as the product has it."""
    labelled = pd.DataFrame(scores, columns=list(LABELS)).assign(
        model="", configuration="", set=MNLI, label=rows.labels
    )
    return {**said, **accuracies(labelled, LEVEL).iloc[0].to_dict()}


def compared(model: Model, choosing: Rows, test: Rows) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """All ways by all calibrations on training rows; the best of them, and the way in use, on the pairs that ship."""
    asking = ways(model.entry.chats)
    warm(model, asking, choosing.pairs)
    chosen_on = [
        judged(scores, choosing, way=way, calibration=calibration)
        for way in asking
        for calibration, scores in answers(model, way, choosing.pairs, choosing.pairs).items()
    ]
    best = max(chosen_on, key=lambda row: row["accuracy"])  # the first of equal ones
    reported = []
    for way in dict.fromkeys([IN_USE, best["way"]]):
        for calibration, scores in answers(model, way, test.pairs, choosing.pairs).items():
            if way == IN_USE or calibration in ("none", best["calibration"]):
                mark = " (chosen)" if (way, calibration) == (best["way"], best["calibration"]) else ""
                reported.append(judged(scores, test, way=f"{way}{mark}", calibration=calibration))
    return chosen_on, reported


class States:
    """Hidden states of pairs by layer and part: `last` token, mean of `all`, of the `premise`, of the `hypothesis`."""

    def __init__(self, by_part: dict[tuple[int, str], Numbers]) -> None:
        self._by_part = by_part
        self.layers = sorted({layer for layer, _ in by_part})

    def of(self, layer: int, pooling: str, rows: slice) -> Numbers:
        """[n, d]"""
        last, mean, u, v = (self._by_part[layer, part][rows] for part in PARTS)
        found = {"last": [last], "mean": [mean], "both": [last, mean], "parts": [u, v, np.abs(u - v), u * v]}
        return np.hstack(found[pooling])


def states(backend: Causal, pairs: Sequence[Pair]) -> States:
    """Frozen states of the question of GPT-3 about each pair."""
    before = [len(backend._tokens(f"{premise}\nQuestion:")) + 1 for premise, _ in pairs]
    end = len(backend._tokens(" True, False, or Neither?\nAnswer:"))
    sequences = [(backend._start, *backend._tokens(GPT3.asked(pair)[0][0])) for pair in pairs]
    depth = backend.model.config.get_text_config().num_hidden_layers
    layers = [depth * quarter // 4 for quarter in (1, 2, 3, 4)]
    found: dict[tuple[int, str], list[Any]] = {own: [None] * len(pairs) for own in product(layers, PARTS)}
    for batch in by_length(sequences, backend._capacity.nodes):
        for layer, hidden in zip(layers, read_off(backend, [sequences[i] for i in batch], layers), strict=True):
            for row, i in enumerate(batch):
                own = hidden[row, : len(sequences[i])]
                parts = own[-1:], own, own[1 : before[i] - 2], own[before[i] : -end]
                for part, of_part in zip(PARTS, parts, strict=True):
                    found[layer, part][i] = of_part.mean(axis=0, dtype=np.float64)
    return States({own: np.stack(rows) for own, rows in found.items()})


def by_length(sequences: Sequence[Sequence[int]], room: int) -> Iterator[list[int]]:
    """Indices, longest first, of as many as are no more than that many tokens with their padding."""
    order = sorted(range(len(sequences)), key=lambda i: -len(sequences[i]))
    while order:
        n = max(1, room // len(sequences[order[0]]))
        yield order[:n]
        order = order[n:]


def read_off(backend: Causal, sequences: Sequence[tuple[int, ...]], layers: Sequence[int]) -> list[NDArray[Any]]:
    """[sequences, tokens, d] of each layer; the last is what the output layer sees."""
    import torch

    ids, mask = padded(sequences, backend.model.device)
    with torch.inference_mode():
        hidden = backend.model.base_model(
            input_ids=ids, attention_mask=mask, use_cache=False, output_hidden_states=True
        ).hidden_states
    return [hidden[layer].float().cpu().numpy() for layer in layers]


def fitted(x: Numbers, labels: Sequence[str], strength: float) -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression(C=strength, max_iter=500)).fit(x, labels)


def scored(head: Any, x: Any) -> Numbers:
    """[n, 3] in the order of `LABELS`."""
    found: Numbers = head.decision_function(x)[:, [list(head.classes_).index(label) for label in LABELS]]
    return found


def heads(model: Model, fitting: Rows, validation: int, test: Rows) -> Iterator[dict[str, Any]]:
    """Accuracy of a head on pairs that ship, its settings chosen on the last `validation` rows; fitted on fewer, too.

    Yields:
        Of the chosen settings on the rows that chose them (optimistic); then on the pairs that ship.
    """
    n, cut = len(fitting.labels), len(fitting.labels) - validation
    found = states(model.backend, [*fitting.pairs, *test.pairs])
    held_out = fitting.part(cut, n)

    def tried(layer: int, pooling: str, strength: float) -> dict[str, Any]:
        head = fitted(found.of(layer, pooling, slice(cut)), fitting.labels[:cut], strength)
        scores = scored(head, found.of(layer, pooling, slice(cut, n)))
        return judged(scores, held_out, **{"setting": (layer, pooling, strength), "fitted on": cut})

    settings = product(found.layers, POOLINGS, STRENGTHS)
    best = max((tried(*setting) for setting in settings), key=lambda row: row["accuracy"])
    layer, pooling, strength = best["setting"]
    named = f"head: {pooling} of layer {layer} of {found.layers[-1]}, C = {strength:g}"
    yield {**best, "way": f"{named} (on the rows that chose it)"}
    for rows in (n // 4, n // 2, n):
        head = fitted(found.of(layer, pooling, slice(rows)), fitting.labels[:rows], strength)
        scores = scored(head, found.of(layer, pooling, slice(n, None)))
        yield judged(scores, test, **{"way": named, "fitted on": rows})


def words_alone(fitting: Rows, test: Rows) -> dict[str, Any]:
    """Of a head on the words of the hypothesis, which has no premise and no model; settings are not tried."""
    vectorizer = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True)
    x = vectorizer.fit_transform([hypothesis for _, hypothesis in fitting.pairs])
    head = LogisticRegression(max_iter=500).fit(x, fitting.labels)
    scores = scored(head, vectorizer.transform([hypothesis for _, hypothesis in test.pairs]))
    return judged(scores, test, **{"way": "words of the hypothesis, no model", "fitted on": len(fitting.labels)})


def shipped(n: int) -> Rows:
    """At most n of the pairs of MultiNLI that ship."""
    found = [pair for pair in first_pairs(load_pairs(PAIRS), n) if pair.set == MNLI]
    return Rows([(pair.premise, pair.hypothesis) for pair in found], [pair.label for pair in found])


def training(params: Params) -> tuple[Rows, int]:
    """Rows in a fixed random order, one a premise, without what ships; and how many were left out for that."""
    labelled, _ = read(TRAINING, params.training[TRAINING])
    frame = pd.DataFrame(labelled.texts, columns=["premise", "hypothesis"]).assign(label=labelled.labels)
    plain = frame[["premise", "hypothesis"]].apply(lambda column: column.str.lower().str.split().str.join(" "))
    ours = [{" ".join(pair[i].lower().split()) for pair in shipped(len(frame)).pairs} for i in (0, 1)]
    ships = plain["premise"].isin(ours[0]) | plain["hypothesis"].isin(ours[1])
    kept = frame[~ships].sample(frac=1, random_state=SEED).drop_duplicates("premise")
    return Rows(list(zip(kept["premise"], kept["hypothesis"], strict=True)), kept["label"].tolist()), int(ships.sum())


def table(rows: Sequence[dict[str, Any]], columns: Sequence[str], bar: float | None = None) -> None:
    print("\n| " + " | ".join([*columns, "n", "accuracy [95%]", "AUC"]) + (" | at the bar |" if bar else " |"))
    print("| " + " | ".join(["---"] * (len(columns) + (4 if bar else 3))) + " |")
    for row in rows:
        said = [str(row.get(column, "")) for column in columns]
        share = f"{row['accuracy']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"
        verdict = [] if bar is None else ["no" if fitness(row, bar).unfit else "yes"]
        print(f"| {' | '.join([*said, str(row['n']), share, format(row['auc'], '.3f'), *verdict])} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--pairs", type=int, default=501, help="of those that ship")
    parser.add_argument("--choosing", type=int, default=90, help="training rows that choose how to ask")
    parser.add_argument("--fitting", type=int, default=1500, help="other training rows, that a head is fitted on")
    parser.add_argument("--validation", type=int, default=300, help="how many of these choose its settings first")
    arguments = parser.parse_args()
    params = load_params("params.yaml")
    bar = float(Settings.model_fields["accuracy"].default)
    test, (rows, left_out) = shipped(arguments.pairs), training(params)
    choosing = rows.part(0, arguments.choosing)
    fitting = rows.part(arguments.choosing, arguments.choosing + arguments.fitting)
    print(f"{left_out} training rows left out, whose premise or hypothesis ships; {len(rows.labels):,} premises left")
    for name in arguments.models:
        start, model = time.process_time(), load(name, params)
        print(f"\n### {name}\n\nOn training rows, to choose from:")
        chosen_on, reported = compared(model, choosing, test)
        table(chosen_on, ["way", "calibration"])
        asked = time.process_time()
        print("\nOn pairs that ship, and of a head on the rows that chose it:")
        reported += heads(model, fitting, arguments.validation, test)
        table([*reported, words_alone(fitting, test)], ["way", "calibration", "fitted on"], bar)
        minutes = [(until - since) / 60 for since, until in ((start, asked), (asked, time.process_time()))]
        print(f"\n{model.asked:,} texts asked; {minutes[0]:.1f} + {minutes[1]:.1f} minutes of a processor", flush=True)


if __name__ == "__main__":
    main()
