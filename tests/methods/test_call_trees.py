"""Call trees out of labels: equal to a plain reference, whatever the order of the lines, with every oddity counted."""

from __future__ import annotations

import importlib.util
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfreg_assets.methods.call_trees import build_trees, incomplete_ratio


def _beside(name):
    spec = importlib.util.spec_from_file_location(name, Path(__file__).parent / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


columns = _beside("call_columns").columns
reference = _beside("call_trees_reference")


def trees_of(rows):
    return build_trees(columns(rows))


def nodes_of(trees):
    """Path -> [calls, total, self, max total, max self, parallel calls]."""
    n = trees.nodes
    values = zip(n.call_count, n.total_ms, n.self_ms, n.max_total_ms, n.max_self_ms, n.parallel_count, strict=True)
    return dict(zip(trees.paths(), (list(row) for row in values), strict=True))


def same_as_reference(rows):
    trees = trees_of(rows)
    nodes, expected, counts = reference.build([(*row, None)[:6] for row in rows])
    found = nodes_of(trees)
    assert set(found) == set(nodes)
    for path, values in nodes.items():
        assert found[path] == pytest.approx(values, rel=1e-9, abs=1e-9), path
    told = trees.counts
    assert (told.call_count, told.orphan_count, told.parallel_count) == (
        len(rows),
        counts["orphans"],
        counts["parallel"],
    )
    assert told.split_transaction_count == counts["split"]
    assert (told.refused_transaction_count, told.refused_call_count) == (
        counts["refused_transactions"],
        counts["refused_calls"],
    )
    t = trees.trees
    plain = sorted(
        (trees.transactions[a], trees.services[b], float(c), bool(d))
        for a, b, c, d in zip(t.transaction, t.service, t.elapsed_ms, t.is_orphan, strict=True)
    )
    assert plain == sorted((tx, service, elapsed, orphan) for tx, service, elapsed, _, orphan in expected)
    by_text = {}
    for *_, text, _ in expected:
        by_text[text] = by_text.get(text, 0) + 1
    assert sorted(trees.multiplicities().values()) == sorted(by_text.values())
    return trees


def test_a_child_is_found_by_its_label_and_time_is_taken_from_its_parent():
    trees = trees_of(
        [("t", "S", "1", "a", 10), ("t", "S", "1.1", "b", 6), ("t", "S", "1.1.2", "c", 1), ("t", "S", "1.2", "d", 3)]
    )
    own = {path: values[2] for path, values in nodes_of(trees).items()}
    assert own == {("S", "a"): 1, ("S", "a", "b"): 5, ("S", "a", "b", "c"): 1, ("S", "a", "d"): 3}
    assert trees.nodes.depth.tolist() == [0, 1, 2, 1]
    assert trees.nodes.self_ms.sum() == trees.service_total_ms.sum() == 10


labels = st.lists(st.integers(1, 3), min_size=1, max_size=4).map(lambda parts: ".".join(map(str, parts)))
calls = st.tuples(
    st.sampled_from(["t1", "t2", "t3"]), st.sampled_from(["S", "T"]), labels, st.sampled_from("abcd"),
    st.sampled_from([0.0, 1.0, 2.5, 10.0, 100.0]), st.sampled_from([0, 10, 2000, 2500, 9000, 20000, None]),
)  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.lists(calls, min_size=1, max_size=40), st.randoms(use_true_random=False))
def test_trees_are_those_of_the_reference_in_any_order(rows, chance):
    """Whole trees are likely among so few labels, and so are orphans, parallel calls and ids used twice."""
    trees = same_as_reference(rows)
    shuffled = list(rows)
    chance.shuffle(shuffled)
    again = trees_of(shuffled)
    assert list(nodes_of(again)) == list(nodes_of(trees))
    np.testing.assert_allclose(list(nodes_of(again).values()), list(nodes_of(trees).values()), rtol=1e-9, atol=1e-9)
    assert again.multiplicities() == trees.multiplicities()


def test_a_large_log_is_that_of_the_reference_and_no_time_is_lost():
    chance = random.Random(3)
    rows = []
    for transaction in range(300):
        tree = {"1": "m0"}
        while len(tree) < chance.choice((1, 5, 40, 200)):
            above = chance.choice(list(tree))
            tree[f"{above}.{sum(label.rpartition('.')[0] == above for label in tree) + 1}"] = f"m{chance.randrange(30)}"
        own = {label: chance.random() for label in tree}
        total = {
            label: sum(t for other, t in own.items() if other == label or other.startswith(f"{label}."))
            for label in tree
        }
        rows += [(f"t{transaction}", f"S{transaction % 3}", label, name, total[label]) for label, name in tree.items()]
    chance.shuffle(rows)  # interleaved, and children before their parents
    trees = same_as_reference(rows)
    assert trees.nodes.self_ms.sum() == pytest.approx(trees.trees.elapsed_ms.sum(), rel=1e-9)
    assert trees.counts.orphan_count == trees.counts.parallel_count == 0
    parents = trees.nodes.parent
    assert (parents < np.arange(len(parents))).all(), "a parent stands before its children"


def test_children_longer_than_their_parent_ran_at_the_same_time():
    trees = trees_of([("t", "S", "1", "a", 10), ("t", "S", "1.1", "b", 8), ("t", "S", "1.2", "c", 9)])
    assert trees.nodes.self_ms.tolist() == [0, 8, 9]
    assert trees.nodes.parallel_count.tolist() == [1, 0, 0]
    noisy = trees_of([("t", "S", "1", "a", 10), ("t", "S", "1.1", "b", 10.05)])
    assert (noisy.counts.parallel_count, noisy.counts.clipped_count) == (0, 1)
    assert noisy.nodes.self_ms.tolist() == [0, 10.05]


def test_an_orphan_is_a_root_of_its_own_and_too_many_make_the_log_incomplete():
    rows = [(f"t{i}", "S", "1", "a", 5) for i in range(19)]
    trees = trees_of([*rows, ("u", "S", "1.4", "b", 2)])
    assert trees.counts.orphan_count == 1
    assert ("S", "b") in nodes_of(trees)
    assert trees.service_call_count.tolist() == [19], "an orphan is no call of the service"
    assert incomplete_ratio(trees.counts) == 0.05
    assert incomplete_ratio(trees.counts, refused_line_count=1) > 0.05


def test_an_id_used_twice_is_split_by_time_or_refused():
    first = [("t", "S", "1", "a", 9, 0), ("t", "S", "1.1", "b", 4, 3)]
    later = [("t", "S", "1", "a", 7, 60_000), ("t", "S", "1.1", "c", 2, 60_001)]
    trees = trees_of([first[0], later[1], first[1], later[0]])
    assert {path: v[2] for path, v in nodes_of(trees).items()} == {
        ("S", "a"): 10,
        ("S", "a", "b"): 4,
        ("S", "a", "c"): 2,
    }
    assert (trees.counts.split_transaction_count, trees.counts.refused_call_count) == (1, 0)
    assert len(trees.trees) == 2
    for gap in (500, None):
        near = trees_of([*first, *((*row[:5], gap and row[5] - 60_000 + gap) for row in later)])
        assert (near.counts.refused_transaction_count, near.counts.refused_call_count) == (1, 4)
        assert len(near.nodes) == 0


def test_recursion_holds_the_method_twice_and_names_the_outermost():
    trees = trees_of([("t", "S", "1", "a", 10), ("t", "S", "1.1", "b", 8), ("t", "S", "1.1.1", "a", 5)])
    assert ("S", "a", "b", "a") in nodes_of(trees)
    assert trees.nodes.is_outermost.tolist() == [True, True, False]


def test_equal_trees_are_counted_across_logs():
    rows = [("t1", "S", "1", "a", 10), ("t1", "S", "1.1", "b", 8), ("t2", "S", "1", "a", 3), ("t2", "S", "1.1", "b", 1)]
    other = [("t3", "S", "1", "a", 3), ("t3", "S", "1.2", "b", 1)]
    first, second = trees_of([*rows, *other]), trees_of(rows)
    assert sorted(first.multiplicities().values()) == [1, 2]
    assert set(second.multiplicities()) < set(first.multiplicities()), "the identity does not depend on the log"


def test_labels_are_ordered_by_number_not_by_text():
    rows = [("t", "S", "1", "a", 100)] + [("t", "S", f"1.{i}", f"m{i % 2}", 1) for i in range(1, 13)]
    same_as_reference(rows)


def test_a_service_of_thousands_of_nodes_and_a_transaction_of_thousands_of_calls():
    rows = [("t", "S", "1", "root", 1e6)] + [("t", "S", f"1.{i}", f"m{i}", i) for i in range(1, 5000)]
    rows += [("u", "S", ".".join(["1"] * depth), f"d{depth}", 200 - depth) for depth in range(1, 150)]
    random.Random(1).shuffle(rows)
    trees = same_as_reference(rows)
    assert len(trees.nodes) == 5000 + 149
