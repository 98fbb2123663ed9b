"""Call trees the plain way: dictionaries, strings, one call after the other."""

from __future__ import annotations

from collections import defaultdict

GAP_MS = 1000
NOISE_RATIO = 0.01


def build(rows):
    """rows: (transaction, service, label, method, elapsed_ms, time_ms or None).

    Returns (nodes, trees, counts): path -> [calls, total, self, max total, max self, parallel];
    [(transaction, service, elapsed, identity text, is orphan)]; dict of counts.
    """
    nodes = defaultdict(lambda: [0, 0.0, 0.0, 0.0, 0.0, 0])
    trees, counts = [], defaultdict(int)
    by_transaction = defaultdict(list)
    for row in rows:
        by_transaction[row[0]].append(row)
    for calls in by_transaction.values():
        pieces = split(calls)
        if pieces is None:
            counts["refused_transactions"] += 1
            counts["refused_calls"] += len(calls)
            continue
        counts["split"] += len(pieces) > 1
        for piece in pieces:
            one(piece, nodes, trees, counts)
    return dict(nodes), trees, counts


def split(calls):
    """Pieces in which no label stands twice, cut at the largest gaps in time; None: that cannot be done."""
    if len({row[2] for row in calls}) == len(calls):
        return [calls]
    if any(row[5] is None for row in calls):
        return None
    calls = sorted(calls, key=lambda row: row[5])
    gap, at = max((calls[i][5] - calls[i - 1][5], -i) for i in range(1, len(calls)))
    if gap < GAP_MS:
        return None
    halves = [split(calls[:-at]), split(calls[-at:])]
    return None if None in halves else halves[0] + halves[1]


def one(piece, nodes, trees, counts):
    at = {row[2]: row for row in piece}
    children, roots = defaultdict(list), []
    for row in piece:
        parent = row[2].rpartition(".")[0]
        if parent in at:
            children[parent].append(row)
        else:
            roots.append(row)
            counts["orphans"] += "." in row[2]

    def walk(row, path, text):
        path = (*path, row[3])
        text.append(f"{row[2]}={row[3]}")
        own = row[4] - sum(child[4] for child in children[row[2]])
        is_parallel = own < 0 and -own > NOISE_RATIO * row[4]
        counts["parallel"] += is_parallel
        own = max(own, 0.0)
        node = nodes[path]
        node[0] += 1
        node[1] += row[4]
        node[2] += own
        node[3] = max(node[3], row[4])
        node[4] = max(node[4], own)
        node[5] += is_parallel
        for child in sorted(children[row[2]], key=lambda child: [int(part) for part in child[2].split(".")]):
            walk(child, path, text)

    for root in roots:
        text = []
        walk(root, (root[1],), text)
        trees.append((root[0], root[1], root[4], "\n".join(text), "." in root[2]))
