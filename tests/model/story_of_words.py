"""What people say to a warehouse, as a part of a story: reviews, settings, benchmarks, power profiles."""

from __future__ import annotations

import json
import os
from datetime import timedelta

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule
from made_power_profiles import DEVICES, PROFILES
from story_of_folders import RUNS, StoryOfFolders
from synthetic import START

from perfreg_assets.warehouse import verdicts

STATUSES = ("confirmed", "rejected", "accepted")
SETTINGS = (
    *(("omega", value) for value in ("0", "0.75", "3")),
    *(("detector", value) for value in ("default", "iqr", "screens")),
    *(("history_excludes_anomalous", value) for value in ("true", "false")),
    *(("history_same_version", value) for value in ("true", "false")),
    *(("path_similarity_minimum", value) for value in ("0.1", "0.8")),
    *(("interval_s", value) for value in ("1", "2")),
    *(("recheck", value) for value in ("dbscan", "lof")),
    *(("judged_series", value) for value in ("cpu_app,cpu_total,rss_app", "cpu_app", "power_cpu_app")),
    *(("localisation", value) for value in ("detector", "thesis")),
    *(("benchmark_change_minimum", value) for value in ("0.05", "0.5")),
    *(("duration_tolerance_ratio", value) for value in ("0.1", "1")),
    *(("power_profile", value) for value in ("device", "high.xml", "oriole")),
    ("nominal_voltage_v", "4"),
    *(("history_size", value) for value in ("3", "6")),
    *(("discord_window_s", "5"), ("barycenter_iterations", "2"), ("lof_threshold", "1")),
)
OF_TRACES = ("interval_s", "duration_tolerance_ratio", "power_profile", "nominal_voltage_v")


class StoryOfWords(StoryOfFolders):
    """Everything that is not in a run folder."""

    # ---- reviews -----------------------------------------------------------------------------------
    @rule(run_id=st.sampled_from(RUNS), status=st.sampled_from(STATUSES))
    def review(self, run_id: str, status: str) -> None:
        if run_id in self.left.taken:
            self.house.review(run_id, status)
            self.left.reviews[run_id] = status

    @rule()
    @precondition(lambda self: self.left.reviews)
    def withdraw(self) -> None:
        run_id, _ = self.left.reviews.popitem()
        self.house.withdraw(run_id)

    # ---- settings ----------------------------------------------------------------------------------
    @rule(setting=st.sampled_from(SETTINGS))
    def change(self, setting: tuple[str, str]) -> None:
        if self.left.has_unreadable and setting[0] in OF_TRACES:
            return
        self.house.change(*setting)
        self.left.settings |= dict([setting])

    @rule(omega=st.sampled_from((0.25, 1.0)), detector=st.sampled_from(("default", "iqr")))
    def evaluate(self, omega: float, detector: str) -> None:
        with self.house.warehouse.writing() as writer:
            verdicts.evaluate(writer, omega, detector)

    # ---- benchmarks --------------------------------------------------------------------------------
    @rule(number=st.integers(0, 7), version=st.sampled_from("12345"), hour=st.none() | st.integers(0, 9))
    def measure(self, number: int, version: str, hour: int | None) -> None:
        file = self.folder / "benchmarks" / f"{number}.json"
        file.parent.mkdir(exist_ok=True)
        level = 130.0 if number == 6 else 100.0 + number % 3
        raw = [[level + launch + 0.1 * k for k in range(9)] for launch in range(3)]
        metric = {"score": level, "scoreUnit": "us/op", "rawData": raw}
        entry = {"jmhVersion": str(number), "benchmark": "com.x.Bench.sort", "mode": "avgt", "primaryMetric": metric}
        file.write_text(json.dumps([entry]))
        at = (START + timedelta(hours=number)).timestamp()
        os.utime(file, (at, at))
        _, before = self.left.files.get((file, version), ("", None))
        said = None if hour is None else START + timedelta(hours=hour, minutes=1)
        (key,) = self.house.import_benchmarks([file], version, said)
        self.left.files[file, version] = key, said or before

    @rule(place=st.integers(0, 99), status=st.sampled_from(STATUSES))
    @precondition(lambda self: self.left.files)
    def review_benchmark(self, place: int, status: str) -> None:
        keys = sorted(key for key, _ in self.left.files.values())
        self.house.review_benchmark(key := keys[place % len(keys)], status)
        self.left.benchmark_reviews[key] = status

    @rule()
    @precondition(lambda self: self.left.benchmark_reviews)
    def withdraw_of_benchmark(self) -> None:
        key, _ = self.left.benchmark_reviews.popitem()
        self.house.review_benchmark(key, None)

    # ---- power profiles ----------------------------------------------------------------------------
    @rule(name=st.sampled_from(tuple(PROFILES)), device=st.sampled_from(DEVICES))
    @precondition(lambda self: not self.left.has_unreadable)
    def add_profile(self, name: str, device: str) -> None:
        self.house.add_profile(name, device)
        self.left.profiles = [one for one in self.left.profiles if one[0] != name]
        self.left.profiles.append((name, device))

    @rule(place=st.integers(0, 99))
    @precondition(lambda self: self.left.profiles and not self.left.has_unreadable)
    def remove_profile(self, place: int) -> None:
        name, _ = self.left.profiles.pop(place % len(self.left.profiles))
        self.house.remove_profile(name)
