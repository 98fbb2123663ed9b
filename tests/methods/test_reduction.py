"""Gate, scores, calibration and what is kept, against slow definitions."""

from __future__ import annotations

import dataclasses
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import LocalOutlierFactor

from perfreg_assets.methods import reduction
from perfreg_assets.methods.reduction import (
    MODES,
    Judge,
    ReferenceTooShortError,
    excess_of,
    kept_stretches,
    learn,
    voted,
)


def stream(seed, n, odd=(), size=40):
    """Windows of `size` events of 6 types; in the odd ones the last type takes half."""
    rng = np.random.default_rng(seed)
    usual = np.array([0.4, 0.3, 0.2, 0.06, 0.04, 0.0])
    other = np.array([0.2, 0.15, 0.1, 0.03, 0.02, 0.5])
    return np.array([rng.multinomial(size, other if i in odd else usual) for i in range(n)], dtype=float)


def slow_divergence(counts, past):
    n, d = sum(counts), len(counts)
    smooth = [(c + 0.5) / (n + 0.5 * d) for c in counts]
    return sum(q * math.log(q / p) for q, p in zip(smooth, past, strict=True))


def slow_judge(reference, windows, score_of, rim=0):
    """One window after the other, as the document says."""
    past, held, told = list(reference.past), 0, []
    for counts in windows:
        kl = slow_divergence(counts, past)
        if kl <= reference.theta:
            if held:
                held -= 1
            else:
                n, d = sum(counts), len(counts)
                past = [0.999 * p + 0.001 * (c + 0.5) / (n + 0.5 * d) for p, c in zip(past, counts, strict=True)]
            told.append((kl, None, False))
            continue
        score = score_of(counts)
        is_anomalous = score >= reference.alpha
        held = rim if is_anomalous else max(held - 1, 0)
        told.append((kl, score, is_anomalous))
    return told, past


def test_seed_mode_is_the_document_exactly():
    """pmf, KL gate with merging, LOF of K = 20 from all reference windows, anomalous from 1.2 on."""
    many = 5000  # events, so that no two neighbours are equally far: which of them counts would be anybody's choice
    reference = learn(stream(1, 800, size=many), MODES["seed"])
    assert (reference.alpha, reference.around.neighbours, len(reference.around.points)) == (1.2, 20, 800)
    assert reference.around.floor == 0.0
    pmf = stream(1, 800, size=many) / many
    assert np.array_equal(reference.around.points, pmf)
    oracle = LocalOutlierFactor(n_neighbors=20, novelty=True, algorithm="kd_tree").fit(pmf)
    windows = stream(2, 300, odd=range(100, 140), size=many)
    judge = Judge(reference)
    found = judge.judge(windows)
    slow, past = slow_judge(reference, windows, lambda c: -oracle.score_samples([np.asarray(c) / many])[0])
    assert found.kl == pytest.approx([kl for kl, _, _ in slow], rel=1e-9)
    assert judge.past == pytest.approx(past, rel=1e-12)
    for score, is_anomalous, (_, slow_score, slow_anomalous) in zip(found.score, found.is_anomalous, slow, strict=True):
        assert (slow_score is None) == np.isnan(score)
        if slow_score is not None:
            assert score == pytest.approx(slow_score, rel=1e-6)
        assert is_anomalous == slow_anomalous
    assert found.is_anomalous[100:140].all()


@pytest.mark.parametrize("name", ["default", "knn"])
def test_the_other_modes_compare_roots_with_a_floor_of_one_event_and_calibrate_on_what_was_held_out(name):
    counts = stream(3, 900)
    reference = learn(counts, MODES[name])
    roots = np.sqrt(counts / 40)
    assert np.array_equal(reference.around.points, roots[:600])
    assert reference.around.floor == pytest.approx(1 / math.sqrt(40))
    held_out = roots[600:]
    scores = (
        reference.around.outlier_factors(held_out) if name == "default" else reference.around.mean_distances(held_out)
    )
    assert reference.alpha == pytest.approx(np.quantile(scores, 0.999))
    assert reference.theta == pytest.approx(
        np.quantile([slow_divergence(one, reference.past) for one in counts], 0.99), rel=1e-9
    )


@pytest.mark.parametrize("name", list(MODES))
def test_blocks_of_any_size_give_the_same_as_all_windows_at_once(name):
    reference = learn(stream(4, 600), MODES[name])
    windows = stream(5, 200, odd=range(50, 60))
    whole, pieces = Judge(reference, rim_windows=3), Judge(reference, rim_windows=3)
    at_once = whole.judge(windows)
    parts = [pieces.judge(windows[i : i + 7]) for i in range(0, 200, 7)]
    for field in ("kl", "score", "is_anomalous"):
        joined = np.concatenate([getattr(one, field) for one in parts])
        assert np.array_equal(joined, getattr(at_once, field), equal_nan=field != "is_anomalous")
    assert np.array_equal(whole.past, pieces.past)


@pytest.mark.parametrize("name", ["default", "knn"])
def test_what_is_odd_is_found_and_what_is_usual_is_not(name):
    reference = learn(stream(6, 1500), MODES[name])
    found = Judge(reference).judge(stream(7, 1000, odd=range(400, 450))).is_anomalous
    assert found[400:450].all()
    assert found.sum() <= 50 + 5


def test_what_is_stored_is_not_merged_into_the_past():
    reference = learn(stream(8, 600), MODES["default"])
    judge = Judge(reference, rim_windows=1000)
    judge.judge(stream(9, 30, odd=range(30)))
    stored = judge.past.copy()
    judge.judge(stream(10, 100))
    assert np.array_equal(judge.past, stored)


def test_windows_without_events_are_a_hang_unless_the_reference_has_them():
    empty = np.zeros((3, 6))
    always = Judge(learn(stream(11, 600), MODES["default"])).judge(empty)
    assert always.is_silent.all()
    assert always.is_anomalous.all()
    assert np.isnan(always.kl).all()
    assert np.isnan(always.score).all()
    sometimes = Judge(learn(np.vstack([stream(11, 600), empty]), MODES["default"])).judge(empty)
    assert not sometimes.is_silent.any()
    assert not sometimes.is_anomalous.any()


@pytest.mark.parametrize("mode", ["default", "knn"])
def test_what_is_like_all_of_a_regular_reference_is_usual(mode):
    """Its held-out windows have one score all, so that the quantile is no higher than any of them."""
    kinds = np.array([[20, 10, 5, 0], [19, 11, 5, 0], [20, 9, 6, 0]], float)
    regular = np.tile(kinds, (300, 1))
    known = dataclasses.replace(learn(regular, MODES[mode]), theta=-1.0)  # every window is scored
    assert not Judge(known).judge(regular).is_anomalous.any()
    assert Judge(known).judge(np.array([[20.0, 0, 5, 10]])).is_anomalous.all()


def test_a_short_reference_is_refused():
    with pytest.raises(ReferenceTooShortError, match="499 of 520 windows have events, 500 are needed"):
        learn(np.vstack([stream(12, 499), np.zeros((21, 6))]), MODES["default"])


@given(st.lists(st.tuples(st.booleans(), st.sampled_from([0.0, 0.25, 1.0, 2.0, 6.0]), st.booleans()), max_size=40))
def test_votes_equal_their_definition_and_what_is_silent_needs_none(windows):
    silent = [flag and hung for flag, _, hung in windows]
    flags, excess = [flag for flag, _, _ in windows], [above for _, above, _ in windows]
    n = len(flags)
    width = min(12, n)

    def counts(first):
        here = range(first, first + width)
        return sum(flags[k] for k in here) >= 3 and sum(excess[k] for k in here if flags[k]) >= 6

    slow = [
        silent[i] or (flags[i] and any(counts(a) for a in range(max(0, i - width + 1), min(i, n - width) + 1)))
        for i in range(n)
    ]
    assert voted(np.array(flags, bool), np.array(excess), np.array(silent, bool)).tolist() == slow


def test_what_is_hardly_above_the_threshold_counts_only_where_it_stays_so():
    score = np.full(200, np.nan)
    score[20:26] = 1.4  # drift: times the threshold
    score[60:63] = 3.1
    score[100:140] = 1.6
    score[160] = np.inf
    is_silent = np.zeros(200, bool)
    is_silent[180:183] = True
    score[184] = 1.1  # votes with what is silent beside it
    is_silent[198] = True
    found = voted((score >= 1) | is_silent, excess_of(score, 1.0, is_silent), is_silent)
    assert np.flatnonzero(found).tolist() == [60, 61, 62, *range(100, 140), 180, 181, 182, 184, 198]


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(1, 9)), max_size=12), st.integers(0, 12), st.integers(0, 20))
def test_stretches_cover_every_span_with_its_rim_and_leave_no_short_gap(spans, rim, gap):
    spans = sorted((start, start + length) for start, length in spans)
    kept = kept_stretches(spans, rim_ns=rim, gap_ns=gap, within=(10, 190))
    for start, end in spans:
        begin, stop = max(start - rim, 10), min(end + rim, 190)
        assert begin >= stop or any(a <= begin and stop <= b for a, b in kept)
    assert all(10 <= a < b <= 190 for a, b in kept)
    assert all(after[0] - before[1] >= gap for before, after in pairwise(kept))
    covered = sum(b - a for a, b in kept)
    needed = {t for start, end in spans for t in range(max(start - rim, 10), min(end + rim, 190))}
    assert covered <= len(needed) + gap * max(0, len(spans) - 1)


def test_divergence_is_zero_of_the_past_itself_and_positive_otherwise():
    counts = stream(13, 5)
    for one, smooth in zip(counts, reduction.smoothed(counts), strict=True):
        assert reduction.divergences(one[None], smooth) == pytest.approx([0.0], abs=1e-12)
    assert (reduction.divergences(counts, reduction.smoothed(counts).mean(axis=0)) >= 0).all()
