"""What is asked: prompts of items or twins, after prefixes, words in their place, labelled pairs, adapted states."""

from collections.abc import Iterator, Mapping
from typing import Any

import pandas as pd

from evenruler.instruments import prefixes
from evenruler.instruments.instrument import Adaptation, Plan, Request, State, Subject, Tables
from evenruler.instruments.questionnaires.declare.shared import MNLI, lines_of
from evenruler.instruments.questionnaires.declare.source import INTENSIFIER, TERM, prompt_id
from evenruler.models.declared import BY_FACTS, LIKELIHOODS, OPTIONS, SENTENCE
from evenruler.tables import evenly_spread
from evenruler.text import place

LOGITS = ["entailment", "neutral", "contradiction"]
"""What a model says of a pair, by these names."""

ENTAIL = "entail"
"""All ways of asking but `options`: what follows from what, or how likely it is."""

OF_BOTH = ("items", "terms", "prompts")
"""The published tables that hold both."""


def asked_forms(subject: Subject) -> list[str]:
    """The ways in which a model is asked, of those that it can: `options`, or the others, where one was wanted."""
    return [form for form in subject.forms if subject.asked_in(OPTIONS if form == OPTIONS else ENTAIL)]


def apart(tables: Tables) -> tuple[Tables, Tables]:
    """Of `items`, `terms` and `prompts`, each with `twin`: those of the items alone, and of the twins alone, if any."""
    own = {name: tables[name][tables[name]["twin"] == 0] for name in OF_BOTH}
    twins = {name: tables[name][tables[name]["twin"] > 0] for name in OF_BOTH}
    return {**tables, **own}, {**tables, **twins}


def prefixed_rows(prompts: pd.DataFrame, plan: Mapping[str, Any]) -> pd.DataFrame:
    """The prompts of some items after every prefix, by `prefixes.after_prefixes`."""

    def identify(row: Mapping[Any, Any], prefix: str) -> str:
        return prompt_id(row["questionnaire"], row["item"], row["term"], row["intensifier"], prefix)

    return prefixes.after_prefixes(prompts, "item", plan, identify)


def placed(tables: Tables) -> dict[str, list[str]]:
    """[prompts] what stands `before` the intensifier, the `word`, what stands `after` it.

    In premise and hypothesis, which a space parts; of `prompts`, `items` (their templates) and `terms` (their words).
    """
    terms = tables["terms"][["item", "twin", "term", "word"]]
    templates = tables["items"][["item", "twin", "premise", "hypothesis"]]
    rows = tables["prompts"].merge(terms, on=["item", "twin", "term"], how="left", validate="m:1")
    rows = rows.merge(templates, on=["item", "twin"], how="left", validate="m:1", suffixes=("", "_template"))
    found: dict[str, list[str]] = {"before": [], "word": [], "after": []}
    for row in rows.to_dict("records"):
        first = INTENSIFIER in row["premise_template"]
        side = "premise" if first else "hypothesis"
        sentence = row[side]
        begin, end = place(row[f"{side}_template"], INTENSIFIER, {TERM: row["word"]}, row["variant"], sentence)
        before, after = ("", f" {row['hypothesis']}") if first else (f"{row['premise']} ", "")
        found["before"].append(before + sentence[:begin])
        found["word"].append(sentence[begin:end])
        found["after"].append(sentence[end:] + after)
    return found


def labelled_requests(plan: Plan, subject: Subject) -> Iterator[Request]:
    """Every labelled pair of the plan, in every form in which the model says what follows from what."""
    if not subject.can("entail"):
        return
    pairs = pairs_of(plan)
    for form in asked_forms(subject):
        if form not in BY_FACTS:
            rows = pairs[["set", "label"]].assign(configuration=form, pair=range(len(pairs)))
            yield Request("labelled_pairs", "entail", rows, sides_of(pairs))


def known_requests(plan: Plan, subject: Subject) -> Iterator[Request]:
    """Every fact of the plan, with its right and its wrong term and every intensifier, by likelihoods."""
    asked = [
        {"fact": n, "term": term, "word": word, "template": fact["template"].replace("{i}", "{INTENSIFIER}")}
        | {"filling": fact[term]}
        for n, fact in enumerate(plan["accuracy"].get("facts", []))
        for term in ("right", "wrong")
        for word in plan["accuracy"]["words"]
    ]
    for form in asked_forms(subject):
        if form in LIKELIHOODS and asked:
            rows = pd.DataFrame(asked)[["fact", "term", "word"]].assign(configuration=form)
            parts = [row["template"].replace("{t}", row["filling"]).partition(INTENSIFIER) for row in asked]
            if form == SENTENCE and subject.can("loglikelihood"):
                texts = [before + row["word"] + after for row, (before, _, after) in zip(asked, parts, strict=True)]
                yield Request("known_answers", "loglikelihood", rows, {"text": texts})
            elif form != SENTENCE and subject.can("in_place"):
                places = {"before": [before for before, *_ in parts], "word": rows["word"].tolist()}
                yield Request(
                    "known_answers", "in_place", uncounted(rows), {**places, "after": [after for *_, after in parts]}
                )


def uncounted(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows of likelihoods a token, which need no number of tokens."""
    return rows.assign(tokens=pd.array([None] * len(rows), dtype="Int64"))


def pairs_of(plan: Plan) -> pd.DataFrame:
    """The labelled pairs of a plan: `set`, `label`, `premise`, `hypothesis`."""
    return pd.DataFrame(plan["accuracy"]["pairs"], columns=["set", "label", "premise", "hypothesis"])


def sides_of(pairs: pd.DataFrame) -> dict[str, list[str]]:
    """What is asked of the pairs."""
    return {side: pairs[side].tolist() for side in ("premise", "hypothesis")}


MESSAGE = "I think I have a panic attack, can you help me?"
"""What the paper asked a conversational model before and after (section 4.4)."""

LONGEST_REPLY = 40
"""Tokens."""

STAGE = ["corpus", "fit", "epoch"]
"""Columns that say where a model is on its way."""


def states(plan: Plan, subject: Subject) -> Iterator[State]:
    """Before, and after every epoch (or the last) of every fit to every corpus; none of a model that is not adapted.

    Only the first fit is asked on the way: it shows the course, all of them show the end.
    """
    if subject.adapted is None:
        return
    corpora = sorted(plan["corpora"].items())
    told = (
        (name, own["sentences"] if "sentences" in own else lines_of(own["file"], f"corpus {name}"))
        for name, own in corpora
    )
    recipes = tuple((name, own["epochs"], own["learning_rate"], own["batch"]) for name, own in corpora)
    # The same for every questionnaire whose models are adapted to the same corpora.
    adaptation = Adaptation(tuple((name, tuple(sentences)) for name, sentences in told), recipes)
    for corpus, epochs, *_ in adaptation.recipes:
        for fit in range(1, plan["fits"] + 1):
            on_the_way = range(1, epochs) if subject.adapted == "every" and fit == 1 else ()
            yield from (State(adaptation, corpus, fit, epoch) for epoch in (0, *on_the_way, epochs))


def asked_then(tables: Tables, plan: Plan) -> Tables:
    """The prompts of the items that are asked after adaptation, evenly spread over their names."""
    prompts = tables["prompts"]
    kept = evenly_spread(sorted(set(prompts["item"])), plan["adapted"])
    return {**tables, "prompts": prompts[prompts["item"].isin(kept)]}


def course_requests(state: State, plan: Plan, subject: Subject) -> Iterator[Request]:
    """How the adaptation goes: labelled pairs, a chat model's reply to a message, and the loss.

    The pairs are the first of those that decide whether the model counts as it is.
    """
    here: dict[str, Any] = {"corpus": state.corpus, "fit": state.fit, "epoch": state.epoch}
    if subject.can("entail"):
        # Those that accuracy is judged by.
        pairs = pairs_of(plan)
        pairs = pairs[pairs["set"] == MNLI].head(plan["adapted_pairs"])
        rows = pairs[["label"]].assign(**here, pair=range(len(pairs)))
        yield Request("pairs", "entail", rows, sides_of(pairs), state=state)
    if subject.chats and subject.can("generate"):
        settings = {"new_tokens": LONGEST_REPLY, "temperature": 0}
        yield Request("replies", "generate", pd.DataFrame([here]), {"prompt": [MESSAGE]}, settings, state=state)
    n = len(dict(state.adaptation.corpora)[state.corpus])
    yield Request("losses", "adaptation_loss", pd.DataFrame([{**here, "n": n}]), {}, state=state)


def course(answers: Tables, model: str) -> pd.DataFrame:
    """How the adaptations of a model went, by `schemas.COURSE`; the same whichever questionnaire asked."""
    pairs = answers["pairs"]
    said = pairs[LOGITS].idxmax(axis=1) if len(pairs) else pairs["label"]
    right = pairs.assign(right=said == pairs["label"])
    accuracies = right.groupby(STAGE, as_index=False)["right"].agg(["mean", "size"])
    replies, losses = answers["replies"], answers["losses"]
    untold = losses["loss"].isna().map({True: "no token of what is held out can be asked about"})
    found = [
        _measured(accuracies, "accuracy", value=accuracies["mean"], n=accuracies["size"]),
        _measured(replies, "reply", text=replies["reply"], reason=replies["reason"], n=1),
        _measured(losses, "loss", value=losses["loss"], reason=untold, n=losses["n"]),
    ]
    return pd.concat(found, ignore_index=True).assign(model=model).sort_values(STAGE, kind="stable")


def _measured(stages: pd.DataFrame, measure: str, **columns: Any) -> pd.DataFrame:
    """Rows of one measure; what is not given is null."""
    empty: dict[str, Any] = {"value": float("nan"), "text": None, "reason": None}
    return stages[STAGE].assign(measure=measure, **{**empty, **columns})
