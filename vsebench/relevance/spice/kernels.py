"""The compiled part of SPICE: merging graphs, which depends on the order of the tuples.

Ragged lists are a pair of arrays: row r is ``items[ptr[r]:ptr[r + 1]]``. A tuple is a row of three numbers:
(object, -1, -1), (object, attribute, -1) or (source, target, relation). Within a graph a *slot* is one word of one
concept. The slot of the first word, the *head*, identifies the concept; ``follow`` links it to its other slots.

The arrays of a graph: ``word`` (slot,) the word; ``follow`` (slot,) the next slot of the concept or -1; ``last``
(slot,) of a head, the last slot; ``heads`` (slot,) the head; ``nodes`` the heads of the objects; ``n_syn`` (slot,) of a
head, its number of distinct synsets; ``count`` the numbers of slots, nodes, attributes and relations. A synset z is
marked when ``mark[z]`` is the current token, a number that is increased instead of clearing the array.
"""

# mypy: allow-untyped-defs
from __future__ import annotations

import numpy as np

from ...numeric import compiled as nb

NONE = np.int64(-1)  # of one type, so that every function is compiled once
SLOTS, NODES, ATTRIBUTES, RELATIONS, TOKEN = range(5)  # indices in ``count``


@nb.njit(nogil=True, inline="always")
def _is_only(w, head, word, follow):
    """Whether a concept consists of the word ``w`` only."""
    return word[head] == w and follow[head] < 0


@nb.njit(nogil=True)
def _add(w, head, word, follow, last, heads, count):
    """Append ``w`` to the concept ``head``, or make a new concept when ``head`` is -1; returns the head."""
    slot = count[SLOTS]
    count[SLOTS] += 1
    word[slot], follow[slot] = w, -1
    if head < 0:
        head = slot
    else:
        follow[last[head]] = slot
    last[head], heads[slot] = slot, head
    return head


@nb.njit(nogil=True, inline="always")
def _mark(w, syn_ptr, syn, mark, count):
    """Mark the synsets of ``w`` with a new token, which is returned."""
    count[TOKEN] += 1
    for z in range(syn_ptr[w], syn_ptr[w + 1]):
        mark[syn[z]] = count[TOKEN]
    return count[TOKEN]


@nb.njit(nogil=True)
def _merge_if_similar(w, token, head, word, follow, last, heads, count, syn_ptr, syn, mark):
    """Append ``w``, its synsets marked, to a concept if they share a word or a synset; returns whether they do."""
    similar = contained = False
    slot = head
    while slot >= 0:
        contained = contained or word[slot] == w
        for z in range(syn_ptr[word[slot]], syn_ptr[word[slot] + 1]):
            similar = similar or mark[syn[z]] == token
        slot = follow[slot]
    if similar and not contained:
        _add(w, head, word, follow, last, heads, count)
    return similar or contained


@nb.njit(nogil=True)
def _node(w, nodes, n_syn, word, follow, last, heads, count, syn_ptr, syn, mark, seen):
    """The node of a word: that of this word only, else the most similar one (the word is appended), else a new one."""
    for k in range(count[NODES]):
        if _is_only(w, nodes[k], word, follow):
            return np.int64(nodes[k])
    token = _mark(w, syn_ptr, syn, mark, count)
    synsets = syn_ptr[w + 1] - syn_ptr[w]
    best, best_contained, best_common, largest = NONE, False, 0, 0.0
    for k in range(count[NODES]):
        count[TOKEN] += 1
        contained, common, slot = False, 0, nodes[k]
        while slot >= 0:
            contained = contained or word[slot] == w
            for z in range(syn_ptr[word[slot]], syn_ptr[word[slot] + 1]):
                if mark[syn[z]] == token and seen[syn[z]] != count[TOKEN]:
                    seen[syn[z]] = count[TOKEN]  # two words of a concept may share a synset
                    common += 1
            slot = follow[slot]
        similarity = 0.0
        if contained:
            similarity = 1.0
        elif common > 0:
            similarity = common / (synsets + n_syn[nodes[k]] - common)
        if similarity > largest:
            best, best_contained, best_common, largest = np.int64(nodes[k]), contained, common, similarity
    if best < 0:
        best = _add(w, NONE, word, follow, last, heads, count)
        nodes[count[NODES]], n_syn[best] = best, synsets
        count[NODES] += 1
    elif not best_contained:
        _add(w, best, word, follow, last, heads, count)
        n_syn[best] += synsets - best_common
    return best


@nb.njit(nogil=True)
def _link(w, a, b, links, n, word, follow, last, heads, count, syn_ptr, syn, mark):
    """Merge ``w`` into the first equal, else the first similar of the concepts ``links`` (n, 3) between nodes a and b.

    Returns False, and adds a new concept as ``links[n]``, when there is none. An attribute has b = -1.
    """
    for k in range(n):
        if links[k, 0] == a and links[k, 1] == b and _is_only(w, links[k, 2], word, follow):
            return True
    token = _mark(w, syn_ptr, syn, mark, count)
    for k in range(n):
        if links[k, 0] == a and links[k, 1] == b:  # noqa: SIM102 (the second condition merges)
            if _merge_if_similar(w, token, np.int64(links[k, 2]), word, follow, last, heads, count, syn_ptr, syn, mark):
                return True
    links[n, 0], links[n, 1] = a, b
    links[n, 2] = _add(w, NONE, word, follow, last, heads, count)
    return False


@nb.njit(nogil=True)
def build_graphs(
    start, stop, member_ptr, member, text_ptr, tuples, syn_ptr, syn, n_synset, base, slot_word, slot_head, out,
    n_slot, n_out,
):  # fmt: skip
    """Merge the tuples of the texts of each graph, in order, for graphs ``start:stop``.

    ``base`` (graph + 1,) is where the places of each graph start: as many as its tuples have words. Fills ``slot_word``
    and ``slot_head`` (place,) int32 with the words of all concepts and the places of their heads, ``out`` (place, 3)
    int32 with the tuples of the graph as places of heads, and ``n_slot`` and ``n_out`` (graph,) with their numbers.
    """
    most = 0
    for g in range(start, stop):
        most = max(most, base[g + 1] - base[g])
    follow, last, heads = np.empty(most, np.int32), np.empty(most, np.int32), np.empty(most, np.int32)
    nodes, n_syn = np.empty(most, np.int32), np.empty(most, np.int32)
    attributes = np.empty((most + 1, 3), np.int32)
    relations = np.empty((most + 1, 3), np.int32)
    mark, seen = np.zeros(n_synset, np.int64), np.zeros(n_synset, np.int64)
    count = np.zeros(5, np.int64)
    for g in range(start, stop):
        for what in range(TOKEN):
            count[what] = 0
        b = base[g]
        word = slot_word[b : base[g + 1]]
        for m in range(member_ptr[g], member_ptr[g + 1]):
            for t in range(text_ptr[member[m]], text_ptr[member[m] + 1]):
                one = _node(tuples[t, 0], nodes, n_syn, word, follow, last, heads, count, syn_ptr, syn, mark, seen)
                if tuples[t, 1] < 0:
                    continue
                if tuples[t, 2] < 0:
                    n = count[ATTRIBUTES]
                    if not _link(
                        tuples[t, 1], one, NONE, attributes, n, word, follow, last, heads, count, syn_ptr, syn, mark
                    ):
                        count[ATTRIBUTES] += 1
                    continue
                two = _node(tuples[t, 1], nodes, n_syn, word, follow, last, heads, count, syn_ptr, syn, mark, seen)
                n = count[RELATIONS]
                if not _link(
                    tuples[t, 2], one, two, relations, n, word, follow, last, heads, count, syn_ptr, syn, mark
                ):
                    count[RELATIONS] += 1
        n_slot[g] = count[SLOTS]
        for k in range(count[SLOTS]):
            slot_head[b + k] = b + heads[k]
        for k in range(count[NODES]):
            out[b, 0] = base[g] + nodes[k]
            b += 1
        for k in range(count[ATTRIBUTES]):
            out[b, 0], out[b, 1] = base[g] + attributes[k, 0], base[g] + attributes[k, 2]
            b += 1
        for k in range(count[RELATIONS]):
            for p in range(3):
                out[b, p] = base[g] + relations[k, p]
            b += 1
        n_out[g] = b - base[g]
