"""Endurance collections on the stand-in: a real writer grows a real trace, which is judged while it grows."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from click.testing import CliRunner
from standin_fixtures import TRACE

from perfreg_assets.cli import main
from perfreg_assets.cli.endurance import note_place, seconds_of
from perfreg_assets.collection.device import Device
from perfreg_assets.collection.endurance import NO_RUN, collect_endurance
from perfreg_assets.collection.errors import CollectionError
from perfreg_assets.collection.sweep import remaining, sweep
from perfreg_assets.methods.warmup import warm_up_reduction
from perfreg_assets.model.references import learned_of, reference_of
from perfreg_assets.model.trace_source import Source
from perfreg_assets.model.watching import STATUS, TraceWatch
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.cutting import cut_trace
from perfreg_assets.traces.event_types import count_events, survey
from perfreg_assets.traces.reduced import DOCUMENT
from perfreg_assets.traces.slice_uses import NO_SLICES
from perfreg_assets.warehouse import energies, references
from perfreg_assets.warehouse.connection import Warehouse
from perfreg_assets.warehouse.slice_uses import load_uses
from tests.collection.conftest import QUICK as QUICK_BENCH
from tests.traces.long_traces import write_long_trace

pytestmark = pytest.mark.device
REPOSITORY = Path(__file__).parents[2]
SECOND = 1_000_000_000
MAX_BYTES = 1 << 34
DISTURBED = (8, 10)
SETTINGS = {"reduction_window_s": 0.01, "reduction_reference_s": 5.5, "reduction_rim_s": 0.3, "reduction_gap_s": 0.3}
QUICK = {"time_limit_s": 14.0, "endurance_period_s": 1.0, "endurance_lag_s": 2.2, "endurance_way": "growing"}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Half a minute of the app with two seconds of another load. Kernels are compiled before, as by the command."""
    warm_up_reduction()
    path = write_long_trace(tmp_path_factory.mktemp("recorded") / "t", 30, DISTURBED, per_bundle=8000)
    path.write_bytes(path.read_bytes().replace(b"com.rig.media", b"com.rig.notes"))
    return path


@pytest.fixture
def endurance(bench, recorded):
    bench.device.set_trace(recorded)
    yield Endurance(bench, recorded)
    bench.device.set_trace(TRACE)


class Endurance:
    def __init__(self, bench, recorded):
        self.bench, self.recorded, self.said = bench, recorded, []
        self.settings = bench.settings.with_values(**SETTINGS)
        self.out = bench.folder / "endurance"

    def collect(self, at=None, reference=None, out=None, **options):
        happenings = dict(at or {})
        self.said = []

        def progress(now):
            self.said.append(now.message)
            for word in [word for word in happenings if word in now.message or word == now.stage]:
                happenings.pop(word)()

        return collect_endurance(
            self.bench.config(**{**QUICK, **options}),
            settings=self.settings,
            out=out or self.out,
            watching=lambda folder, lag_s: TraceWatch(folder, self.settings, reference, lag_s=lag_s),
            has_reference=reference is not None,
            progress=progress,
        )

    def fail(self, **arguments):
        with pytest.raises(CollectionError) as caught:
            self.collect(**arguments)
        return caught.value

    @property
    def folder(self):
        (folder,) = self.out.iterdir()
        return folder

    def document(self):
        return json.loads((self.folder / DOCUMENT).read_text("utf-8"))

    def files(self):
        return sorted(path.name for path in self.folder.iterdir())

    def reference(self):
        """Of the same program without the other load."""
        usual = write_long_trace(self.bench.folder / "usual", 12, (0, 0), per_bundle=8000)
        usual.write_bytes(usual.read_bytes().replace(b"com.rig.media", b"com.rig.notes"))
        with Warehouse.of(self.settings).writing() as writer:
            references.add(writer, reference_of("usual", [Source(usual)], self.settings))
        with Warehouse.of(self.settings).reading() as reader:
            return learned_of(reader, "usual", self.settings)[0]

    def assert_disturbance_is_kept(self, told):
        start = told["windows"][0]["start_ns"]
        kept = [(one["start_ns"] - start, one["end_ns"] - start) for one in told["stretches"]]
        # The replay begins a bundle's two seconds when its first event is due, some tens of milliseconds late.
        assert any(a <= 8.0 * SECOND and b >= 9.9 * SECOND for a, b in kept), kept
        assert sum(b - a for a, b in kept) < 6 * SECOND
        stored = {(part["start_ns"], part["end_ns"]) for one in told["files"] for part in one["stretches"]}
        assert sum(b - a for a, b in stored) >= sum(b - a for a, b in kept)


def spans(path):
    """(first, last) of each bundle of events in a trace."""
    return count_events(path, MAX_BYTES, survey(path, MAX_BYTES), (), SECOND).bundles[:, :2].tolist()


def test_what_is_unusual_is_stored_while_the_recording_grows_and_nothing_stays_behind(endurance):
    result = endurance.collect()
    told = endurance.document()
    endurance.assert_disturbance_is_kept(told)
    assert told["state"] == "complete"
    assert result.run_folder == endurance.folder
    assert endurance.files() == [*(one["name"] for one in told["files"]), STATUS, DOCUMENT]
    # Bundles of two seconds stay whole, of some twelve; those in which it ends are among them.
    assert told["bytes_after"] < 0.8 * told["bytes_before"]
    assert told["run"]["app"] == "com.rig.notes"
    assert told["run"]["path"]
    assert any("s judged" in text for text in endurance.said)  # long before the end
    assert result.record.run_id == told["run"]["run_id"]
    endurance.bench.assert_clean()


def test_the_command_leaves_a_page_and_rows_in_the_warehouse(endurance, monkeypatch):
    for name, value in SETTINGS.items():
        monkeypatch.setenv(f"PERFREG_{name.upper()}", str(value))
    skipped = ("time_limit_s", "connect_timeout_s")
    given = {name: value for name, value in {**QUICK_BENCH, **QUICK}.items() if name not in skipped}
    options = [part for name, value in given.items() for part in ("--option", f"{name}={json.dumps(value)}")]
    warehouse = endurance.settings.warehouse
    arguments = ["collect", "--app", "com.rig.notes", "--device", endurance.bench.device.serial, "--endurance", "13s"]
    result = CliRunner().invoke(
        main, [*arguments, "--out", str(endurance.out), "--warehouse", str(warehouse), *options]
    )
    assert result.exit_code == 0, result.output
    assert str(endurance.folder) in result.stdout
    assert "s kept in" in result.stdout
    page = (endurance.folder / "perfreg.reduction.html").read_text("utf-8")
    assert f"/reduced/{endurance.folder.name}/kept-0001.perfetto-trace" in page
    with Warehouse.of(endurance.settings).reading() as reader:
        (collected,) = reader.dicts("SELECT run_id, state FROM core.collections")
        (run,) = reader.dicts("SELECT run_id, state, is_trace_reduced, run_verdict FROM marts.runs")
        series = dict(reader.rows('SELECT series, list_sum("values") FROM marts.series_arrays WHERE NOT is_missing'))
        (reduced,) = reader.dicts("SELECT run_id, bytes_before, bytes_after, window_count FROM marts.reductions")
        (cost,) = energies.find(reader, [run["run_id"]]).values()
        slices = load_uses(reader, [run["run_id"]])[run["run_id"]]
    told = endurance.document()
    # What it lacks is what was not recorded, not that it was read in parts.
    assert "no CPU frequencies" in cost.reason
    assert cost.duration_s >= 12.0  # longer where the machine has others to serve
    assert slices == NO_SLICES
    explored = told["run"]["exploration"]
    times = [step["ts_ns"] for step in told["run"]["path"]]
    assert explored["start_ns"] <= times[0] < times[-1] <= explored["end_ns"]
    assert collected == {"run_id": told["run"]["run_id"], "state": "collected"}
    # The whole recording is what the run is judged by, though most of it is not stored.
    expected = {"run_id": told["run"]["run_id"], "state": "complete", "is_trace_reduced": True}
    assert run == {**expected, "run_verdict": "not_enough_history"}
    assert series["cpu_app"] == pytest.approx(26.0, abs=0.5)  # two cores, 13 s
    assert sum(b["end_ns"] - b["start_ns"] for b in told["stretches"]) < 6 * SECOND
    assert (reduced["bytes_before"], reduced["bytes_after"]) == (told["bytes_before"], told["bytes_after"])
    assert reduced["window_count"] == len(told["windows"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--app", "a.b", "--endurance", "soon"], "write a time such as 6h"),
        (["--endurance", "6h"], "name the app"),
        (["--app", "a.b", "--reference", "usual"], "--reference goes with --endurance"),
        (["--app", "a.b", "--endurance", "6h", "--repeats", "3"], "leave --repeats out"),
        (["--app", "a.b", "--option", "app=a.c"], "--option app: say it by --app"),
        (["--app", "a.b", "--option", "serial=R5CT30"], "--option serial: say it by --device"),
        (
            ["--app", "a.b", "--explorer", "command", "--explorer-command", "a 'b"],
            "--explorer-command a 'b: No closing",
        ),
    ],
)
def test_what_cannot_be_meant_is_refused(arguments, said, tmp_path):
    result = CliRunner().invoke(main, ["collect", *arguments, "--warehouse", str(tmp_path / "w.duckdb")])
    assert result.exit_code not in (0, 3)
    assert said in result.stderr
    assert "Traceback" not in result.stderr


AS_IT_BEGINS = """
import os, sys
from pathlib import Path
from numba.core.dispatcher import Dispatcher
from perfreg_assets.cli.endurance import endure
from perfreg_assets.collection import endurance
from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.methods import packet_scanner, warmup
from perfreg_assets.settings import Settings

def ready():
    kernels = [one for one in vars(packet_scanner).values() if isinstance(one, Dispatcher)]
    return sum(len(kernel.signatures) for kernel in kernels)

def begin(*_, **__):
    before = ready()
    warmup.warm_up_reduction()
    print(ready() - before, flush=True)
    os._exit(0)

endurance.collect_endurance = begin
settings = Settings(home=Path(sys.argv[1]), warehouse=Path(sys.argv[1], "w.duckdb"))
endure(settings, CollectionConfig(app="a.b", serial="none"), None, None)
"""


def test_what_judges_is_compiled_before_the_recording_begins(tmp_path):
    """It takes up to a minute once, in which nobody would look after the session: a short one was over by then."""
    command = [sys.executable, "-c", AS_IT_BEGINS, str(tmp_path)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=900, check=True)
    assert done.stdout == "0\n"


def test_hours_minutes_and_seconds():
    assert [seconds_of(text) for text in ("6h", "90m", "30s", "1800", "1.5h")] == [21600, 5400, 30, 1800, 5400]


def test_the_command_names_the_reason_code_of_one_that_fails(endurance):
    arguments = ["collect", "--app", "com.rig.none", "--device", endurance.bench.device.serial, "--endurance", "13s"]
    result = CliRunner().invoke(main, [*arguments, "--warehouse", str(endurance.settings.warehouse)])
    assert result.exit_code == 1
    assert "perfreg: [app_not_installed] com.rig.none on " in result.stderr


def test_a_cable_that_is_pulled_for_a_while_loses_nothing(endurance):
    device = endurance.bench.device

    def pull():
        device.unplug()
        threading.Timer(1.5, device.plug).start()

    endurance.collect(at={"s judged": pull}, reconnect_timeout_s=20.0)
    told = endurance.document()
    endurance.assert_disturbance_is_kept(told)
    assert told["unseen"] == []
    endurance.bench.assert_clean()


def test_a_device_that_stays_away_keeps_what_was_not_judged_until_it_is_back(endurance):
    device = endurance.bench.device
    error = endurance.fail(at={"s judged": device.unplug}, reconnect_timeout_s=0.5)
    assert error.reason is Reason.DEVICE_LOST
    assert any("not judged yet" in text for text in remaining(endurance.settings))
    device.plug()
    swept = sweep(endurance.settings, serial=device.serial, connect_timeout_s=10)
    assert swept.remaining == ()
    assert_nothing_is_lost(endurance)
    endurance.bench.assert_clean()


KILLED = """
import os, signal, sys
from itertools import pairwise
from pathlib import Path
sys.path[:0] = [sys.argv[3], sys.argv[3] + "/tests/device", sys.argv[3] + "/tests/collection"]
from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.cli import main
from perfreg_assets.cli.endurance import seconds_of
from perfreg_assets.collection.endurance import NO_RUN, collect_endurance
from perfreg_assets.model.watching import TraceWatch
from perfreg_assets.settings import Settings
from test_endurance import QUICK, SETTINGS
from conftest import QUICK as BENCH

folder, serial = Path(sys.argv[1]), sys.argv[2]
settings = Settings(home=folder / "home", warehouse=folder / "w.duckdb", **SETTINGS)

def progress(now):
    if "s judged" in now.message:
        os.kill(os.getpid(), signal.SIGKILL)

collect_endurance(
    CollectionConfig(**{"app": "com.rig.notes", "serial": serial, **BENCH, **QUICK}), settings=settings,
    out=folder / "endurance", has_reference=False, progress=progress,
    watching=lambda where, lag_s: TraceWatch(where, settings, None, lag_s=lag_s))
"""


def assert_nothing_is_lost(endurance):
    """Every event after what was judged is in what was fetched, or was stored."""
    status = json.loads((endurance.folder / STATUS).read_text("utf-8"))
    assert "unjudged.perfetto-trace" in endurance.files()
    found = spans(endurance.folder / "unjudged.perfetto-trace")
    judged = status["judged_until_ns"]
    later = [span for span in found if span[1] >= judged]
    assert later
    per_core = len(later) // 2
    assert max(last for _, last in later) - judged <= (per_core + 1) * 2 * SECOND  # without a hole


def test_a_collection_that_is_killed_loses_nothing_and_is_judged_to_its_end(endurance, monkeypatch):
    bench = endurance.bench
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(KILLED), str(bench.folder), bench.device.serial, str(REPOSITORY)],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)}, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGKILL, done.stderr
    swept = sweep(endurance.settings, serial=bench.device.serial, connect_timeout_s=10)
    assert swept.remaining == ()
    assert_nothing_is_lost(endurance)
    bench.assert_clean()
    note_place(endurance.settings, endurance.out)
    monkeypatch.setenv("PERFREG_HOME", str(endurance.settings.home_dir))
    judged_before = json.loads((endurance.folder / STATUS).read_text("utf-8"))["judged_until_ns"]
    result = CliRunner().invoke(main, ["collect", "--sweep", "--warehouse", str(endurance.settings.warehouse)])
    assert result.exit_code == 0, result.output
    told = endurance.document()
    assert told["state"] == "killed"
    assert endurance.files() == [*(one["name"] for one in told["files"]), STATUS, "perfreg.reduction.html", DOCUMENT]
    starts = [one["start_ns"] for one in told["windows"]]
    assert {b - a for a, b in pairwise(starts)} == {SECOND // 100}
    assert starts[-1] > judged_before + 2 * SECOND
    with Warehouse.of(endurance.settings).reading() as reader:
        assert reader.rows("SELECT count(*) FROM marts.reductions") == [(1,)]
        assert reader.rows("SELECT count(*) FROM marts.runs") == [(0,)]
        ((run_id, state, code, reason),) = reader.rows(
            "SELECT run_id, state, reason_code, reason FROM core.collections"
        )
    assert (run_id, state, code) == (None, "failed", Reason.COLLECTION_INTERRUPTED.code)
    assert NO_RUN in reason
    assert NO_RUN in result.stderr


@pytest.fixture
def small_disk(tmp_path):
    """A file system that the recording does not fit on."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=420k", "tmpfs", str(folder)], check=True)
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_that_fills_up_ends_the_recording_and_what_is_not_judged_stays_on_the_device(endurance, small_disk):
    endurance.out = small_disk / "endurance"
    error = endurance.fail()
    assert error.reason is Reason.HOST_NO_SPACE
    assert any("not judged yet" in text for text in error.leftovers)
    assert endurance.bench.device.processes_named("perfetto") == []
    subprocess.run(["mount", "-o", "remount,size=64m", str(small_disk)], check=True)
    swept = sweep(endurance.settings, serial=endurance.bench.device.serial, connect_timeout_s=10)
    assert swept.remaining == ()
    assert "unjudged.perfetto-trace" in endurance.files()
    endurance.bench.assert_clean()


def test_rounds_where_the_shell_may_not_read_what_grows(endurance):
    endurance.bench.device.set_faults(dd="refuse")
    endurance.collect(endurance_way="auto", endurance_period_s=0.7)
    told = endurance.document()
    assert any("judged one by one" in text for text in endurance.said)
    assert told["unseen"] == []
    # Each round of the replay begins the recorded half minute anew: what is told is that rounds are joined.
    starts = [one["start_ns"] for one in told["windows"]]
    assert {b - a for a, b in pairwise(starts)} == {SECOND // 100}
    endurance.bench.assert_clean()


def test_copies_of_the_buffers_where_the_device_makes_them(endurance):
    endurance.bench.device.set_faults(clones=True)
    learned = endurance.reference()
    endurance.collect(reference=learned, endurance_way="auto", endurance_period_s=2.0)
    told = endurance.document()
    assert any("copies of" in text for text in endurance.said)
    endurance.assert_disturbance_is_kept(told)
    assert told["unseen"] == []
    endurance.bench.assert_clean()


@pytest.fixture
def cable(monkeypatch):
    """Is pulled for a moment at one call of those of a kind, before it or when it is done."""

    def pulled_at(name, number, *, of=lambda *_arguments: True, is_done=False):
        call, calls = getattr(Device, name), []

        def once(device, *arguments, **options):
            calls.extend([True] if of(*arguments) else [])
            is_it = bool(of(*arguments)) and len(calls) == number
            done = call(device, *arguments, **options) if is_done or not is_it else None
            if is_it:
                raise Rejected(Reason.DEVICE_LOST, "the cable was pulled")
            return done

        monkeypatch.setattr(Device, name, once)

    return pulled_at


def starts_perfetto(argv, *_arguments):
    return argv[0] == "perfetto" and "-o" in argv


@pytest.mark.parametrize(
    ("way", "call", "options"),
    [
        ("clones", "pull", {}),
        ("clones", "remove", {}),
        ("clones", "run", {"of": starts_perfetto, "is_done": True}),
        ("rounds", "remove", {"is_done": True}),
        ("rounds", "run", {"of": starts_perfetto, "is_done": True}),
    ],
)
def test_of_a_collection_that_came_to_its_end_nothing_is_judged_again(endurance, cable, way, call, options):
    """A copy that was being fetched, and a round that was being begun, when the cable was pulled."""
    endurance.bench.device.set_faults(clones=True)
    learned = endurance.reference() if way == "clones" else None
    cable(call, 2, **options)
    period_s = 2.0 if way == "clones" else 0.7
    result = endurance.collect(reference=learned, endurance_way=way, endurance_period_s=period_s, time_limit_s=8.0)
    assert any("the cable was pulled" in text for text in endurance.said) or call == "remove"
    told = endurance.document()
    assert (told["state"], told["unseen"], result.leftovers) == ("complete", [], ())
    assert endurance.files() == [*(one["name"] for one in told["files"]), STATUS, DOCUMENT]
    endurance.bench.assert_clean()


def test_a_round_whose_begin_was_cut_off_does_not_record_beside_the_others(endurance, cable):
    running = []
    cable("run", 2, of=starts_perfetto, is_done=True)

    def look():
        running.append(len(endurance.bench.device.processes_named("perfetto")))

    endurance.collect(at={"stop": look}, endurance_way="rounds", endurance_period_s=0.7, time_limit_s=8.0)
    assert any("the cable was pulled" in text for text in endurance.said)
    assert running == [1]
    endurance.bench.assert_clean()


def test_when_too_much_waits_on_the_device_it_is_kept_unjudged(endurance):
    endurance.collect(endurance_backlog_bytes=1)
    windows = endurance.document()["windows"]
    unjudged = [index for index, window in enumerate(windows) if window["reason"] == "not_judged"]
    # From where the reference ends. What follows the last byte read before the end is judged: nothing waits any more.
    assert unjudged[0] <= 600
    assert unjudged == list(range(unjudged[0], unjudged[-1] + 1))
    assert len(unjudged) > 100
    assert all(windows[index]["is_kept"] for index in unjudged)
    endurance.bench.assert_clean()


def test_parts_of_the_spool_are_cut_for_what_goes_on(recorded, tmp_path):
    windows = count_events(recorded, MAX_BYTES, survey(recorded, MAX_BYTES), (), SECOND)
    sizes = []
    for goes_on in (False, True):
        target = tmp_path / str(goes_on)
        with target.open("wb") as file:
            cut_trace(recorded, MAX_BYTES, [], windows.bundles, file.write, goes_on=goes_on)
        sizes.append(target.stat().st_size)
    assert sizes[0] <= sizes[1] < recorded.stat().st_size / 10
