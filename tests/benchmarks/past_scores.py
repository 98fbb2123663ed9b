"""What recall a threshold learned from an app's own earlier scores costs: `past_scores.py [developers] [16]`.

Long lives of made-up apps (row "base" of `perfreg evaluate … --protocol shifts`, versions until 300 runs have been
judged): by the number of earlier scores, what `calibrated` finds at nominal .05, and what the theory finds with its
threshold moved to as many false alarms, which is known from all apps together.
"""

from __future__ import annotations

import sys
from itertools import pairwise

import numpy as np

from perfreg_assets.detection import definition_of
from perfreg_assets.evaluation import shift_streams
from perfreg_assets.evaluation.recalibrating import NULLS, recalibrate
from perfreg_assets.evaluation.shift_judging import JudgedRun, judge_runs, score_versions
from perfreg_assets.evaluation.shifts import recall_at
from perfreg_assets.methods.calibration import omega_of_level
from perfreg_assets.methods.detectors import make_detector
from perfreg_assets.methods.omega_rule import critical_omega, is_anomalous
from perfreg_assets.settings import Settings

LEVEL = 0.05
VERSIONS = 80
PASTS = (4, 16, 30, 60, 120, 200, 10**9)


def row(learned: list[JudgedRun], theory: list[JudgedRun]) -> str:
    omega = omega_of_level(LEVEL)
    is_worse = np.array([one.is_anomalous for one in learned])
    alarms = np.array([is_anomalous(one.score, omega) for one in learned])
    looks = np.array([critical_omega(one.score) for one in theory])
    rate, recall = float(alarms[~is_worse].mean()), float(alarms[is_worse].mean())
    moved = recall_at(looks[~is_worse].tolist(), looks[is_worse].tolist(), rate)
    counts = f"{(~is_worse).sum()} normal runs, {is_worse.sum()} with a regression"
    return f"false alarms {rate:.3f}, recall {recall:.3f}, moved {moved:.3f}, lost {moved - recall:+.3f} ({counts})"


def main() -> None:
    family, apps = (sys.argv[1:] + ["developers", "16"][len(sys.argv) - 1 :])[:2]
    shift_streams.VERSIONS = VERSIONS
    detector, rule = make_detector("default", vars(Settings())), definition_of("default").run_rule
    for noise in (1.0, 2.0):
        learned: list[JudgedRun] = []
        theory: list[JudgedRun] = []
        for app in range(int(apps)):
            steps = list(shift_streams.stream(family, shift_streams.SHIFTS[0], noise=noise, seed=0, number=app))
            scored = score_versions(steps, detector)
            theory += judge_runs(scored, app, rule)
            learned += judge_runs(recalibrate(scored, NULLS["calibrated"]), app, rule)
        for least, most in pairwise(PASTS):
            places = [place for place, one in enumerate(learned) if least <= one.past < most]
            told = row([learned[place] for place in places], [theory[place] for place in places])
            print(f"{family}, noise {noise:g}, {least} earlier scores and more: {told}", flush=True)


if __name__ == "__main__":
    main()
