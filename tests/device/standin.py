"""A stand-in Android device from real parts: a real adb server and a real adbd; the tools behind it are shims.

adbd is Debian trixie's package, fetched through this machine's own apt (with its signatures) into a cache outside
the repository and run on its own libraries, so that the machine's release does not matter. The device is a mount and
pid namespace with a throw-away layer over `/`; ending its first process ends everything in it.
"""

import contextlib
import ctypes
import fcntl
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from pathlib import Path

import adbutils

HERE = Path(__file__).resolve().parent
SUITE = "trixie"
SHIMS = (
    *("getprop", "settings", "wm", "date", "df", "rm", "dd", "cmd", "log", "logcat", "am", "pm", "pidof", "dumpsys"),
    *("uiautomator", "monkey", "perfetto", "input", "app_process", "app_process32", "app_process64"),
)
PASSED_THROUGH = ("date", "df", "rm", "dd")
_NOT_NEEDED = re.compile(r"(debconf|perl|dpkg|tar|cdebconf|gcc-\d+-base)")


class Unavailable(Exception):  # noqa: N818  (a state, raised to skip)
    """The stand-in cannot be set up on this machine; the text says why."""


# ---- adbd ----------------------------------------------------------------------------------------
def cache_dir():
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "perfreg" / f"adbd-{SUITE}"


def fetch_adbd(target):
    """The program that runs adbd, fetched on first use. Raises Unavailable."""
    for tool in ("apt-get", "apt-cache", "dpkg-deb", "gcc"):
        if shutil.which(tool) is None:
            raise Unavailable(f"{tool} is not on this machine")
    target.parent.mkdir(parents=True, exist_ok=True)
    with (target.parent / f"{target.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (target / "versions.json").exists():
            shutil.rmtree(target, ignore_errors=True)
            building = target.with_name(target.name + ".part")
            shutil.rmtree(building, ignore_errors=True)
            building.mkdir(parents=True)
            _fetch_into(building)
            building.rename(target)
    return target


def _fetch_into(folder):
    for directory in ("lists/partial", "cache/archives/partial", "debs", "root"):
        (folder / directory).mkdir(parents=True)
    (folder / "status").touch()
    found = _run(["apt-get", "indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]).split()
    mirror = next((uri for uri in found if uri.rstrip("/").endswith("/debian")), None)
    keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"
    if mirror is None or not os.path.exists(keyring):
        raise Unavailable("this machine's apt does not use a Debian archive")
    sources = folder / "sources.list"
    sources.write_text(f"deb [signed-by={keyring}] {mirror} {SUITE} main\n")
    options = {
        "Dir::Etc::SourceList": sources,
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "Dir::State::status": folder / "status",
        "APT::Architecture": "amd64",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
        "Acquire::Retries": "2",
    }
    apt = [part for name, value in options.items() for part in ("-o", f"{name}={value}")]
    _run(["apt-get", *apt, "-qq", "update"])
    no = [f"--no-{kind}" for kind in ("recommends", "suggests", "conflicts", "breaks", "replaces", "enhances")]
    tree = _run(["apt-cache", *apt, "depends", "--recurse", *no, "adbd"])
    packages = sorted({line for line in tree.splitlines() if line[:1].isalnum() and not _NOT_NEEDED.match(line)})
    _run(["apt-get", *apt, "-qq", "download", *packages], cwd=folder / "debs")
    versions = {}
    for deb in sorted((folder / "debs").glob("*.deb")):
        _run(["dpkg-deb", "-x", str(deb), str(folder / "root")])
        package, version = _run(["dpkg-deb", "--show", "--showformat=${Package} ${Version}", str(deb)]).split()
        versions[package] = version
    if "adbd" not in versions:
        raise Unavailable(f"{SUITE} has no package adbd for this machine")
    _run(
        [
            "gcc",
            "-O2",
            "-shared",
            "-fPIC",
            "-o",
            str(folder / "loopback_only.so"),
            str(HERE / "loopback_only.c"),
            "-ldl",
        ]
    )
    for directory in ("lists", "cache"):
        shutil.rmtree(folder / directory)
    (folder / "versions.json").write_text(json.dumps(versions, indent=1))


def _run(command, cwd=None):
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode != 0:
        raise Unavailable(f"{command[0]}: {' '.join(done.stderr.split())[-300:]}")
    return done.stdout


def _adbd_script(cache):
    libraries = f"{cache}/root/usr/lib/x86_64-linux-gnu"
    return (
        "#!/bin/sh\n"
        f"exec {cache}/root/usr/lib64/ld-linux-x86-64.so.2 --preload {cache}/loopback_only.so "
        f"--library-path {libraries}:{libraries}/android:{libraries}/systemd "
        f'{cache}/root/usr/lib/android-sdk/platform-tools/adbd "$@"\n'
    )


# ---- the device ----------------------------------------------------------------------------------
def free_port():
    """A free port that an adb server does not take for an emulator's (5554 to 5585)."""
    while True:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        if not 5550 <= port <= 5590:
            return port


class StandIn:
    """One running stand-in device. `path` maps a device path to one that this process can read and write."""

    def __init__(self, folder, trace, port=None):
        if os.geteuid() != 0:
            raise Unavailable("only root can make the stand-in's namespaces")
        for tool in ("unshare", "nsenter", "mount", "setsid"):
            if shutil.which(tool) is None:
                raise Unavailable(f"{tool} is not on this machine")
        self.python = next((p for p in ("/usr/bin/python3", "/usr/local/bin/python3") if os.path.exists(p)), None)
        if self.python is None:
            raise Unavailable("the machine has no python3 of its own")
        cache = fetch_adbd(cache_dir())
        self.adbd_version = json.loads((cache / "versions.json").read_text())["adbd"]
        self.port = port or free_port()
        self.serial = f"127.0.0.1:{self.port}"
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        adbd = self.folder / "adbd"
        adbd.write_text(_adbd_script(cache))
        adbd.chmod(0o755)
        self._log = (self.folder / "device.log").open("wb")
        self._process = subprocess.Popen(
            [
                *("unshare", "--mount", "--pid", "--fork", "--kill-child", "--propagation", "private"),
                *(self.python, "-IS", str(HERE / "standin_init.py"), str(self.folder), str(self.port), str(adbd)),
            ],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_end_with_parent,  # noqa: PLW1509  (nothing in it needs a lock)
        )
        self._init = self._wait(self._find_init, "the device's first process")
        self._wait(self._answers, "adbd")
        self._install_shims(trace)

    def _wait(self, look, what, limit_s=15.0):
        deadline = time.monotonic() + limit_s
        while time.monotonic() < deadline:
            found = look()
            if found:
                return found
            if self._process.poll() is not None:
                break
            time.sleep(0.02)
        text = (self.folder / "device.log").read_text(errors="replace")
        self.close()
        raise Unavailable(f"{what} did not start: {' '.join(text.split())[-300:]}")

    def _find_init(self):
        children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children")
        with contextlib.suppress(OSError):
            pids = children.read_text().split()
            return int(pids[0]) if pids else None
        return None

    def _answers(self):
        return _listens(self.port)

    def path(self, device_path):
        return Path(f"/proc/{self._init}/root{self.folder}/merged{device_path}")

    def _install_shims(self, trace):
        start = "import sys; sys.path.insert(0, '/data/rig'); import standin_shims; standin_shims.main()"
        for name in SHIMS:
            # Tools that the machine has itself are shims only while a fault is set: they are called often.
            real = f'[ -e /data/rig/faults.json ] || exec /usr/bin/{name} "$@"\n' if name in PASSED_THROUGH else ""
            target = self.path(f"/system/bin/{name}")
            target.write_text(f'#!/bin/sh\n{real}exec {self.python} -IS -c "{start}" {name} "$@"\n')
            target.chmod(0o755)
        self.path("/system/bin/sh").symlink_to("/bin/sh")
        for name in ("standin_shims.py", "standin_trace.py"):
            shutil.copy(HERE / name, self.path(f"/data/rig/{name}"))
        self.set_trace(trace)

    def set_trace(self, trace):
        """The recording that `perfetto` replays from now on."""
        shutil.copyfile(trace, self.path("/data/rig/trace"))

    # -- the device's mood --
    def set_faults(self, **faults):
        """The faults from now on, instead of those before; without arguments: none."""
        if faults:
            self._write("/data/rig/faults.json", faults)
        else:
            self.path("/data/rig/faults.json").unlink(missing_ok=True)

    def set_properties(self, **properties):
        self._write("/data/rig/props.json", {name.replace("__", "."): value for name, value in properties.items()})

    def set_overlays(self, **overlays):
        """The framework's overlays from now on, as Android orders them: package → (enabled, path of the APK)."""
        self._write("/data/rig/overlays.json", overlays)

    def _write(self, path, value):
        part = self.path(path + ".part")
        part.write_text(json.dumps(value))
        part.replace(self.path(path))

    def unplug(self):
        os.kill(self._init, signal.SIGUSR1)
        self._wait_for(lambda: not self._answers(), "adbd to go")

    def plug(self):
        os.kill(self._init, signal.SIGUSR2)
        self._wait_for(self._answers, "adbd to come back")

    def reboot(self):
        """Everything that runs ends, and the device counts its time from zero again."""
        self.unplug()
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        clock = self.folder / "uptime"
        clock.write_text("5.00 9.00\n")
        self._mount("mount", "--bind", str(clock), self._inside("/proc/uptime"))
        self.plug()

    def _inside(self, device_path):
        return f"{self.folder}/merged{device_path}"

    def _mount(self, *command):
        subprocess.run(["nsenter", "--target", str(self._init), "--mount", "--", *command], check=True)

    def _wait_for(self, look, what, limit_s=10.0):
        deadline = time.monotonic() + limit_s
        while not look():
            if time.monotonic() > deadline:
                raise AssertionError(f"waited {limit_s} s for {what}")
            time.sleep(0.02)

    def freeze(self):
        for pid in self.processes_named("adbd"):
            os.kill(pid, signal.SIGSTOP)

    def thaw(self):
        for pid in self.processes_named("adbd"):
            os.kill(pid, signal.SIGCONT)

    # -- what a test asks --
    def processes(self):
        """{pid on this host: command line} of everything on the device except its first process and adbd."""
        namespace = os.readlink(f"/proc/{self._init}/ns/pid")
        found = {}
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit() and os.readlink(f"/proc/{entry}/ns/pid") == namespace:
                    command = Path(f"/proc/{entry}/cmdline").read_bytes().decode(errors="replace").split("\0")
                    found[int(entry)] = " ".join(command).strip()
        return {pid: text for pid, text in found.items() if text and pid != self._init}

    def processes_named(self, part):
        return [pid for pid, text in self.processes().items() if part in text]

    def leftovers(self):
        """Files and processes that a collection should not leave; adbd and its shells are the device's own."""
        files = [
            str(path.name)
            for folder in ("/data/misc/perfetto-traces", "/data/local/tmp", "/sdcard", "/data/app")
            for path in self.path(folder).iterdir()
        ]
        running = [text for text in self.processes().values() if "platform-tools/adbd" not in text]
        return files + running

    def settings(self):
        path = self.path("/data/rig/settings.json")
        return json.loads(path.read_text()) if path.exists() else None

    def reset(self):
        """As it was at the start: plugged in, nothing installed, nothing running, no faults."""
        self.thaw()
        self.plug()
        if (self.folder / "uptime").exists():
            self._mount("umount", self._inside("/proc/uptime"))
            (self.folder / "uptime").unlink()
        self._wait_for(self._end_processes, "the processes to end")
        for name in ("faults.json", "props.json", "settings.json", "top.json"):
            self.path(f"/data/rig/{name}").unlink(missing_ok=True)
        for folder in ("/data/rig/log", "/data/misc/perfetto-traces", "/data/local/tmp", "/sdcard", "/data/app"):
            for path in self.path(folder).iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for pattern in ("ui-*", "session-*"):
            for path in self.path("/data/rig").glob(pattern):
                path.unlink()

    def _end_processes(self):
        pids = [pid for pid, text in self.processes().items() if "platform-tools/adbd" not in text]
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return not pids

    def install(self, package, version_name="1.0", version_code=1, **behaviour):
        """Puts an app on the device without adb."""
        facts = {"package": package, "versionName": version_name, "versionCode": version_code, **behaviour}
        self._write(f"/data/app/{package}.json", facts)

    def close(self):
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        self._process.wait()
        self._log.close()


# ---- an adb server of our own --------------------------------------------------------------------
def adb_environment(folder):
    """Variables that give adb a port and a home of its own."""
    home = Path(folder)
    home.mkdir(parents=True, exist_ok=True)
    off = dict.fromkeys(("ADB_MDNS", "ADB_MDNS_AUTO_CONNECT", "ADB_USB", "ADB_EMU"), "0")
    return {"ANDROID_ADB_SERVER_PORT": str(free_port()), "HOME": str(home), "TMPDIR": str(home), **off}


@contextlib.contextmanager
def in_environment(variables):
    """Sets variables for this process, and sets them back."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextlib.contextmanager
def private_adb_server(folder):
    """The environment of a server of our own, which ends with the block. Whoever uses it sets the environment."""
    variables = adb_environment(folder)
    with in_environment(variables):
        adb_program = adbutils.adb_path()
    quiet = subprocess.DEVNULL
    server = subprocess.Popen(
        [adb_program, "-L", f"tcp:{variables['ANDROID_ADB_SERVER_PORT']}", "server", "nodaemon"],
        env={**os.environ, **variables},
        stdin=quiet,
        stdout=quiet,
        stderr=quiet,
        preexec_fn=_end_with_parent,  # noqa: PLW1509  (nothing in it needs a lock)
    )
    try:
        deadline = time.monotonic() + 20
        while not _listens(int(variables["ANDROID_ADB_SERVER_PORT"])):
            if server.poll() is not None or time.monotonic() > deadline:
                raise Unavailable("the adb server does not start")
            time.sleep(0.02)
        yield variables
    finally:
        stop_adb_server(variables)
        server.kill()
        server.wait()


def _listens(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.5):
        return True
    return False


def _end_with_parent():
    """In the child: killed by the kernel when the test process ends, however it ends."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def stop_adb_server(variables=None):
    """Ends the server of an environment, by default of the current one, if it runs."""
    port = int((variables or os.environ)["ANDROID_ADB_SERVER_PORT"])
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 2) as connection:
        connection.sendall(b"0009host:kill")
        connection.settimeout(5)
        while connection.recv(64):
            pass


class UnauthorizedDevice:
    """Speaks just enough of adbd's protocol to be a device that does not trust this computer."""

    def __init__(self):
        token = b"\x5a" * 20
        self._question = struct.pack("<4sIIIII", b"AUTH", 1, 0, len(token), sum(token), 0xFFFFFFFF ^ 0x48545541) + token
        self._listener = socket.create_server(("127.0.0.1", free_port()))
        self.serial = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._open = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self):
        with contextlib.suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self._open.append(connection)
                threading.Thread(target=self._ask_for_ever, args=(connection,), daemon=True).start()

    def _ask_for_ever(self, connection):
        """Whatever the computer signs with, the answer is the question again."""
        with contextlib.suppress(OSError):
            while header := connection.recv(24, socket.MSG_WAITALL):
                connection.recv(int.from_bytes(header[12:16], "little"), socket.MSG_WAITALL)
                connection.sendall(self._question)

    def close(self):
        self._listener.close()
        for connection in self._open:
            connection.close()
