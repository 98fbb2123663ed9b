"""Carries out deploy/Dockerfile without Docker: `python tests/image_steps.py DIR`, as root, with overlays.

Each stage is an overlay over this machine's own files, in place of the base image (so Debian and Python are this
machine's, and what the base image lacks is not found out); COPY, RUN, ENV, WORKDIR and USER are done to it as written.
At last what CMD names is started by the image's user and asked for its health. DIR keeps the stages' files.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
_HEALTH = "dagster api grpc-health-check -p 4000"
_START_S, _STOP_S = 120.0, 30.0
PYTHON = Path(sys.base_prefix).resolve() / "bin"
_BASE = {
    "PATH": f"{PYTHON}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
    "HOME": "/tmp",
    **{name: value for name, value in os.environ.items() if name.startswith("PIP_")},
}


@dataclass
class Stage:
    """An overlay, and what its instructions have set so far."""

    folder: Path
    environment: dict[str, str] = field(default_factory=_BASE.copy)
    where: str = "/"
    user: str = "0"

    @property
    def root(self) -> Path:
        return self.folder / "root"

    def make(self) -> None:
        for name in ("root", "upper", "work"):
            (self.folder / name).mkdir(parents=True)
        options = f"lowerdir=/,upperdir={self.folder / 'upper'},workdir={self.folder / 'work'}"
        _do("mount", "-t", "overlay", "overlay", "-o", options, str(self.root))
        _do("mount", "-t", "proc", "proc", str(self.root / "proc"))
        _do("mount", "--rbind", "/dev", str(self.root / "dev"))
        # The base image has `python` in /usr/local/bin, for everybody.
        for folder in PYTHON.parents[:-1]:
            inside = self.root / folder.relative_to("/")
            inside.chmod(inside.stat().st_mode | 0o755)

    def command(self, arguments: list[str]) -> list[str]:
        become = (
            ["setpriv", f"--reuid={self.user}", f"--regid={self.user}", "--clear-groups"] if self.user != "0" else []
        )
        script = f"cd {shlex.quote(self.where)} && exec {shlex.join([*become, *arguments])}"
        variables = [f"{name}={value}" for name, value in self.environment.items()]
        return ["chroot", str(self.root), "env", "-i", *variables, "/bin/sh", "-c", script]


def instructions(text: str) -> Iterator[tuple[str, str]]:
    """(INSTRUCTION, rest) with continued lines joined and comments left out."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in "\n".join(lines).replace("\\\n", " ").splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name, " ".join(rest.split())


def copy(stage: Stage, stages: dict[str, Stage], rest: str) -> None:
    words = rest.split()
    source_root = ROOT
    if words[0].startswith("--from="):
        source_root = stages[words.pop(0).partition("=")[2]].root
    *sources, target = words
    for source in sources:
        origin = source_root / source.lstrip("/")
        end = stage.root / os.path.join(stage.where, target).lstrip("/")
        if origin.is_dir():
            shutil.copytree(
                origin, end, symlinks=True, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            end = end / origin.name if target.endswith("/") else end
            end.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin, end)


def carry_out(folder: Path) -> None:
    """Everything up to CMD, which has to become healthy.

    Raises:
        subprocess.CalledProcessError: an instruction failed.
        SystemExit: CMD did not become healthy.
    """
    stages: dict[str, Stage] = {}
    stage = Stage(folder)
    for name, rest in instructions((ROOT / "deploy" / "Dockerfile").read_text("utf-8")):
        print(f"== {name} {rest}", flush=True)
        started = time.monotonic()
        if name == "FROM":
            _, _, alias = rest.partition(" AS ")
            stage = Stage(folder / (alias or "final"))
            stage.make()
            stages[alias or "final"] = stage
        elif name == "COPY":
            copy(stage, stages, rest)
        elif name == "RUN":
            subprocess.run(stage.command(["/bin/sh", "-c", rest]), check=True)
        elif name == "ENV":
            for pair in shlex.split(rest):
                key, _, value = pair.partition("=")
                stage.environment[key] = value.replace("$PATH", stage.environment["PATH"])
        elif name == "WORKDIR":
            stage.where = rest
            (stage.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
        elif name == "USER":
            stage.user = rest
        elif name == "CMD":
            become_healthy(stage, json.loads(rest))
        else:
            raise SystemExit(f"this script does not know {name}")
        print(f"   {time.monotonic() - started:.0f} s", flush=True)


def become_healthy(stage: Stage, command: list[str]) -> None:
    server = subprocess.Popen(stage.command(command))
    try:
        end = time.monotonic() + _START_S
        while subprocess.run(stage.command(shlex.split(_HEALTH)), capture_output=True, check=False).returncode:
            if server.poll() is not None or time.monotonic() > end:
                raise SystemExit("CMD did not become healthy")
            time.sleep(1)
    finally:
        server.terminate()
        try:
            server.wait(_STOP_S)
        except subprocess.TimeoutExpired:  # a container's engine does the same
            server.kill()
            server.wait()


def _do(*command: str) -> None:
    subprocess.run(command, check=True)


def main() -> None:
    if len(sys.argv) != 2 or os.geteuid() != 0:
        raise SystemExit(__doc__)
    if "IMAGE_STEPS_INSIDE" not in os.environ:  # mounts of its own, gone with it
        os.execvpe(
            "unshare", ["unshare", "--mount", sys.executable, *sys.argv], {**os.environ, "IMAGE_STEPS_INSIDE": "1"}
        )
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True)
    carry_out(folder)
    print("every instruction was carried out, and what CMD names is healthy")


if __name__ == "__main__":
    main()
