"""Who is judged beside whom."""

import numpy as np
import pytest

from perfreg_assets import detection
from perfreg_assets.evaluation.dataset import Dataset, read_dataset
from perfreg_assets.evaluation.printed import VERDICTS, event_row, verdict_rows
from perfreg_assets.evaluation.protocol import chronological_draws, draws_of, random_draws
from perfreg_assets.methods.history import HistoryRules
from perfreg_assets.reasons import Reason, Rejected

RULES = HistoryRules(size=12, minimum=5, similarity_minimum=0.8, same_version=False, excludes_anomalous=False)


def cases(dataset, draws):
    return sum(len(draw.targets) * len(dataset.rows[draw.app]) for draw in draws)


def test_the_thesis_protocol_has_6300_cases_because_two_series_were_judged(data_dir):
    """Erratum of the thesis: with the printed three series per injected app there would be 7740."""
    dataset = read_dataset(data_dir / "simulated_noise1.parquet")
    draws = random_draws(dataset, history=12, repeats=30, seed=0)
    assert cases(dataset, draws) == 6300
    assert 3 * (50 - 12) * 30 * 1 + 3 * (28 - 12) * 30 * 2 == 6300
    assert 3 * (50 - 12) * 30 * 1 + 3 * (28 - 12) * 30 * 3 == 7740
    anomalous = sum(
        row.is_anomalous
        for draw in draws
        for runs in dataset.rows[draw.app].values()
        for row in (runs[run_id] for run_id in draw.targets)
    )
    assert anomalous == 3150


def test_the_printed_counts_add_up_and_give_the_printed_figures():
    for (tp, tn, fp, fn), printed in zip(
        VERDICTS.values(),
        [(0.628, 0.794, 0.701), (0.673, 0.689, 0.680), (0.724, 0.628, 0.673), (0.738, 0.536, 0.621)],
        strict=True,
    ):
        assert (tp + fn, tn + fp) == (3150, 3150)
        figures = (tp / (tp + fp), tp / (tp + fn), 2 * tp / (2 * tp + fp + fn))
        assert figures == pytest.approx(printed, abs=6e-4)
    assert verdict_rows()[0]["false_positive_rate"] == pytest.approx(0.470, abs=5e-4)
    assert (round(event_row()["precision"], 3), round(event_row()["recall"], 3)) == (0.779, 0.983)


def test_history_and_targets_never_share_a_run_and_histories_are_normal(data_dir):
    dataset = read_dataset(data_dir / "simulated_noise2.parquet")
    for draw in random_draws(dataset, history=12, repeats=3, seed=1):
        normal = set(dataset.normal_runs(draw.app))
        assert len(set(draw.history)) == 12
        assert set(draw.history) <= normal
        assert set(draw.targets) == set(dataset.anomalous_runs(draw.app)) | (normal - set(draw.history))


def test_a_seed_gives_the_same_draws_and_another_seed_others(data_dir):
    dataset = read_dataset(data_dir / "simulated_noise1.parquet")
    draws = random_draws(dataset, history=12, repeats=4, seed=7)
    assert draws == random_draws(dataset, history=12, repeats=4, seed=7)
    assert draws != random_draws(dataset, history=12, repeats=4, seed=8)
    assert len({draw.history for draw in draws}) == len(draws)


def test_aa_has_no_anomalous_target(data_dir):
    dataset = read_dataset(data_dir / "simulated_noise1.parquet")
    for draw in random_draws(dataset, history=12, repeats=2, seed=0, with_anomalous=False):
        assert not set(draw.targets) & set(dataset.anomalous_runs(draw.app))


def test_too_few_normal_runs_are_refused(data_dir):
    dataset = read_dataset(data_dir / "simulated_noise1.parquet")
    with pytest.raises(Rejected) as caught:
        random_draws(dataset, history=20, repeats=1, seed=0)
    assert caught.value.reason is Reason.DATASET_TOO_SMALL


def test_chronological_histories_are_those_of_the_product(data_dir):
    dataset = read_dataset(data_dir / "recorded.parquet")
    draws, without = chronological_draws(dataset, RULES)
    runs = dataset.rows["com.rig.notes"]["cpu_app"]
    in_force = [draw for draw in draws if draw.way == "path" or draw.is_stand_in]
    assert len(in_force) + sum(without.values()) == 34
    assert len({draw.targets for draw in in_force}) == len(in_force)
    assert {draw.targets for draw in draws} == {draw.targets for draw in in_force}
    of = {name: draws_of(detection.definition_of(name), draws) for name in ("default", "iqr", "screens")}
    assert of["default"] == in_force
    assert {draw.way for draw in of["iqr"]} == {"path"}
    assert {draw.way for draw in of["screens"]} == {"any_path"}
    assert len(of["iqr"]) < len(of["screens"]) <= len(in_force)
    assert draws
    for draw in draws:
        (target,) = draw.targets
        assert 5 <= len(draw.history) <= 12
        for member in draw.history:
            assert runs[member].provenance.started_at < runs[target].provenance.started_at
            assert runs[member].provenance.version_name != runs[target].provenance.version_name


def test_chronological_needs_to_know_versions_and_times(data_dir):
    dataset = read_dataset(data_dir / "simulated_noise1.parquet")
    with pytest.raises(Rejected, match="version_name"):
        chronological_draws(dataset, RULES)


def test_draws_of_an_app_do_not_depend_on_the_other_apps(data_dir):
    dataset = read_dataset(data_dir / "simulated_noise1.parquet")
    one = next(iter(dataset.rows))
    alone = random_draws(Dataset("x", {one: dataset.rows[one]}), history=12, repeats=2, seed=3)
    together = [draw for draw in random_draws(dataset, history=12, repeats=2, seed=3) if draw.app == one]
    assert alone == together
    assert np.unique([len(draw.targets) for draw in alone]).tolist() == [38]
