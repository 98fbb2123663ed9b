"""Java benchmarks made into classes by the user's javac, and into dex by the user's d8."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import zipfile
from pathlib import Path

from perfreg_assets.benchmarks.suite import Suite
from perfreg_assets.reasons import Reason, Rejected

HARNESS = Path(__file__).parent / "java"
_TAIL = 400


def libraries(suite: Suite) -> list[Path]:
    """The .jar files of the suite's folder."""
    return sorted(suite.folder.rglob("*.jar"))


def compile_classes(suite: Suite, target: Path) -> None:
    """Puts the classes of the harness and of the suite's sources into a folder.

    Raises:
        Rejected: COMPILER_MISSING, COMPILATION_FAILED.
    """
    javac = shutil.which("javac")
    if javac is None:
        raise Rejected(Reason.COMPILER_MISSING, str(suite.path))
    sources = [*sorted(HARNESS.glob("*.java")), *sorted(suite.folder.rglob("*.java"))]
    jars = os.pathsep.join(str(path) for path in libraries(suite))
    command = [javac, "-nowarn", "-encoding", "UTF-8", "-d", str(target), *(["-cp", jars] if jars else [])]
    done = subprocess.run([*command, *map(str, sources)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise Rejected(Reason.COMPILATION_FAILED, f"{suite.path}: {done.stderr.strip()[:_TAIL]}")


# ---- dex -----------------------------------------------------------------------------------------
def find_d8(given: Path | None) -> Path:
    """Android's dex compiler: the one that is named, else the newest of the SDK's build-tools, else on the PATH.

    Raises:
        Rejected: DEXER_MISSING.
    """
    if given is not None:
        if shutil.which(given) is None:
            raise Rejected(Reason.DEXER_MISSING, f"{given} is no program")
        return given
    for variable in ("ANDROID_HOME", "ANDROID_SDK_ROOT"):
        sdk = os.environ.get(variable)
        found = sorted(Path(sdk).glob("build-tools/*/d8"), key=_release) if sdk else []
        if found:
            return found[-1]
    on_path = shutil.which("d8")
    if on_path is None:
        raise Rejected(Reason.DEXER_MISSING, "neither in ANDROID_HOME's build-tools nor on the PATH")
    return Path(on_path)


def _release(tool: Path) -> list[int]:
    """Of the build-tools that a tool lies in: 9.0 is before 35.0.1."""
    return [int(number) for number in re.findall(r"\d+", tool.parent.name)]


def make_dex(classes: Path, jars: list[Path], target: Path, *, d8: Path, min_api: int) -> None:
    """Writes a .jar with the dex of some classes and libraries.

    Args:
        min_api: API level of the device.

    Raises:
        Rejected: COMPILATION_FAILED.
    """
    packed = target.with_name("classes.jar")
    with zipfile.ZipFile(packed, "w") as archive:
        for path in sorted(classes.rglob("*.class")):
            archive.write(path, str(path.relative_to(classes)))
    command = [str(d8), "--release", "--min-api", str(min_api), "--output", str(target), str(packed), *map(str, jars)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise Rejected(Reason.COMPILATION_FAILED, f"{d8} cannot be started ({error.strerror})") from error
    if done.returncode or not target.is_file():
        raise Rejected(Reason.COMPILATION_FAILED, f"{d8}: {done.stderr.strip()[:_TAIL]}")
