"""What a rehearsal on many machines needs on one: PostgreSQL, an object store, code servers, a daemon.

Each server of Dagster stands for a machine: it has a folder of its own and is told the exchange, and only one of them
is told where the warehouse is.
"""

from __future__ import annotations

import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
_ENGINES = ("wasm_prefork", "supervisor.py")  # in the commands of the trace engine's processes


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def wait_until(what: str, holds: Callable[[], Any], *, limit_s: float = 900.0, pause_s: float = 0.5) -> Any:
    """The first true value of `holds`."""
    deadline = time.monotonic() + limit_s
    while time.monotonic() < deadline:
        if found := holds():
            return found
        time.sleep(pause_s)
    raise AssertionError(f"{what} did not come about within {limit_s:g} s")


# ---- PostgreSQL ----------------------------------------------------------------------------------
def postgres_binaries() -> Path | None:
    """The newest PostgreSQL of Debian, or the one on the PATH; None where there is none that could be started."""
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    found = versions[-1] if versions else shutil.which("initdb")
    is_startable = os.geteuid() != 0 or any(entry.pw_name == "postgres" for entry in pwd.getpwall())
    return Path(os.path.realpath(found)).parent if found and is_startable else None


class Postgres:
    """A server with a data folder of its own, run by a user who is not root."""

    def __init__(self, binaries: Path) -> None:
        self._binaries = binaries
        self._user = "postgres" if os.geteuid() == 0 else None
        self.folder = Path(tempfile.mkdtemp(prefix="perfreg-postgres-"))
        self._data = self.folder / "data"
        self._port = free_port()
        if self._user:
            entry = pwd.getpwnam(self._user)
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
        self._run("initdb", "-D", str(self._data), "-U", "perfreg", "-A", "trust", "-E", "UTF8", "--no-sync")
        self._control("start")
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self._port), "-U", "perfreg", "dagster")

    @property
    def url(self) -> str:
        return f"postgresql://perfreg@127.0.0.1:{self._port}/dagster"

    def crash(self) -> None:
        """As if power had failed: no connection is asked, what was not committed is gone."""
        self._control("stop", "-m", "immediate")

    def start(self) -> None:
        self._control("start")

    def remove(self) -> None:
        if (self._data / "postmaster.pid").exists():
            self._control("stop", "-m", "immediate")
        shutil.rmtree(self.folder)

    def _control(self, verb: str, *options: str) -> None:
        server = f"-p {self._port} -h 127.0.0.1 -k {self.folder} -c fsync=off -c max_connections=200"
        with_server = ("-o", server, "-l", str(self.folder / "log")) if verb == "start" else ()
        self._run("pg_ctl", verb, "-w", "-D", str(self._data), *options, *with_server)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._binaries / program), *arguments],
            cwd=self.folder,
            user=self._user,
            env={"PATH": os.environ["PATH"], "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # (the server keeps what it inherits)
            stderr=subprocess.PIPE if program != "pg_ctl" else subprocess.DEVNULL,
            check=False,
        )
        log = self.folder / "log"
        said = (done.stderr or b"").decode(errors="replace") or (log.read_text() if log.exists() else "")
        assert done.returncode == 0, f"{program}: {said[-2000:]}"


@contextmanager
def postgres(binaries: Path) -> Iterator[Postgres]:
    server = Postgres(binaries)
    try:
        yield server
    finally:
        server.remove()


# ---- processes -----------------------------------------------------------------------------------
class Machine:
    """A process with a folder and an environment of its own; started again when it ends, as a container is."""

    def __init__(self, folder: Path, *command: str, **environment: str) -> None:
        self.folder = folder
        self._command = [sys.executable, *command]
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("PERFREG_")},
            **environment,
        }
        self.log = folder / "log"
        self.starts = 0
        folder.mkdir(parents=True)
        self._process = self._start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def keep_up(self) -> None:
        """Starts it again if it has ended; a few times, because one that always ends is not kept up by that."""
        if self._process.poll() is not None:
            assert self.starts < 4, f"{self.folder.name} ends whenever it is started"
            self._process = self._start()

    def stop(self) -> None:
        pids = [self.pid, *descendants(self.pid)]
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pid in pids:
            kill(pid)

    def _start(self) -> subprocess.Popen[bytes]:
        self.starts += 1
        with self.log.open("ab") as log:
            return subprocess.Popen(
                self._command, cwd=self.folder, env=self._environment, stdout=log, stderr=subprocess.STDOUT
            )


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def descendants(pid: int) -> list[int]:
    """Processes below one, parents first; those of other sessions too."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:  # ended meanwhile
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found: list[int] = []
    ahead = [pid]
    while ahead:
        below = children.get(ahead.pop(0), [])
        found += below
        ahead += below
    return found


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""


class Cluster:
    """Two code servers and a daemon on an instance in PostgreSQL, and an exchange in an object store."""

    def __init__(self, folder: Path, *, database: str, exchange: str, **environment: str) -> None:
        self.machines: list[Machine] = []
        try:
            self._start(folder, database, exchange, environment)
        except BaseException:
            self.stop()
            raise

    def _start(self, folder: Path, database: str, exchange: str, environment: dict[str, str]) -> None:
        self.home = folder / "dagster-home"
        self.home.mkdir(parents=True)
        (self.home / "dagster.yaml").write_text(_quick(DEPLOY / "dagster.yaml"))
        self.warehouse = folder / "warehouse" / "perfreg.duckdb"
        everywhere = {
            "DAGSTER_HOME": str(self.home),
            "DAGSTER_POSTGRES_URL": database,
            "PERFREG_EXCHANGE": exchange,
            "PYTHONWARNINGS": "ignore",
            **environment,
        }
        ports = {"definitions": free_port(), "workers": free_port()}
        servers = [
            {"grpc_server": {"host": "127.0.0.1", "port": port, "location_name": f"perfreg_assets.{name}"}}
            for name, port in ports.items()
        ]
        workspace = folder / "workspace.yaml"
        workspace.write_text(yaml.safe_dump({"load_from": servers}))

        def serving(name: str) -> tuple[str, ...]:
            module = ("-m", f"perfreg_assets.{name}", "-h", "127.0.0.1", "-p", str(ports[name]))
            return "-m", "dagster", "api", "grpc", *module

        def machine(name: str, *command: str, **more: str) -> Machine:
            self.machines.append(Machine(folder / name, *command, **everywhere, **more))
            return self.machines[-1]

        self.writer = machine("writer", *serving("definitions"), PERFREG_WAREHOUSE=str(self.warehouse))
        # A worker that touched a warehouse would fail: its place cannot be made.
        nowhere = "/proc/no-warehouse-here/perfreg.duckdb"
        self.workers = machine("workers", *serving("workers"), PERFREG_WAREHOUSE=nowhere)
        for name, port in ports.items():
            # A daemon that finds no code server looks again a minute later.
            wait_until(f"the server of {name}", lambda port=port: self.keep_up() or _answers(port))
        self.daemon = machine("daemon", "-m", "dagster._daemon", "run", "-w", str(workspace))

    def keep_up(self) -> None:
        for machine in self.machines:
            machine.keep_up()

    def stop(self) -> None:
        for machine in reversed(self.machines):
            machine.stop()

    def kill_a_worker(self) -> str | None:
        """Kills the processes of a worker run whose trace engine is at work; what was killed, None if there is none."""
        for run in _children(self.workers.pid):
            below = descendants(run)
            engines = [pid for pid in below if any(name in command_of(pid) for name in _ENGINES)]
            if any(_parent(pid) in engines for pid in below):  # one that was started for a trace
                steps = [pid for pid in below if pid not in engines and _parent(pid) not in engines]
                for pid in (run, *steps):
                    kill(pid)
                return f"run process {run} and {len(steps)} processes below it, with {len(engines)} of the engine"
        return None

    def kill_the_writer(self) -> str | None:
        """Kills the process that holds the warehouse's lock; what was killed, None if nobody writes."""
        try:
            holder = json.loads(self.warehouse.with_name(f"{self.warehouse.name}.lock").read_bytes())["pid"]
        except (OSError, ValueError, KeyError):
            return None
        if holder not in descendants(self.writer.pid):
            return None
        kill(holder)
        return f"process {holder}, which held the lock"

    def logs(self) -> str:
        return "\n".join(
            f"==== {machine.folder.name}\n{machine.log.read_text(errors='replace')[-3000:]}"
            for machine in self.machines
        )


def _answers(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def _children(pid: int) -> list[int]:
    return [child for child in descendants(pid) if _parent(child) == pid]


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return -1


def _quick(path: Path) -> str:
    """The deployed configuration, looking for dead runs more often, and patient with processes on a busy machine."""
    document = yaml.safe_load(path.read_text())
    document["run_monitoring"] |= {"poll_interval_seconds": 5, "start_timeout_seconds": 900}
    return yaml.safe_dump(document)
