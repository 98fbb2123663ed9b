"""A suite's programs on a device: Java as dex in a runtime of its own, native programs, instrumented tests."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from perfreg_assets.benchmarks import java_sources
from perfreg_assets.benchmarks.machine import Ended, Remote
from perfreg_assets.benchmarks.programs import arguments_of, has_error, timeout_of
from perfreg_assets.benchmarks.suite import Configured, Suite, is_golden
from perfreg_assets.methods.adequacy import Caveat
from perfreg_assets.reasons import Reason, Rejected

INSTRUMENTATION_S = 900.0
"""An instrumented test has phases of its own, which a suite does not know."""
_RESULT_ENDING = "benchmarkData.json"


class OnDevice:
    """A device as a place to measure.

    Args:
        d8: Android's dex compiler; None: looked for.
    """

    def __init__(self, remote: Remote, d8: Path | None = None) -> None:
        self._remote = remote
        self._d8 = d8

    @property
    def name(self) -> str:
        return self._remote.name

    @property
    def environment(self) -> Mapping[str, Any]:
        return self._remote.environment

    def programs(self, suite: Suite) -> DevicePrograms:
        return DevicePrograms(suite, self._remote, self._d8)

    def caveats(self) -> list[Caveat]:
        return self._remote.caveats()


class DevicePrograms:
    """A suite's programs there; what they need is compiled and copied once."""

    def __init__(self, suite: Suite, remote: Remote, d8: Path | None) -> None:
        self._suite = suite
        self._remote = remote
        self._d8 = d8
        self._stack = ExitStack()
        self._jar: str | None = None
        self._copied: dict[Path, str] = {}

    def close(self) -> None:
        self._stack.close()

    def launch(self, one: Configured) -> str:
        """See `machine.Programs`.

        Raises:
            Rejected: SUITE_VALUE: this runner is not for devices; COMPILER_MISSING, DEXER_MISSING, COMPILATION_FAILED,
                BENCHMARK_FAILED, BENCHMARK_TIMEOUT, DEVICE_LOST and its like.
        """
        if one.runner == "jetpack":
            return self._instrument(one)
        if one.runner == "python":
            raise Rejected(Reason.SUITE_VALUE, f"{one.name}: runner python runs on this machine only")
        timeout_s = timeout_of(one.options)
        told = arguments_of(one, self._params(one))
        if one.runner == "java":
            return _output(self._remote.run(self._java(one, told), timeout_s=timeout_s, inside=self._remote.folder))
        inside = self._folder()
        return _output(self._remote.run([*one.options.command, *told], timeout_s=timeout_s, inside=inside))

    # ---- java ------------------------------------------------------------------------------------
    def _java(self, one: Configured, told: list[str]) -> list[str]:
        if one.options.classpath:
            detail = (
                f"{one.name}: classpath is for this machine; on a device the .jar files of the suite's folder are taken"
            )
            raise Rejected(Reason.SUITE_VALUE, detail)
        runtime = [f"app_process{one.options.bits}", *one.options.java_options, "/", "Harness"]
        return ["env", f"CLASSPATH={self._dexed()}", *runtime, f"class={one.name}", *told]

    def _dexed(self) -> str:
        if self._jar is None:
            d8 = java_sources.find_d8(self._d8)
            work = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="perfreg-bench-")))
            java_sources.compile_classes(self._suite, work / "classes")
            target = work / "suite.jar"
            jars = java_sources.libraries(self._suite)
            java_sources.make_dex(work / "classes", jars, target, d8=d8, min_api=self._remote.sdk)
            self._jar = self._remote.put(target, "suite.jar")
        return self._jar

    # ---- files -----------------------------------------------------------------------------------
    def _params(self, one: Configured) -> dict[str, str]:
        """The benchmark's own parameters; files of the suite's folder are copied, and named as they lie there."""
        return {name: self._copy(Path(text)) if is_golden(name) else text for name, text in one.options.params.items()}

    def _copy(self, path: Path) -> str:
        if path not in self._copied:
            name = path.resolve().relative_to(self._suite.folder.resolve())
            self._copied[path] = self._remote.put(path, f"suite/{name.as_posix()}")
        return self._copied[path]

    def _folder(self) -> str:
        """All files of the suite's folder, for programs that lie there."""
        for path in sorted(self._suite.folder.rglob("*")):
            if path.is_file() and path.suffix != ".java":
                self._copy(path)
        return f"{self._remote.folder}/suite"

    # ---- jetpack ---------------------------------------------------------------------------------
    def _instrument(self, one: Configured) -> str:
        """Runs the tests of a class in a test app that is installed there; the document that the library wrote."""
        component = one.options.instrumentation
        package = component.partition("/")[0]
        folder = self._remote.output_folder(package)
        self._remote.will_run(package)
        told = {"class": one.name, "additionalTestOutputDir": folder, "androidx.benchmark.output.enable": "true"}
        told |= {name.removeprefix("param"): text for name, text in one.options.params.items()}
        extras = [part for name, text in told.items() for part in ("-e", name, text)]
        try:
            ended = self._remote.run(
                ["am", "instrument", "-w", *extras, component], timeout_s=INSTRUMENTATION_S, inside=self._remote.folder
            )
        finally:
            self._remote.stop(package)  # a test that hangs goes on in the app's process, beside what is measured next
        is_failed = "FAILURES!!!" in ended.text or "INSTRUMENTATION_FAILED" in ended.text
        found = self._remote.documents(folder, _RESULT_ENDING)
        if ended.returncode or is_failed or not found:
            told_of = " ".join(f"{ended.text} {ended.error_text}".split())[-400:]
            raise Rejected(Reason.BENCHMARK_FAILED, f"{component}: {told_of or 'it wrote no benchmarkData.json'}")
        return _joined(found, component)


def _joined(documents: list[str], component: str) -> str:
    """One document of those that the modules of a test wrote."""
    try:
        first, *others = (json.loads(text) for text in documents)
        for other in others:
            first["benchmarks"] += other["benchmarks"]
    except (ValueError, KeyError, TypeError) as error:
        raise Rejected(
            Reason.BENCHMARK_FAILED, f"{component} wrote no readable benchmarkData.json ({error})"
        ) from error
    return json.dumps(first)


def _output(ended: Ended) -> str:
    if ended.returncode and not has_error(ended.text):
        raise Rejected(Reason.BENCHMARK_FAILED, f"exit status {ended.returncode}; {ended.error_text}")
    return ended.text
