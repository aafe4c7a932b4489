"""Questions that sentences would answer, written by a model and checked by rules (SAGED, 2.2)."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from evenruler.models.questions import Reply
from evenruler.strict import read_yaml
from evenruler.text.whole_words import begins_sentence, find_words

_WORDS: Final[dict[str, str]] = read_yaml(Path(__file__).with_name("prompts.yaml"))
INSTRUCTION, EXAMPLES = _WORDS["instruction"], _WORDS["examples"]

JUDGED = "the judge does not call it coherent and possible"

PROMPT = INSTRUCTION + "\n\n" + EXAMPLES + "\n\nSentence: {sentence}\nWords: {keyword}\n"
"""The prompt of a language model; `RETRY` follows for each question that was refused."""

RETRY = 'Refused: "{reply}" ({reason}). Write another.\n'

_SHOWN = 120  # characters of a refused reply that a model is shown

CUE = "Question:"

FEWEST, MOST = 4, 25  # words of a question
Answer = Callable[[Sequence[str]], Sequence[Reply]]  # a language model: n texts in, n replies out
_STEM = 4  # words with so many equal first letters are taken for forms of one word
_COPIED = 4  # words in a row from the instruction that make a question a copy

_LABEL = re.compile(
    r"^(?:[-*#>\s]*)(?:\*\*)?(?:question|q)\s*\d*\s*[:.](?:\*\*)?\s*", re.IGNORECASE
)
_QUOTES = "\"'`*_\u201c\u201d\u2018\u2019 "
_ASKING = frozenset(["what", "who", "whom", "whose", "which", "when", "where", "why", "how"])
_NOTHING = re.compile(
    r"(?:what (?:can|could|may) (?:be|you|we|one) (?:said|say|tell)|what do you know)\b", re.I
)
_OF_TEXT = re.compile(
    r"\b(?:the|this|that) (?:sentence|passage|text|statement|question|words?)\b", re.IGNORECASE
)


def judge_texts(texts: Sequence[str], answer: Answer) -> list[str]:
    """Why a language model refuses each text, with its reply; empty where that begins with yes."""
    requests = [f"{_WORDS['judge']}\n\n{text}\n" for text in texts]
    replies = answer(requests) if requests else []
    faults: list[str] = []
    for reply in replies:
        verdict = (reply.text or f"no reply: {reply.reason}").strip()
        is_yes = re.match(r"\W*yes\b", verdict, re.IGNORECASE)
        faults.append("" if is_yes else f"{JUDGED}: {verdict[:_SHOWN]!r}")
    return faults


class Question(NamedTuple):
    """A question about a sentence; its text is empty where no reply was a valid question."""

    text: str
    refused: tuple[tuple[str, str], ...] = ()  # replies that were refused, with the reason of each


def checked_question(reply: str, keyword: str, sentence: str) -> tuple[str, str]:
    """The only question in a reply and "", or "" and the reason why there is no valid one.

    Labels, quotes and lines around it are ignored. It must leave something of the sentence to
    answer: a yes-no question gives it away, as does one that contains every longer word of the
    sentence.
    """
    lines = [_strip_label_and_quotes(line) for line in reply.splitlines()]
    questions = [line for line in lines if line.endswith("?")]
    if not questions:
        return "", "no question mark at the end"
    if len(questions) > 1 or questions[0].count("?") > 1:
        return "", "several questions"
    question = questions[0]
    n_words = len(question.split())
    question_words = set(re.findall(r"\w+", question.casefold()))
    words_behind_first = re.findall(r"\w+", question)[1:]
    names = {word[:_STEM] for word in words_behind_first if word[0].isupper()}
    question_stems = {word[:_STEM] for word in _long_words(f"{question} {keyword}")}
    sentence_stems = {word[:_STEM] for word in re.findall(r"\w+", sentence)}
    has_several_sentences = any(
        begins_sentence(question, word.start()) for word in re.finditer(r"(?<=\s)\S", question)
    )
    is_about_wording = bool(_OF_TEXT.search(question)) and not _OF_TEXT.search(sentence)
    has_fitting_length = FEWEST <= n_words <= MOST
    is_copy = bool(_word_runs(question) & _word_runs(INSTRUCTION))
    gives_all_away = all(word[:_STEM] in question_stems for word in _long_words(sentence))
    faults = {
        "several sentences": has_several_sentences,
        f"no {keyword!r} in it": not find_words(question, [keyword]),
        f"{n_words} words, not {FEWEST} to {MOST}": not has_fitting_length,
        "no question word": not question_words & _ASKING,
        "it asks for nothing in particular": bool(_NOTHING.match(question)),
        "it asks the reader": bool(question_words & {"you", "your", "yours"}),
        "it asks for the wording": is_about_wording,
        "a copy of the instruction": is_copy,
        "a name that the sentence lacks": not names <= sentence_stems,
        "every word of the sentence is in it": gives_all_away,
    }
    reason = next((reason for reason, holds in faults.items() if holds), "")
    return "" if reason else question, reason


def request_questions(
    sentences: Sequence[str], keywords: Sequence[str], answer: Answer, tries: int = 3
) -> list[Question]:
    """A question for each sentence and its keyword, requested in one batch, and again where a reply
    is refused.

    A retry names the refused replies, since `answer` may always give the same reply to the same
    text. Where there was no reply, none is requested again. `tries`: most replies per sentence.
    """
    prompts = [
        PROMPT.format(keyword=keyword, sentence=sentence, fewest=FEWEST, most=MOST)
        for sentence, keyword in zip(sentences, keywords, strict=True)
    ]
    questions = [Question("")] * len(prompts)
    waiting = list(range(len(prompts)))
    for _ in range(tries):
        replies = answer([prompts[place] + CUE for place in waiting]) if waiting else []
        for place, reply in zip(list(waiting), replies, strict=True):
            question, reason = "", f"no reply: {reply.reason}"
            if reply.text is not None:
                question, reason = checked_question(reply.text, keywords[place], sentences[place])
            refused = [(reply.text or "", reason)] if reason else []
            questions[place] = Question(question, (*questions[place].refused, *refused))
            if question or reply.text is None:
                waiting.remove(place)
            else:
                shown_reply = " ".join(reply.text.split())[:_SHOWN]
                prompts[place] += RETRY.format(reply=shown_reply, reason=reason)
    return questions


def _strip_label_and_quotes(line: str) -> str:
    """A line without its label and surrounding quotes."""
    line = _LABEL.sub("", line.strip()).strip()
    while len(line) > 1 and line[0] in _QUOTES and line[-1] in _QUOTES:
        line = line[1:-1].strip()
    return line


def _word_runs(text: str) -> set[tuple[str, ...]]:
    """All runs of `_COPIED` words in a text, in lower case."""
    words = re.findall(r"\w+", text.casefold())
    n_runs = len(words) - _COPIED + 1
    return {tuple(words[i : i + _COPIED]) for i in range(n_runs)}


def _long_words(text: str) -> list[str]:
    """Numbers, and words of at least `_STEM` letters, lower case: what a question may give away."""
    return [
        word
        for word in re.findall(r"\w+", text.casefold())
        if len(word) >= _STEM or word.isdecimal()
    ]
