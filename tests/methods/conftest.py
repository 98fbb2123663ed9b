"""Slow, obvious references and example series for the numerics' tests."""

from __future__ import annotations

import math

import numpy as np
import pytest


class Reference:
    """Plain Python definitions, straight from the papers; no shared code with what they check."""

    @staticmethod
    def accumulated(x, y, radius=None, largest=None):
        """Table of cheapest sums; x (n, d) and y (m, d); cells outside the band are infinite. Differences count up to
        `largest` (d,)."""
        n, m = len(x), len(y)
        table = [[math.inf] * (m + 1) for _ in range(n + 1)]
        table[0][0] = 0.0
        for i in range(1, n + 1):
            for j in range(1, m + 1):
                if radius is not None and abs(i * m - j * n) > radius * min(n, m):
                    continue
                bounds = largest or [math.inf] * len(x[0])
                differences = zip(x[i - 1], y[j - 1], bounds, strict=True)
                cost = sum(min(abs(p - q), most) ** 2 for p, q, most in differences)
                table[i][j] = cost + min(table[i - 1][j - 1], table[i - 1][j], table[i][j - 1])
        return table

    @classmethod
    def dtw(cls, x, y, radius=None):
        return math.sqrt(cls.accumulated(rows(x), rows(y), radius)[-1][-1])

    @classmethod
    def path(cls, x, y, largest=None):
        """Cells (i, j), 0-based, last first; ties: diagonal, then i - 1."""
        x, y = rows(x), rows(y)
        table = cls.accumulated(x, y, largest=largest)
        i, j = len(x), len(y)
        cells = [(i - 1, j - 1)]
        while (i, j) != (1, 1):
            before = [(i - 1, j - 1), (i - 1, j), (i, j - 1)]
            i, j = min((cell for cell in before if min(cell) >= 1), key=lambda cell: table[cell[0]][cell[1]])
            cells.append((i - 1, j - 1))
        return cells

    @classmethod
    def dba(cls, series, length, max_iterations, tolerance=1e-5):
        """(barycenter (length, d), mean squared distance to the one before, iterations)."""
        series = [rows(one) for one in series]
        longest = max(len(one) for one in series)
        mean = np.array([np.mean([one[t] for one in series if t < len(one)], axis=0) for t in range(longest)])
        grid = np.linspace(0, 1, longest)
        center = np.stack([np.interp(np.linspace(0, 1, length), grid, column) for column in mean.T], axis=1)
        previous = math.inf
        iterations = 0
        while iterations < max_iterations:
            iterations += 1
            matched = [[] for _ in range(length)]
            cost = 0.0
            for one in series:
                cost += cls.dtw(center, one) ** 2
                for i, j in cls.path(center, one):
                    matched[i].append(one[j])
            cost /= len(series)
            center = np.array([np.mean(values, axis=0) for values in matched])
            if abs(previous - cost) < tolerance or previous < cost:
                break
            previous = cost
        return center, cost, iterations

    @staticmethod
    def ab_join(target, reference, window, normalize):
        def shape(values):
            values = np.asarray(values, float)
            return (values - values.mean()) / values.std() if normalize else values

        others = [shape(reference[j : j + window]) for j in range(len(reference) - window + 1)]
        return np.array(
            [
                min(math.sqrt(sum((shape(target[i : i + window]) - other) ** 2)) for other in others)
                for i in range(len(target) - window + 1)
            ]
        )


def rows(series):
    values = np.asarray(series, float)
    return values.reshape(len(values), -1)


@pytest.fixture(scope="session")
def reference():
    return Reference


@pytest.fixture
def rng():
    return np.random.default_rng(20261120)


@pytest.fixture(scope="session")
def sessions():
    """Makes k series like recorded ones: shared phases, each stretched differently, with noise of its own."""

    def make(count, length, *, seed=0, spread=0, dims=None, kind="cpu"):
        source = np.random.default_rng(seed)
        levels = source.random(12)
        out = []
        for _ in range(count):
            n = length + int(source.integers(-spread, spread + 1)) if spread else length
            borders = np.sort(source.random(11) * 0.1 + np.linspace(0.08, 0.92, 11))
            phase = np.searchsorted(borders, np.linspace(0, 1, n))
            columns = []
            for q in range(dims or 1):
                values = np.roll(levels, q)[phase] + 0.15 * source.random(n)
                if kind == "memory":  # bytes in pages of 4 KiB: flat stretches and exact ties
                    values = np.round(np.maximum.accumulate(values) * 2000 + 25000) * 4096.0
                columns.append(values)
            out.append(columns[0] if dims is None else np.stack(columns, axis=1))
        return out

    return make
