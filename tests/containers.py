"""Starts deploy/compose.yaml with Docker and kills what runs in it: `python tests/containers.py`.

The image is built and everything started by the command that docs/deploy.md prints. Recorded runs are put into the
exchange; the workers, the writer's code server and PostgreSQL are killed meanwhile; in the end the verdicts are those
of a plain `perfreg ingest`. Containers and volumes are removed again, the image stays.

Where a base image cannot be pulled, a stand-in is made of Debian's packages (debootstrap, as root), with Debian's
Python and PostgreSQL, and with this machine's certificates.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "automation"))

from rehearsal import wait_until  # noqa: E402  (the folder is put on the path above)

from perfreg_assets.reports.links import DEFAULT_SERVER  # noqa: E402

PAGE = ROOT / "docs" / "deploy.md"
RUNS = sorted((ROOT / "tests" / "data" / "sessions").iterdir())
COMPOSE = ["docker", "compose", "-f", str(ROOT / "deploy" / "compose.yaml")]
PROJECT = "perfreg-rehearsal"  # its volumes are removed at the end: never those of a deployment
ENVIRONMENT = {**os.environ, "POSTGRES_PASSWORD": "rehearsal", "COMPOSE_PROJECT_NAME": PROJECT}
UI = "http://127.0.0.1:3000/server_info"
PAGES = f"{DEFAULT_SERVER}/runs/{RUNS[0].name}.html"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
DEBIAN = "http://deb.debian.org/debian"
ENTRYPOINT = """\
#!/bin/sh
# What the image of PostgreSQL does at its first start, as far as deploy/compose.yaml asks for it.
set -e
bin=$(echo /usr/lib/postgresql/*/bin) data=/var/lib/postgresql/data
mkdir -p "$data" /var/run/postgresql
chown -R postgres "$data" /var/run/postgresql
chmod 700 "$data"
if [ ! -s "$data/PG_VERSION" ]; then
    echo "$POSTGRES_PASSWORD" > /tmp/password
    chown postgres /tmp/password
    setpriv --reuid postgres --regid postgres --init-groups \\
        "$bin/initdb" -D "$data" -U "$POSTGRES_USER" --pwfile /tmp/password -A scram-sha-256 --auth-local trust
    echo "host all all all scram-sha-256" >> "$data/pg_hba.conf"
    echo "CREATE DATABASE $POSTGRES_DB" |
        setpriv --reuid postgres --regid postgres --init-groups "$bin/postgres" --single -D "$data" postgres
fi
exec setpriv --reuid postgres --regid postgres --init-groups "$bin/postgres" -D "$data" -c 'listen_addresses=*'
"""


def missing() -> str | None:
    """What this machine lacks, in words; None if nothing."""
    for command in (["docker", "info"], ["docker", "compose", "version"]):
        if shutil.which(command[0]) is None or subprocess.run(command, capture_output=True, check=False).returncode:
            return f"`{shlex.join(command)}` does not answer"
    return None


def base_images() -> list[str]:
    """Those that Dockerfile and compose.yaml name and do not make."""
    named = re.findall(r"^FROM (\S+)", (ROOT / "deploy" / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    used = re.findall(r"^\s+image: (\S+)", (ROOT / "deploy" / "compose.yaml").read_text("utf-8"), re.MULTILINE)
    return sorted({*named, *(one for one in used if one.startswith("postgres:"))})


def provide(image: str, folder: Path) -> None:
    """The image, pulled or made. Raises subprocess.CalledProcessError."""
    for command in (["docker", "image", "inspect", image], ["docker", "pull", "--quiet", image]):
        if not subprocess.run(command, capture_output=True, check=False).returncode:
            return
    print(f"a stand-in for {image}, of Debian's packages", flush=True)
    is_database = image.startswith("postgres:")
    packages = ["ca-certificates", *(["postgresql"] if is_database else ["python3", "python3-venv", "libgomp1"])]
    root = folder / image.partition(":")[0]
    do("debootstrap", "--variant=minbase", f"--include={','.join(packages)}", "bookworm", str(root), DEBIAN)
    changes = [f"ENV PIP_CERT={CERTIFICATES}", "ENV PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"]
    if CERTIFICATES.is_file():
        shutil.copy(CERTIFICATES, root / CERTIFICATES.relative_to("/"))
    if is_database:
        entrypoint = root / "usr/local/bin/docker-entrypoint.sh"
        entrypoint.write_text(ENTRYPOINT)
        entrypoint.chmod(0o755)
        changes.append('ENTRYPOINT ["docker-entrypoint.sh"]')
    else:
        (root / "usr/local/bin/python").symlink_to("/usr/bin/python3")
    archive = root.with_suffix(".tar")
    do("tar", "-C", str(root), "-c", "-f", str(archive), ".")
    do("docker", "import", *(word for change in changes for word in ("--change", change)), str(archive), image)


def printed(first: str) -> list[str]:
    """The words of the command on the page that begins so."""
    (line,) = (line for line in PAGE.read_text("utf-8").splitlines() if line.startswith(first))
    return shlex.split(line)


def do(*command: str) -> str:
    """What the command printed. Raises subprocess.CalledProcessError."""
    return subprocess.run(command, env=ENVIRONMENT, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


def compose(*words: str) -> str:
    return do(*COMPOSE, *words)


def arrive(folders: list[Path]) -> None:
    """Puts run folders into the exchange as the page says: as the image's user, who has to delete them."""
    (line,) = (line for line in PAGE.read_text("utf-8").splitlines() if line.startswith("tar "))
    with tempfile.TemporaryDirectory() as given:
        for folder in folders:
            shutil.copytree(folder, Path(given) / folder.name)
        subprocess.run(line.replace("runs/", f"{given}/"), shell=True, env=ENVIRONMENT, cwd=ROOT, check=True)


def kill(service: str) -> None:
    """Ends the first process of a service's container from outside and waits until Docker has started it again."""
    wait_for(f"{service} runs", lambda: _pid(service))
    killed = _pid(service)
    os.kill(killed, signal.SIGKILL)
    wait_for(f"{service} was killed and is back", lambda: _pid(service) not in (0, killed))


def _pid(service: str) -> int:
    """0: its container does not run at the moment."""
    container = compose("ps", "--all", "--quiet", service).strip()
    return int(do("docker", "inspect", "--format", "{{.State.Pid}}", container))


def wait_for(what: str, holds: Callable[[], Any]) -> Any:
    """The first true value of `holds`. Raises AssertionError."""
    begin = time.monotonic()
    found = wait_until(what, holds, pause_s=1)
    print(f"{what}: after {time.monotonic() - begin:.0f} s", flush=True)
    return found


def states(text: str) -> dict[str, str]:
    """Run and series → state, of `perfreg verdicts --format json`."""
    return {f"{row['run_id']} {row['series']}": row["state"] for row in json.loads(text)}


def judged() -> dict[str, str]:
    command = [*COMPOSE, "exec", "-T", "warehouse", "perfreg", "verdicts", "--format", "json"]
    done = subprocess.run(command, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    try:
        return states(done.stdout)
    except ValueError:  # nothing is there yet, or the container is just being started
        return {}


def are_reading() -> bool:
    return "read_folders" in compose("logs", "workers")


def expected(folder: Path) -> dict[str, str]:
    """The verdicts of a plain ingest of the same folders."""
    environment = {**ENVIRONMENT, "PERFREG_WAREHOUSE": str(folder / "perfreg.duckdb")}
    perfreg = [sys.executable, "-m", "perfreg_assets.cli"]
    subprocess.run([*perfreg, "ingest", *map(str, RUNS)], env=environment, capture_output=True, check=False)
    done = subprocess.run([*perfreg, "verdicts", "--format", "json"], env=environment, capture_output=True, check=False)
    return states(done.stdout.decode())


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def main() -> int:
    """All of it; 0 if the verdicts are the same."""
    lacking = missing()
    if lacking:
        print(f"not tried: {lacking}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for image in base_images():
            provide(image, folder)
        wanted = expected(folder)
        if not wanted:
            raise SystemExit("a plain ingest of the same folders judged nothing: there is nothing to compare with")
        try:
            begin = time.monotonic()
            do(*printed("docker compose -f deploy/compose.yaml up"), "-d")
            print(f"built and started: {time.monotonic() - begin:.0f} s", flush=True)
            wait_for("the UI answers", lambda: answers(UI))
            arrive(RUNS[:8])
            wait_for("workers read", are_reading)
            kill("workers")
            arrive(RUNS[8:])
            kill("warehouse")
            kill("postgres")
            wait_for("all are judged as by a plain ingest", lambda: judged() == wanted)
            wait_for("the UI answers again", lambda: answers(UI))
            do(*printed("docker compose -f deploy/compose.yaml --profile reports"))
            wait_for("pages are shown", lambda: answers(PAGES))
            files = compose("exec", "-T", "workers", "find", "/exchange", "-type", "f").split()
            left = [file for file in files if file.startswith(("/exchange/inbox/", "/exchange/results/"))]
            print(f"left in the exchange: {left}", flush=True)
            return 1 if left else 0
        except (subprocess.CalledProcessError, AssertionError):
            print(compose("logs", "--tail", "200"), file=sys.stderr)
            print(f"wanted {wanted}\nfound {judged()}", file=sys.stderr)
            raise
        finally:
            compose("--profile", "reports", "down", "--volumes")


if __name__ == "__main__":
    raise SystemExit(main())
