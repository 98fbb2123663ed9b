"""A second generator of labelled sessions, for data that nothing was tuned on."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


def write_set(rows, path):
    """Rows of the generator as a labelled data set in a file."""
    pq.write_table(pa.Table.from_pylist([{"severity": None, **row} for row in rows]), path)


class OtherGenerator:
    """Sessions of made-up apps, written after the detectors were tuned and by no rule taken from the bundled sets.

    An app has screens with a burst of load that decays, idle load and allocations; a session walks a fixed path with
    deviations, dwells and scatters by `noise`; memory warms up, grows a little and is collected now and then.
    """

    LEAKS = (3, 5, 8, 12, 20, 35)  # per cent of the median memory
    EXCESS = (5, 10, 20, 35, 60, 100, 15, 25)  # per cent of the app's core-seconds

    def __init__(self, seed, noise):
        self.generator, self.noise = np.random.default_rng(seed), noise

    def rows(self, apps=3, memory_runs=(31, 19), load_runs=(20, 8)):
        """As the thesis' table 4: apps with leaks and apps with extra load, (normal, anomalous) runs of each."""
        rows = []
        for number in range(apps):
            model = self._app()
            for index in range(sum(memory_runs)):
                _, _, memory, _ = self._session(model)
                which = index - memory_runs[0]
                truth = self._leak(memory, which) if which >= 0 else {}
                rows.append(self._row(f"memory{number}", index, "rss_app", memory, truth))
        for number in range(apps):
            model = self._app()
            for index in range(sum(load_runs)):
                app, total, _, screens = self._session(model)
                which = index - load_runs[0]
                truth = {}
                if which >= 0:
                    extra, truth = self._excess(app, screens, which)
                    app, total = app + extra, total + extra
                rows.append(self._row(f"load{number}", index, "cpu_app", app, truth))
                rows.append(self._row(f"load{number}", index, "cpu_total", total, truth))
        return rows

    @staticmethod
    def _row(app, index, series, values, truth):
        plain = {"is_anomalous": bool(truth), "anomaly_kind": None, "anomaly_start_s": [], "anomaly_end_s": []}
        run = {"app": app, "run_id": f"run-{index:03d}", "series": series, "interval_s": 1.0, "values": values.tolist()}
        return {**run, **plain, **truth}

    def _app(self):
        draw = self.generator
        count = int(draw.integers(5, 14))
        screens = [
            {
                "height": draw.gamma(2, 0.25),
                "decay": draw.uniform(0.6, 3),
                "idle": draw.uniform(0, 0.08),
                "allocates": draw.uniform(0.2, 3),
            }
            for _ in range(count)
        ]
        steps = draw.dirichlet(np.full(count, 0.5), size=count)
        path = [0]
        for _ in range(int(draw.integers(120, 300))):
            path.append(int(draw.choice(count, p=steps[path[-1]])))
        return {
            "screens": screens,
            "path": path,
            "base": draw.uniform(80, 250),
            "dwell": draw.uniform(2, 4),
            "collected_at": draw.uniform(5, 15),
        }

    def _session(self, model):
        draw, noise = self.generator, self.noise
        count = len(model["screens"])
        path = [int(draw.integers(count)) if draw.random() < 0.04 * noise else screen for screen in model["path"]]
        scale = 1 + 0.04 * noise * draw.normal()
        level, background = model["base"] * (1 + 0.012 * noise * draw.normal()), 0.25 * (1 + 0.15 * draw.normal())
        load, total, memory, screens = [], [], [], []
        heap = cache = 0.0
        for number in path:
            screen = model["screens"][number]
            height = screen["height"] * scale * draw.lognormal(0, 0.25 * noise)
            for second in range(max(1, round(draw.normal(model["dwell"], 0.5 * noise)))):
                now = height * np.exp(-second / screen["decay"]) + screen["idle"] + abs(draw.normal(0, 0.01 * noise))
                now += draw.gamma(2, 0.15) if draw.random() < 0.02 * noise else 0.0
                load.append(min(now, 4.0))
                other = background + abs(draw.normal(0, 0.05 * noise))
                other += draw.gamma(2, 0.2) if draw.random() < 0.03 * noise else 0.0
                total.append(1.05 * load[-1] + other)
                screens.append(number)
                heap += 0.6 * screen["allocates"] * draw.lognormal(0, 0.3 * noise)
                heap = 0.0 if heap > model["collected_at"] * draw.uniform(0.8, 1.2) else heap
                cache += 0.01 * model["base"] * np.exp(-len(load) / 60)
                warm = 1 - 0.7 * np.exp(-len(load) / 5)
                memory.append(1e6 * (level * warm + cache + heap + 0.2 * draw.normal()))
        return np.array(load), np.array(total), np.array(memory), np.array(screens)

    def _leak(self, memory, which):
        """Adds a leak to the memory (in place) and tells its truth."""
        severity = self.LEAKS[which % len(self.LEAKS)]
        start, end = int(self.generator.uniform(0.08, 0.55) * len(memory)), len(memory)
        height, since = severity / 100 * np.median(memory), np.arange(end - start)
        if which % 2:
            tooth = int(self.generator.integers(40, 120))
            memory[start:] += height * (since % tooth) / tooth
            starts = list(range(start, end, tooth))
            return self._truth("leak_saw", severity, [(one, min(one + tooth, end)) for one in starts])
        memory[start:] += height * since / len(since)
        return self._truth("leak_linear", severity, [(start, end)])

    def _excess(self, load, screens, which):
        """Extra load at random, on one screen or periodically; (n,) and its truth."""
        severity, draw = self.EXCESS[which % len(self.EXCESS)], self.generator
        wanted = severity / 100 * load.sum()
        places = np.zeros(len(load), dtype=bool)
        if which % 3 == 0:
            for start in draw.integers(8, len(load) - 8, max(3, int(wanted / 2.5))):
                places[start : start + int(draw.integers(2, 6))] = True
        elif which % 3 == 1:
            places = screens == draw.choice(screens)
        else:
            period, width = int(draw.integers(25, 70)), int(draw.integers(2, 5))
            for start in range(int(draw.integers(5, period)), len(load), period):
                places[start : start + width] = True
        edges = np.flatnonzero(np.diff(np.concatenate([[False], places, [False]]).astype(int)))
        truth = self._truth("cpu_excess", severity, list(zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)))
        return min(1.0, wanted / places.sum()) * places, truth

    @staticmethod
    def _truth(kind, severity, intervals):
        return {
            "is_anomalous": True,
            "anomaly_kind": kind,
            "severity": f"{severity:03d} %",
            "anomaly_start_s": [float(start) for start, _ in intervals],
            "anomaly_end_s": [float(end) for _, end in intervals],
        }
