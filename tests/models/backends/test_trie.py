from itertools import chain

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from evenruler.models.backends.trie import (
    Nodes,
    TokenSequence,
    Trie,
    build_trie,
    seen_from,
    split_into_batches,
)

# Four sequences, start token 0:    nodes                      edges that leave them (numbered as
# they come up)
#   a: 0 1 2 3                      n0 = 0       (depth 0)     e0: n0 -> 1    e6: n0 -> 6
#   b: 0 1 2 4 5                    n1 = 0 1     (depth 1)     e1: n1 -> 2
#   c: 0 1 2       (begins a, b)    n2 = 0 1 2   (depth 2)     e2: n2 -> 3    e3: n2 -> 4
#   d: 0 6 2                        n3 = 0 1 2 4 (depth 3)     e4: n3 -> 5
#                                   n4 = 0 6     (depth 1)     e6: n4 -> 2  (e5: n0 -> 6 above it)
# 3, 5 and d's 2 are last tokens that nothing follows: edges without a node.
A = (0, 1, 2, 3)
B = (0, 1, 2, 4, 5)
C = (0, 1, 2)
D = (0, 6, 2)


def sequences(*tokens: tuple[int, ...]) -> list[TokenSequence]:
    return [TokenSequence(t) for t in tokens]


def packed(many: list[TokenSequence], max_nodes: int) -> list[list[TokenSequence]]:
    """The sequences of each pack."""
    packs = []
    for pack in split_into_batches(many, max_nodes):
        packs.append([many[place] for place in pack])
    return packs


def sees(nodes: Nodes) -> list[list[int]]:
    """[m][k] 1 where the row's token sees the column's."""
    return seen_from(nodes.places, nodes.begins, nodes.ends).astype(int).tolist()


def edges_of(tree: Trie) -> list[tuple[int, int]]:
    """The node that each edge leaves, and its token."""
    return list(zip(tree.edge_nodes.tolist(), tree.edge_tokens.tolist(), strict=True))


def test_a_trie_has_a_node_for_each_distinct_beginning_that_something_follows() -> None:
    tree = build_trie(sequences(A, B, C, D))

    assert tree.nodes.tokens.tolist() == [0, 1, 2, 4, 6]
    assert tree.nodes.depths.tolist() == [0, 1, 2, 3, 1]


def test_a_node_sees_itself_and_what_stands_before_it_in_its_own_sequences() -> None:
    tree = build_trie(sequences(A, B, C, D))

    assert sees(tree.nodes) == [
        [1, 0, 0, 0, 0],  # 0
        [1, 1, 0, 0, 0],  # 0 1
        [1, 1, 1, 0, 0],  # 0 1 2
        [1, 1, 1, 1, 0],  # 0 1 2 4
        [1, 0, 0, 0, 1],  # 0 6: neither 1, 2 nor 4
    ]


def test_edges_carry_each_distinct_step_once_and_paths_name_those_of_a_sequence() -> None:
    tree = build_trie([*sequences(A, B, C, D), TokenSequence(A, begin=3)])

    assert tree.nodes.tokens.tolist() == [0, 1, 2, 4, 6]
    leaving = [0, 1, 2, 2, 3, 0, 4]
    assert edges_of(tree) == list(zip(leaving, [1, 2, 3, 4, 5, 6, 2], strict=True))
    paths = [path.tolist() for path in tree.paths]
    assert paths == [
        [0, 1, 2],
        [0, 1, 3, 4],
        [0, 1],
        [5, 6],
        [2],
    ]


def test_last_tokens_see_what_stands_before_them_and_themselves() -> None:
    tree = build_trie(sequences(A, B, C, D))

    last = tree.ends_of(np.array([2, 4, 6]))  # of A, B and D: after n2, n3 and n4

    assert last.tokens.tolist() == [3, 5, 2]
    assert last.depths.tolist() == [3, 4, 2]
    assert sees(last) == [
        [1, 1, 1, 0, 0, 1, 0, 0],  # 0 1 2, 3
        [1, 1, 1, 1, 0, 0, 1, 0],  # 0 1 2 4, 5
        [1, 0, 0, 0, 1, 0, 0, 1],  # 0 6, 2
    ]
    assert last.seen_depths.tolist() == [0, 1, 2, 3, 1, 3, 4, 2]


def test_the_start_token_alone_needs_nothing_computed() -> None:
    tree = build_trie(sequences((0,)))

    assert len(tree.nodes.tokens) == len(tree.edge_nodes) == len(tree.paths[0]) == 0


def test_a_pack_holds_as_many_nodes_as_it_may_and_no_more() -> None:
    many = sequences(A, B, C, (0, 1, 6, 2))
    # Nodes in the order C, A, B, last: C brings 0 and 1 (2), A goes on through 2 (3), B through 4
    # (4), 6 makes 5.
    assert split_into_batches(many, 5) == [[2, 0, 1, 3]]
    # Four: the last does not fit.
    assert split_into_batches(many, 4) == [[2, 0, 1], [3]]
    # Three: C and A are full; B has four nodes of its own, a pack by itself; the last has three.
    assert split_into_batches(many, 3) == [[2, 0], [1], [3]]


def test_a_pack_ends_at_a_new_beginning_once_it_is_a_quarter_full() -> None:
    # Two nodes each (the last token has none), sharing the start token alone; a quarter of 12 is 3.
    # (0 1 x) has 2 nodes: not yet a quarter; with (0 2 x) it has 3: (0 3 x) begins the next.
    many = sequences(*((0, second, 9) for second in range(1, 5)))
    assert split_into_batches(many, 12) == [[0, 1], [2, 3]]


def sequence_from(tokens: list[int], begin: int) -> TokenSequence:
    return TokenSequence((0, *tokens), min(begin, len(tokens) + 1))


LETTERS = st.lists(st.integers(1, 3), max_size=6)
SETS = st.lists(st.builds(sequence_from, LETTERS, st.integers(1, 4)))


@given(SETS, st.integers(1, 20), st.randoms(use_true_random=False))
def test_packs_hold_every_sequence_once_and_do_not_depend_on_order(
    drawn, max_nodes, random
) -> None:
    packs = split_into_batches(drawn, max_nodes)

    assert sorted(chain(*packs)) == list(range(len(drawn)))
    shuffled = random.sample(drawn, len(drawn))
    assert packed(shuffled, max_nodes) == packed(drawn, max_nodes)


@given(SETS)
def test_a_path_spells_its_sequence_from_begin_on(drawn) -> None:
    tree = build_trie(drawn)
    nodes, seen_from_node = tree.nodes, sees(tree.nodes)

    for sequence, path in zip(drawn, tree.paths, strict=True):
        assert tree.edge_tokens[path].tolist() == list(sequence.tokens[sequence.begin :])
        for position, edge in enumerate(path, start=sequence.begin):
            (seen,) = np.nonzero(seen_from_node[tree.edge_nodes[edge]])
            assert nodes.tokens[seen].tolist() == list(sequence.tokens[:position])
            assert nodes.depths[seen].tolist() == list(range(position))
