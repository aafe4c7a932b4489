"""Token tries: sequences that share beginnings, cut into packs and laid out as one row of nodes.

A node is a token at a place where something follows; it is computed once, however many sequences run through it.
An edge leads from a node to a token that follows and carries the log-probability of that token. The last token of
a sequence that nothing follows is an edge without a node: nothing is computed for it, unless what may follow it is
asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Tokens = tuple[int, ...]


@dataclass(frozen=True)
class TokenSequence:
    """The tokens of one request, the start token first."""

    tokens: Tokens
    begin: int = 1
    """The first token whose log-probability counts; those before are given."""
    open: bool = False
    """Whether what may follow the last token is asked too."""

    @property
    def nodes(self) -> int:
        """How many of its tokens, from the start, are computed."""
        return len(self.tokens) - (not self.open)


@dataclass(frozen=True)
class Nodes:
    """m tokens that go through the model together, and the k that they may see: those read before them, themselves."""

    tokens: NDArray[np.int64]
    """[m]"""
    depths: NDArray[np.int64]
    """[m] their positions."""
    sees: NDArray[np.bool_]
    """[m, k] True where the row's token sees the column's."""
    seen_depths: NDArray[np.int64]
    """[k] positions of what may be seen."""


@dataclass(frozen=True)
class Trie:
    """One pack of sequences as nodes and edges; n nodes, e scored edges."""

    tokens: NDArray[np.int64]
    """[n]"""
    depths: NDArray[np.int64]
    """[n] position of the node's token in its sequences, the start token at 0."""
    ancestors: NDArray[np.bool_]
    """[n, n] True where the column's node is the row's node or stands before it."""
    edge_nodes: NDArray[np.int64]
    """[e] the node that the edge leaves."""
    edge_tokens: NDArray[np.int64]
    """[e] the token that it leads to."""
    paths: list[NDArray[np.int64]]
    """By sequence: the edges to sum."""
    last: NDArray[np.int64]
    """By sequence: the node of its last token where the sequence is open, else -1."""

    @property
    def nodes(self) -> Nodes:
        """All of its nodes."""
        return Nodes(self.tokens, self.depths, self.ancestors, self.depths)

    def ends_of(self, edges: NDArray[np.int64]) -> Nodes:
        """The tokens that some edges lead to, after all of its nodes; none sees another."""
        parents = self.edge_nodes[edges]
        depths = self.depths[parents] + 1
        sees = np.concatenate([self.ancestors[parents], np.eye(len(edges), dtype=np.bool_)], axis=1)
        return Nodes(self.edge_tokens[edges], depths, sees, np.concatenate([self.depths, depths]))


def plan(sequences: Sequence[TokenSequence], max_nodes: int) -> list[list[int]]:
    """Cut sequences into packs of at most `max_nodes` nodes (a longer single sequence is a pack of its own).

    Depends on the set of sequences alone, not on their order nor on which of them are wanted. A pack also ends,
    once it is a quarter full, where the next sequence shares nothing but the start token: so packs fall into step
    again soon after a place where sequences were added or taken out.

    Returns:
        Indices into `sequences`, by pack, each in the order of its tokens.
    """
    order = sorted(range(len(sequences)), key=lambda i: (sequences[i].tokens, sequences[i].open, sequences[i].begin))
    packs: list[list[int]] = []
    nodes = 0
    previous = TokenSequence((), open=True)  # nothing
    for index in order:
        sequence = sequences[index]
        shared = _shared(previous.tokens, sequence.tokens)
        new = sequence.nodes - min(shared, previous.nodes)
        fresh = shared <= 1 and nodes >= max_nodes // 4
        if not packs or fresh or nodes + new > max_nodes:
            packs.append([])
            nodes, new = 0, sequence.nodes
        packs[-1].append(index)
        nodes += new
        previous = sequence
    return packs


def _shared(one: Tokens, other: Tokens) -> int:
    """Length of the common beginning."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def build(sequences: Sequence[TokenSequence]) -> Trie:
    """Lay a pack of sequences out as a trie. Parents stand before their children."""
    nodes: dict[tuple[int, int], int] = {}
    edges: dict[tuple[int, int], int] = {}
    parents: list[int] = []
    depths: list[int] = []
    paths: list[NDArray[np.int64]] = []
    last: list[int] = []
    for sequence in sequences:
        node, path = -1, []
        for position, token in enumerate(sequence.tokens):
            step = (node, token)
            if position >= sequence.begin:
                path.append(edges.setdefault(step, len(edges)))
            if position == sequence.nodes:
                break
            if step not in nodes:
                nodes[step] = len(nodes)
                parents.append(node)
                depths.append(position)
            node = nodes[step]
        paths.append(np.array(path, dtype=np.int64))
        last.append(node if sequence.open else -1)
    ancestors = np.zeros((len(nodes), len(nodes)), dtype=np.bool_)
    for node, parent in enumerate(parents):
        if parent >= 0:
            ancestors[node] = ancestors[parent]
        ancestors[node, node] = True
    edge_list = np.array(list(edges), dtype=np.int64).reshape(-1, 2)
    return Trie(
        tokens=np.array([token for _, token in nodes], dtype=np.int64),
        depths=np.array(depths, dtype=np.int64),
        ancestors=ancestors,
        edge_nodes=edge_list[:, 0],
        edge_tokens=edge_list[:, 1],
        paths=paths,
        last=np.array(last, dtype=np.int64),
    )
