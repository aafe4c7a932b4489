"""Token tries: sequences with common prefixes, divided into packs and laid out as one row of nodes.

A node is a token with something after it; it is computed once for all sequences through it. An edge
leads from a node to a next token and carries that token's log-probability. A final token without
continuation is an edge without a node: nothing is computed for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch

Places = TypeVar("Places", NDArray[Any], "torch.Tensor")
Tokens = tuple[int, ...]


@dataclass(frozen=True)
class TokenSequence:
    """The tokens of one request, with the start token first."""

    tokens: Tokens
    begin: int = 1  # the first token that is scored; those before are given


@dataclass(frozen=True)
class Nodes:
    """m tokens computed together, and the k tokens they may see: those computed before, and
    themselves.
    """

    tokens: NDArray[np.int64]  # [m]
    depths: NDArray[np.int64]  # [m] their positions
    places: NDArray[np.int64]  # [m] place of each in the overall order
    begins: NDArray[np.int64]  # [k] the first place that sees it, its own
    ends: NDArray[
        np.int64
    ]  # [k] past the last place that sees it; the places in between are its descendants
    seen_depths: NDArray[np.int64]  # [k] positions of the visible tokens


def seen_from(places: Places, begins: Places, ends: Places) -> Places:
    """[m, k] Which of k tokens each of m places sees; arrays or tensors, as given.

    For GPU tensors it is computed there: for thousands of nodes it would be the largest transfer.
    """
    return (places[:, None] >= begins) & (places[:, None] < ends)


@dataclass(frozen=True)
class Trie:
    """A pack of sequences as nodes and e scored edges."""

    nodes: Nodes
    """Ordered by sequence: all places up to a node's end are its descendants. The start token is at
    0."""
    edge_nodes: NDArray[np.int64]  # [e] the node where the edge starts
    edge_tokens: NDArray[np.int64]  # [e] the token that it leads to
    paths: list[NDArray[np.int64]]  # per sequence: the edges to sum

    def ends_of(self, edges: NDArray[np.int64]) -> Nodes:
        """The tokens at the ends of some edges, placed after all nodes; none sees another."""
        parents = self.edge_nodes[edges]
        depths = self.nodes.depths[parents] + 1
        room = 1 + len(edges)  # places per node: its own and one for each added token
        places = parents * room + np.arange(1, room)
        begins = np.concatenate([self.nodes.begins * room, places])
        ends = np.concatenate([self.nodes.ends * room, places + 1])
        return Nodes(
            tokens=self.edge_tokens[edges],
            depths=depths,
            places=places,
            begins=begins,
            ends=ends,
            seen_depths=np.concatenate([self.nodes.depths, depths]),
        )


def split_into_batches(sequences: Sequence[TokenSequence], max_nodes: int) -> list[list[int]]:
    """Divide sequences into packs of at most `max_nodes` nodes (or one longer sequence), as indices
    in token order.

    Depends only on the set of sequences, not on their order or on which are wanted. A pack that is
    a quarter full also ends where the next sequence shares only the start token, so that packs
    realign soon after added or removed sequences.
    """
    packs: list[list[int]] = []
    nodes, previous = 0, Tokens()
    for index in sorted(
        range(len(sequences)), key=lambda i: (sequences[i].tokens, sequences[i].begin)
    ):
        tokens = sequences[index].tokens
        shared = shared_length(previous, tokens)
        new = len(tokens) - 1 - min(shared, len(previous) - 1)
        fresh = shared <= 1 and nodes >= max_nodes // 4
        if not packs or fresh or nodes + new > max_nodes:
            packs.append([])
            nodes, new = 0, len(tokens) - 1
        packs[-1].append(index)
        nodes += new
        previous = tokens
    return packs


def shared_length(sequence: Sequence[object], other: Sequence[object]) -> int:
    """Length of the common prefix, of tokens or of their texts from servers."""
    for place, (token, other_token) in enumerate(zip(sequence, other, strict=False)):
        if token != other_token:
            return place
    return min(len(sequence), len(other))


def build_trie(sequences: Sequence[TokenSequence]) -> Trie:
    """Lay a pack out as a trie in token order, so that each node's descendants follow it
    directly.
    """
    nodes: dict[tuple[int, int], int] = {}
    edges: dict[tuple[int, int], int] = {}
    parents: list[int] = []
    depths: list[int] = []
    paths: dict[int, NDArray[np.int64]] = {}
    for index in sorted(range(len(sequences)), key=lambda i: sequences[i].tokens):
        sequence, node, path = sequences[index], -1, []
        for position, token in enumerate(sequence.tokens):
            step = (node, token)
            if position >= sequence.begin:
                path.append(edges.setdefault(step, len(edges)))
            if position == len(sequence.tokens) - 1:
                break
            if step not in nodes:
                nodes[step] = len(nodes)
                parents.append(node)
                depths.append(position)
            node = nodes[step]
        paths[index] = np.array(path, dtype=np.int64)
    ends = list(range(1, len(nodes) + 1))
    for node in reversed(range(1, len(nodes))):
        ends[parents[node]] = max(ends[parents[node]], ends[node])
    tokens = np.array([token for _, token in nodes], dtype=np.int64)
    positions = np.array(depths, dtype=np.int64)
    past = np.array(ends, dtype=np.int64)
    places = np.arange(len(nodes))
    edge_list = np.array(list(edges), dtype=np.int64).reshape(-1, 2)
    laid = Nodes(tokens, positions, places, places, past, positions)
    paths_in_order = [paths[index] for index in range(len(sequences))]
    return Trie(laid, edge_list[:, 0], edge_list[:, 1], paths_in_order)
