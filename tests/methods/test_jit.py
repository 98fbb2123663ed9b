"""Start-up: where compiled code goes, for which processor, what is said, and what is not imported."""

from __future__ import annotations

import importlib
import os
import platform
import re
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import perfreg_assets
from perfreg_assets.methods import jit

ROOT = Path(perfreg_assets.__file__).parents[1]


def run(code, *, arguments=(), **environment):
    """A fresh Python that knows the package and nothing of this process's numba variables."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA_", "PERFREG_", "XDG_"))}
    return subprocess.run(
        [sys.executable, *arguments, "-c", code],
        env={**kept, "PYTHONPATH": str(ROOT), **{name: str(value) for name, value in environment.items()}},
        capture_output=True,
        text=True,
        timeout=900,  # compiling takes two minutes and more where others work beside it
        check=True,
    )


WARM_UP = "from perfreg_assets.methods.warmup import warm_up; warm_up()"


@pytest.fixture(scope="module")
def shared_cache(tmp_path_factory):
    """A folder with the kernels, in which nobody else compiles: a copy of what this machine has, as to compile them
    takes minutes."""
    of_kernels = "from perfreg_assets.methods.path_similarity_kernels import matched_steps as one"
    place = Path(
        run(f"{WARM_UP}; {of_kernels}; print(one.stats.cache_path)", NUMBA_CACHE_DIR=jit.cache_dir()).stdout[:-1]
    )
    folder = tmp_path_factory.mktemp("kernels")
    shutil.copytree(place, folder / place.name, ignore=shutil.ignore_patterns("*.tmp.*"))
    run(WARM_UP, NUMBA_CACHE_DIR=folder)  # what somebody else just wrote over
    return folder


@pytest.fixture(scope="module")
def cold(tmp_path_factory):
    """A cache filled by a warm-up of a few kernels: (folder, that process's output)."""
    folder = tmp_path_factory.mktemp("cold")
    return folder, run(FEW_KERNELS, NUMBA_CACHE_DIR=folder)


FEW_KERNELS = """
from perfreg_assets.methods import warmup
left_out = "dtw_distance", "dtw_distances", "dtw_pairwise", "align", "dba", "find_excess", "ab_join", "times_in_states"
for name in left_out:
    assert hasattr(warmup, name)
    setattr(warmup, name, lambda *given, **options: None)
warmup.warm_up()
"""


def test_a_cold_cache_is_announced_once_and_a_warm_one_is_silent(cold, shared_cache):
    folder, done = cold
    lines = done.stderr.splitlines()
    assert len(lines) == 2
    assert lines[0] == f"perfreg: compiling the numerical kernels, needed once (cached in {folder}) ..."
    assert re.fullmatch(r"perfreg: compiled ([2-9]|\d\d) functions in [0-9.]+ s", lines[1])
    assert run(FEW_KERNELS, NUMBA_CACHE_DIR=folder).stderr == ""
    assert run(WARM_UP, NUMBA_CACHE_DIR=shared_cache).stderr == ""


def test_a_cache_that_is_known_to_be_warm_is_asked_nothing_and_no_library_is_loaded(shared_cache):
    code = (
        "import sys; from perfreg_assets.methods.compiled import ensure_compiled; ensure_compiled();"
        "print('numba' in sys.modules)"
    )
    folder = shared_cache
    first = run(code, NUMBA_CACHE_DIR=folder)  # kernels are there, but nobody noted it
    assert (first.stdout, first.stderr) == ("True\n", "")
    assert run(code, NUMBA_CACHE_DIR=folder).stdout == "False\n"
    (marker,) = folder.glob("compiled-*")
    marker.rename(folder / "compiled-for-another-processor")
    assert run(code, NUMBA_CACHE_DIR=folder).stdout == "True\n"
    assert marker.exists()


def test_files_with_kernels_are_imported_without_numba_and_scipy():
    code = (
        "import sys; from perfreg_assets.methods import barycenter, calibrated_detector, detectors, discords, dtw,"
        " excess_load, history, iqr_detector, knn, leak_onset, localisation, matrix_profile, multiple_testing,"
        " path_similarity; heavy = {'numba', 'llvmlite', 'scipy'} & set(sys.modules); assert not heavy, heavy"
    )
    run(code)


def test_the_warm_up_reaches_every_kernel():
    """Those that it calls, which are plain functions here, and those that these name: to compile one compiles them."""
    code = """
import functools, importlib, pkgutil, types
import numba
kernels, reached = {}, set()

def njit(*given, **options):
    def declare(function):
        @functools.wraps(function)
        def called(*values):
            reached.add(called)
            return function(*values)
        kernels[called] = function
        return called
    return declare(given[0]) if given else declare

numba.njit = njit
from perfreg_assets import methods
for found in pkgutil.iter_modules(methods.__path__):
    importlib.import_module(f"perfreg_assets.methods.{found.name}")
from perfreg_assets.methods.warmup import warm_up, warm_up_call_logs, warm_up_reduction
warm_up()
warm_up_call_logs(lambda _: None)
warm_up_reduction(lambda _: None)

def named(function):
    places = [function.__globals__]
    places += [vars(place) for place in function.__globals__.values() if isinstance(place, types.ModuleType)]
    values = (place.get(name) for place in places for name in function.__code__.co_names)
    return {value for value in values if isinstance(value, types.FunctionType) and value in kernels}

waiting = list(reached)
while waiting:
    found = named(kernels[waiting.pop()]) - reached
    reached |= found
    waiting += found
assert len(reached) > 50
print(*(f"{one.__module__}.{one.__name__}" for one in kernels.keys() - reached), sep="\\n", end="")
"""
    assert run(code, arguments=("-W", "ignore")).stdout == ""


def test_series_that_cannot_be_written_to_are_not_compiled_for_again(shared_cache):
    """What is read from Parquet by Arrow is read-only, which is another type to numba."""
    code = """
import numpy as np
from perfreg_assets.methods.barycenter import dba
from perfreg_assets.methods.dtw import align, dtw_distance, dtw_distances, dtw_pairwise
from perfreg_assets.methods.excess_load import Compared, UsualDifferences, find_excess
from perfreg_assets.methods.leak_onset import find_onset
from perfreg_assets.methods.matrix_profile import ab_join

some, other, both = (np.random.default_rng(seed).random(shape) for seed, shape in enumerate((64, 64, (64, 2))))
for series in (some, other, both):
    series.flags.writeable = False
dtw_distance(some, other)
dtw_distance(both, both)
dtw_distances([some], other)
dtw_pairwise([some])
align(some, other)
dba([some])
find_onset(some, 1.0, 0.0)
usual = UsualDifferences([Compared(some, other), Compared(other, some)])
find_excess(usual, Compared(some, other), 1.0)
ab_join(some, other, 4)
ab_join(some, other, 4, normalize=False)
"""
    found = run(code, NUMBA_CACHE_DIR=shared_cache, NUMBA_DEBUG_CACHE=1).stdout
    assert "data loaded from" in found
    assert "data saved to" not in found  # which numba says of every function it compiles


def test_a_terminal_gets_a_line_that_counts_up(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "__stderr__", sys.stderr)
    notice = jit._CompilationNotice(None)
    notice.started("outer")
    notice.started("inner")
    notice.ended()
    notice.started("second")
    notice.ended()
    notice.ended()
    notice.close()
    first, *progress, last = capsys.readouterr().err.replace("\x1b[K", "").split("\r")
    assert first.startswith("perfreg: compiling the numerical kernels")
    assert progress == [
        "perfreg: compiled 0, now outer",
        "perfreg: compiled 0, now inner",
        "perfreg: compiled 1, now second",
    ]
    assert last == "perfreg: compiled 3 functions in 0.0 s\n"


def test_a_terminal_with_a_progress_bar_gets_whole_lines(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)  # and is not sys.__stderr__
    notice = jit._CompilationNotice(None)
    notice.started("outer")
    notice.ended()
    notice.close()
    written = capsys.readouterr().err
    assert "\r" not in written
    assert written.count("\n") == 2


def test_a_log_gets_whole_lines():
    numba = pytest.importorskip("numba")
    lines = []
    with jit.compilation_notice(lines.append):
        numba.njit(lambda x: x + 1)(1)
    assert len(lines) == 2
    assert lines[1].startswith("perfreg: compiled 1 function in ")
    with jit.compilation_notice(lines.append):
        pass
    numba.njit(lambda x: x + 2)(1)
    assert len(lines) == 2


def test_importing_methods_is_quick_and_loads_no_heavy_library():
    code = (
        "import sys, time; started = time.perf_counter(); import perfreg_assets.methods;"
        "took = time.perf_counter() - started;"
        "heavy = {'numba', 'stumpy', 'tslearn', 'sklearn', 'pandas', 'duckdb', 'dagster'} & set(sys.modules);"
        "assert not heavy, heavy; assert took < 1, took"
    )
    run(code)


def test_the_default_kernels_load_neither_stumpy_nor_tslearn(shared_cache):
    code = (
        "import sys; from perfreg_assets.methods import history, detectors, memory_recheck, warmup; warmup.warm_up();"
        "heavy = {'stumpy', 'tslearn', 'sklearn', 'pandas'} & set(sys.modules); assert not heavy, heavy"
    )
    run(code, NUMBA_CACHE_DIR=shared_cache)


SHOW = (
    "import perfreg_assets.methods, os; from numba.core import config;"
    "print(config.CACHE_DIR, config.CPU_NAME, config.CPU_FEATURES, sep='|')"
)


def test_the_cache_folder_is_the_users_then_under_home_then_xdg_then_dot_cache(tmp_path):
    def folder(**environment):
        return Path(run(SHOW, HOME=tmp_path, **environment).stdout.split("|")[0])

    own, home, xdg = tmp_path / "own", tmp_path / "home", tmp_path / "xdg"
    assert folder(NUMBA_CACHE_DIR=own, PERFREG_HOME=home, XDG_CACHE_HOME=xdg) == own
    assert folder(PERFREG_HOME=home, XDG_CACHE_HOME=xdg) == home / "cache" / "numba"
    assert folder(XDG_CACHE_HOME=xdg) == xdg / "perfreg" / "numba"
    assert folder(XDG_CACHE_HOME="relative") == tmp_path / ".cache" / "perfreg" / "numba"
    assert folder() == tmp_path / ".cache" / "perfreg" / "numba"


def test_compiled_code_lands_in_the_folder_and_nowhere_else(cold):
    assert list(cold[0].rglob("*.nbc"))
    assert not list(Path(jit.__file__).parent.rglob("*.nb[ci]"))


def test_a_folder_that_cannot_be_written_is_replaced_with_a_private_one_and_a_warning(tmp_path):
    (tmp_path / "file").write_text("in the way")
    for name in ("PERFREG_HOME", "NUMBA_CACHE_DIR"):
        environment = {name: str(tmp_path / "file"), "NUMBA_CPU_NAME": "generic"}
        with pytest.warns(RuntimeWarning, match="cannot be cached in .*file.*Set NUMBA_CACHE_DIR or PERFREG_HOME"):
            jit.configure(environment)
        fallback = Path(environment["NUMBA_CACHE_DIR"])
        assert stat.S_IMODE(fallback.stat().st_mode) == 0o700
        fallback.rmdir()


def test_the_private_folder_works_and_is_gone_when_the_process_ends(tmp_path):
    (tmp_path / "file").write_text("in the way")
    code = (
        "import numpy; from perfreg_assets.methods.matrix_profile_kernels import _index_of;"
        "assert _index_of(numpy.arange(3.0), 2.0) == 2;"
        "import os, pathlib; f = pathlib.Path(os.environ['NUMBA_CACHE_DIR']); assert list(f.rglob('*.nbc')); print(f)"
    )
    done = run(code, PERFREG_HOME=tmp_path / "file", TMPDIR=tmp_path)
    assert Path(done.stdout.strip()).parent == tmp_path
    assert done.stderr.count("cannot be cached") == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_user_without_a_home_folder_gets_the_private_one(monkeypatch):
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # what it does for an unknown user
    environment = {"NUMBA_CPU_NAME": "generic"}
    with pytest.warns(RuntimeWarning, match="there is no home folder"):
        jit.configure(environment)
    Path(environment["NUMBA_CACHE_DIR"]).rmdir()


def test_variables_set_by_the_user_are_left_alone(tmp_path):
    own = {"NUMBA_CACHE_DIR": str(tmp_path / "own"), "NUMBA_CPU_NAME": "host"}
    before = dict(own)
    jit.configure(own)
    assert own == before


def test_a_numba_imported_earlier_is_configured_as_well(tmp_path):
    shown = run(f"import numba; {SHOW}", PERFREG_HOME=tmp_path).stdout
    assert shown == run(SHOW, PERFREG_HOME=tmp_path).stdout
    assert shown.startswith(str(tmp_path))


MODERN = dict.fromkeys(["avx", "avx2", "fma", "bmi", "bmi2", "f16c", "lzcnt", "movbe", "avx512f"], True)


@pytest.mark.parametrize(
    ("machine", "features", "expected"),
    [
        ("x86_64", MODERN, {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": "+avx,+avx2,+fma"}),
        ("AMD64", {**MODERN, "avx2": False}, {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}),
        ("x86_64", {}, {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}),
        ("aarch64", MODERN, {}),
        ("arm64", {}, {}),
    ],
)
def test_the_processor_name_is_portable(machine, features, expected):
    assert jit.portable_cpu(machine, features) == expected


@pytest.mark.nightly  # compiles for that one, too
def test_results_are_the_same_bits_on_an_older_processor(shared_cache, tmp_path):
    code = (
        "import numpy as np, hashlib; from perfreg_assets.methods.barycenter import dba;"
        "from perfreg_assets.methods.matrix_profile import ab_join;"
        "from perfreg_assets.methods.dtw import dtw_pairwise;"
        "r = np.random.default_rng(0); s = [r.normal(size=150 + 7 * i).cumsum() for i in range(6)];"
        "b = dba(s).values; out = [b, dtw_pairwise(s), ab_join(s[0], b, 10), ab_join(s[0], b, 10, normalize=False)];"
        "print(hashlib.sha256(b''.join(o.tobytes() for o in out)).hexdigest())"
    )
    here = run(code, NUMBA_CACHE_DIR=shared_cache).stdout
    assert here == run(code, NUMBA_CACHE_DIR=tmp_path, NUMBA_CPU_NAME="generic", NUMBA_CPU_FEATURES="").stdout


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="Linux tells its processor's features there")
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the features are x86's")
def test_linux_and_llvm_know_the_same_features():
    llvm = importlib.import_module("llvmlite.binding").get_host_cpu_features()
    assert jit._features_by_linux() == {name: bool(llvm[name]) for name in jit._NEEDED_FEATURES}


def test_a_system_that_does_not_tell_is_asked_by_llvm(monkeypatch, tmp_path):
    monkeypatch.setattr(jit, "_CPUINFO", tmp_path / "missing")
    assert jit._features_by_linux() == {}
    (tmp_path / "cpuinfo").write_text("processor\t: 0\nmodel name\t: unknown\n")
    monkeypatch.setattr(jit, "_CPUINFO", tmp_path / "cpuinfo")
    assert jit._features_by_linux() == {}
