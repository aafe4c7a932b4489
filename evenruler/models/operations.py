"""What can be asked of a model, by its kind: known from the declaration, before anything is loaded."""

from typing import Final, Literal, get_args

Operation = Literal["loglikelihood", "words", "generate", "entail", "classify", "embed", "in_place", "slor"]
"""`loglikelihood`: of texts, and of texts after prompts; `words`: whole words at a decision point; `generate`: replies;
`entail`: what premises and hypotheses have to do with each other; `classify`: labels of single texts; `embed`: texts as
vectors; `in_place`: words in their place in a text; `slor`: how acceptable sentences are."""

OPERATIONS: Final[tuple[Operation, ...]] = get_args(Operation)

Kind = Literal["causal", "seq2seq", "chat", "completions", "masked", "nli", "classifier", "encoder", "embedder"]

BY_BACKEND: Final[dict[Kind, frozenset[Operation]]] = {
    "causal": frozenset(("loglikelihood", "words", "generate", "slor")),
    "seq2seq": frozenset(("words", "generate")),
    "chat": frozenset(("generate",)),
    "completions": frozenset(("loglikelihood", "generate")),
    "masked": frozenset(("in_place",)),
    "nli": frozenset(("entail",)),
    "classifier": frozenset(("classify",)),
    "encoder": frozenset(),
    "embedder": frozenset(("embed",)),
}
"""What the backend of a kind implements. An encoder does what the head fitted on it does (`with_head`)."""

FROM_LIKELIHOODS: Final[frozenset[Operation]] = frozenset(("entail", "in_place"))
"""What follows from likelihoods, for a model whose backend does not do it itself."""


def operations_of(kind: Kind) -> frozenset[Operation]:
    """All that a model of a kind can do: what its backend implements, and what follows from that."""
    own = BY_BACKEND[kind]
    return own | FROM_LIKELIHOODS if "loglikelihood" in own else own


def with_head(labels: frozenset[str], entailment: frozenset[str]) -> Kind:
    """The kind that an encoder becomes with a head that tells these labels apart."""
    return "nli" if labels == entailment else "classifier"
