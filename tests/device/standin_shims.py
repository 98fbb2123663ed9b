# ruff: noqa: T201  (printing is what these tools do)
"""Android's command-line tools as far as a collection uses them: one file, named by argv[0], standard library only.

They run inside the stand-in device. Apps are simulated: a real process with the package's name, a screen chosen by a
small state machine, log lines. `perfetto` replays a recorded trace, moved to now and cut to the time it ran.

State lies in /data/rig: props.json, settings.json, overlays.json, top.json, ui-<package>.json, log/<buffer>, apps in
/data/app.
Faults (/data/rig/faults.json):
  perfetto: refuse | old | die | empty | half | hang      monkey: hang | crash | never
  rm: refuse          install: refuse     free_kb: N      clock_offset_s: N      log_lines: N (the ring's size)
  clones: true (perfetto copies running sessions)     dd: refuse (of traces)
  delay_s: {tool: N}  pad_bytes: N (grows the trace)      temperature: N (tenths of a degree)
Behaviour of an app (assets/standin.json in its APK): crash_at_start, crash_after, vanish_after, anr_after,
native_crash_after (events), activity: false (no launcher).
"""

# ruff: noqa: PLC0415  (a tool's start must be cheap: what only one of them needs is imported there)
import json
import os
import re
import signal
import sys
import time
import zlib

RIG, APPS, TRACES = "/data/rig", "/data/app", "/data/misc/perfetto-traces"
SCREENS = ("Home", "List", "Detail", "Edit", "Settings", "About")
PROPERTIES = {
    "ro.product.model": "Rig Phone",
    "ro.serialno": "RIG0042",
    "ro.build.version.sdk": "34",
    "ro.build.version.release": "14",
    "sys.boot_completed": "1",
}
SETTINGS = {
    "global/window_animation_scale": "1.0",
    "global/transition_animation_scale": "1.0",
    "global/airplane_mode_on": "0",
}


def load(path, default):
    try:
        with open(path, encoding="utf-8") as stream:
            return json.load(stream)
    except (FileNotFoundError, ValueError):
        return default


def save(path, value):
    part = f"{path}.{os.getpid()}"
    with open(part, "w", encoding="utf-8") as out:
        json.dump(value, out)
    os.replace(part, path)


def fault(name, default=None):
    return load(f"{RIG}/faults.json", {}).get(name, default)


def wall():
    return time.time() + float(fault("clock_offset_s", 0))


def complain(message, status=1):
    print(message, file=sys.stderr)
    return status


def real(tool, arguments):
    for directory in ("/usr/bin", "/bin"):
        if os.path.exists(f"{directory}/{tool}"):
            os.execv(f"{directory}/{tool}", [tool, *arguments])
    return complain(f"{tool}: not found", 127)


# ---- system --------------------------------------------------------------------------------------
def getprop(a):
    known = {**PROPERTIES, **load(f"{RIG}/props.json", {})}
    print(known.get(a[0], "") if a else "\n".join(f"[{k}]: [{v}]" for k, v in sorted(known.items())))


def settings(a):
    path = f"{RIG}/settings.json"
    known = load(path, dict(SETTINGS))
    key = f"{a[1]}/{a[2]}"
    if a[0] == "get":
        print(known.get(key, "null"))
    elif a[0] == "put":
        known[key] = a[3]
        save(path, known)
    elif a[0] == "delete":
        print(f"Deleted {int(known.pop(key, None) is not None)} rows")
        save(path, known)


def wm(a):
    if a[:1] == ["size"]:
        print("Physical size: 412x892")


def date(a):
    if a and a[0].startswith("+") and fault("clock_offset_s"):
        moment = wall()
        print(a[0][1:].replace("%s", str(int(moment))).replace("%N", f"{int(moment % 1 * 1e9):09d}"))
        return 0
    return real("date", a)


def df(a):
    free = fault("free_kb")
    if free is None:
        return real("df", a)
    print("Filesystem 1K-blocks Used Available Use% Mounted on")
    print(f"/dev/block/dm-5 1000000 {1000000 - int(free)} {free} 99% /data")


def rm(a):
    if fault("rm") == "refuse" and any(TRACES in part for part in a):
        return complain("rm: Permission denied")
    return real("rm", a)


def dd(a):
    if fault("dd") == "refuse" and any(TRACES in part for part in a):
        return complain("dd: Permission denied")
    return real("dd", a)


def cmd(a):
    if a[:2] == ["package", "resolve-activity"]:
        facts = app_facts(a[-1])
        if facts is None or facts.get("activity") is False:
            print("No activity found")
            return 0
        print(f"priority=0 preferredOrder=0 match=0x108000\n{a[-1]}/.Home")
    elif a[:3] == ["overlay", "list", "android"]:
        for name, (is_enabled, _) in load(f"{RIG}/overlays.json", {}).items():
            print(f"[{'x' if is_enabled else ' '}] {name}")
    elif a[:2] == ["package", "path"]:
        _, path = load(f"{RIG}/overlays.json", {}).get(a[2], (False, None))
        if path is None:
            return 1
        print(f"package:{path}")
    elif a[:2] == ["connectivity", "airplane-mode"]:
        path = f"{RIG}/settings.json"
        known = load(path, dict(SETTINGS))
        if len(a) == 2:
            print("enabled" if known.get("global/airplane_mode_on") == "1" else "disabled")
        else:
            known["global/airplane_mode_on"] = "1" if a[2] == "enable" else "0"
            save(path, known)


# ---- the log -------------------------------------------------------------------------------------
def write_log(buffer, level, tag, text, pid=None):
    path = f"{RIG}/log/{buffer}"
    lines = []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as stream:
            lines = stream.read().splitlines()
    pid = pid or os.getpid()
    lines += [f"{wall():17.3f} {pid:5d} {pid:5d} {level} {tag}: {line}" for line in text.splitlines()]
    ring = int(fault("log_lines", 5000))
    with open(f"{path}.{os.getpid()}", "w", encoding="utf-8") as out:
        out.write("\n".join(lines[-ring:]) + "\n")
    os.replace(f"{path}.{os.getpid()}", path)


def log(a):
    options = dict(zip(a[:-1:2], a[1::2], strict=False))
    write_log("main", options.get("-p", "i").upper(), options.get("-t", "log"), a[-1])


def logcat(a):
    buffers = [a[i + 1] for i, part in enumerate(a) if part == "-b"] or ["main", "system", "crash"]
    ring = int(fault("log_lines", 5000))
    for buffer in buffers:
        path = f"{RIG}/log/{buffer}"
        lines = []
        if os.path.exists(path):
            with open(path, encoding="utf-8") as stream:
                lines = stream.read().splitlines()
        if "-g" in a:
            used = 256 * len(lines) // ring
            print(f"{buffer}: ring buffer is 256 KiB ({used} KiB consumed), max entry is 5120 B, max payload is 4068 B")
            continue
        if "-c" in a:
            save(path, "")
            os.unlink(path)
            continue
        if lines:
            print(f"--------- beginning of {buffer}")
        last = int(a[a.index("-t") + 1]) if "-t" in a else len(lines)
        for line in lines[len(lines) - min(last, len(lines)) :]:
            print(line)


# ---- apps ----------------------------------------------------------------------------------------
def app_facts(package):
    return load(f"{APPS}/{package}.json", None)


def processes():
    """(pid, arguments) of all living processes."""
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/cmdline", "rb") as stream:
                    arguments = stream.read().split(b"\0")
            except OSError:
                continue
            if arguments != [b""]:
                yield int(entry), [part.decode(errors="replace") for part in arguments]


def app_pids(package):
    return [pid for pid, arguments in processes() if arguments[0] == package]


def start_app(package):
    """An app's process is a child of nobody here, as one that zygote forked: nothing of the caller's environment."""
    facts = app_facts(package)
    save(f"{RIG}/ui-{package}.json", {"screen": 0, "events": 0})
    save(f"{RIG}/top.json", {"package": package})
    if facts.get("crash_at_start"):
        crash(package, os.getpid())
        return
    if os.fork() == 0:
        os.setsid()
        nothing = os.open("/dev/null", os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)
        os.execve("/usr/bin/sleep", [package, "100000"], {"PATH": "/usr/bin"})
    deadline = time.time() + 5
    while not app_pids(package) and time.time() < deadline:
        time.sleep(0.01)


def crash(package, pid):
    text = f"FATAL EXCEPTION: main\nProcess: {package}, PID: {pid}\njava.lang.IllegalStateException: rig"
    text += f"\n\tat {package}.Home.onTap(Home.java:42)"
    write_log("crash", "E", "AndroidRuntime", text, pid)


def tombstone(package, pid):
    bars = "*** " * 16
    text = f"{bars}\nBuild fingerprint: 'rig'\npid: {pid}, tid: {pid}, name: main  >>> {package} <<<"
    write_log("crash", "F", "DEBUG", text + "\nsignal 11 (SIGSEGV), code 1 (SEGV_MAPERR), fault addr 0x0")


def not_responding(package, pid):
    text = f"ANR in {package} ({package}/.Home)\nPID: {pid}\nReason: Input dispatching timed out"
    write_log("system", "E", "ActivityManager", text, 1000)


def stop_app(package):
    for pid in app_pids(package):
        os.kill(pid, signal.SIGKILL)


def am(a):
    if a[0] == "start":
        component = a[a.index("-n") + 1]
        package = component.split("/")[0]
        if app_facts(package) is None:
            return complain(f"Error type 3\nError: Activity class {{{component}}} does not exist.")
        if not app_pids(package):
            start_app(package)
        print(f"Starting: Intent {{ cmp={component} }}\nStatus: ok\nLaunchState: COLD\nComplete")
    elif a[0] == "force-stop":
        stop_app(a[-1])
    elif a[0] == "instrument":
        return instrument(a)


def instrument(a):
    """A test app whose tests leave what lies in /data/rig/benchmarkData.json."""
    package = a[-1].split("/")[0]
    extras = {a[i + 1]: a[i + 2] for i, part in enumerate(a) if part == "-e"}
    if app_facts(package) is None:
        print(f"INSTRUMENTATION_STATUS: Error=Unable to find instrumentation info for: ComponentInfo{{{a[-1]}}}")
        print(f"INSTRUMENTATION_FAILED: {a[-1]}")
        return 0
    start_app(package)
    if fault("instrument") == "endless":
        time.sleep(3600)
    if fault("instrument") == "fail":
        print(f"There was 1 failure:\n1) {extras['class']}: java.lang.AssertionError: rig\nFAILURES!!!\nTests run: 1")
    else:
        save(f"{extras['additionalTestOutputDir']}/{package}-benchmarkData.json", load(f"{RIG}/benchmarkData.json", {}))
        print("Time: 1.5\n\nOK (1 test)")
    if fault("instrument") != "hang":
        stop_app(package)
    return 0


def app_process(a):
    """Android's runtime as far as benchmarks use it: the machine's JVM with CLASSPATH. 32 and 64 bits are the same."""
    place = a.index("/")
    for directory in ("/usr/bin", "/usr/local/bin"):
        if os.path.exists(f"{directory}/java"):
            os.execv(f"{directory}/java", ["java", *a[:place], "-cp", os.environ["CLASSPATH"], *a[place + 1 :]])
    return complain("app_process: not found", 127)


def pm(a):
    if a[0] == "path":
        if app_facts(a[1]) is None:
            return 1
        print(f"package:{APPS}/{a[1]}.apk")
    elif a[0] == "install":
        if fault("install") == "refuse":
            print("Failure [INSTALL_FAILED_INSUFFICIENT_STORAGE]")
            return 1
        import zipfile

        try:
            with zipfile.ZipFile(a[-1]) as apk:
                facts = json.loads(apk.read("assets/standin.json"))
        except (OSError, KeyError, ValueError, zipfile.BadZipFile):
            print("Failure [INSTALL_PARSE_FAILED_NOT_APK]")
            return 1
        save(f"{APPS}/{facts['package']}.json", facts)
        print("Success")
    elif a[0] in ("uninstall", "clear"):
        stop_app(a[-1])
        if app_facts(a[-1]) is None:
            print("Failure [DELETE_FAILED_INTERNAL_ERROR]")
            return 1
        if a[0] == "uninstall":
            os.unlink(f"{APPS}/{a[-1]}.json")
        print("Success")


def pidof(a):
    found = app_pids(a[-1])
    if not found:
        return 1
    print(" ".join(map(str, found)))


def dumpsys(a):
    top = load(f"{RIG}/top.json", {}).get("package")
    if a[0] == "package":
        facts = app_facts(a[1])
        if facts is None:
            print(f"Unable to find package: {a[1]}")
            return 0
        print(f"Packages:\n  Package [{a[1]}] (1a2b3c):\n    versionCode={facts['versionCode']} minSdk=24 targetSdk=34")
        print(f"    versionName={facts['versionName']}")
    elif a[0] == "activity":
        if top and app_pids(top):
            name = f"{top}/.{SCREENS[load(f'{RIG}/ui-{top}.json', {'screen': 0})['screen']]}"
        else:
            name = "com.android.launcher3/.Launcher"
        print(f"  topResumedActivity=ActivityRecord{{1f2e u0 {name} t12}}")
    elif a[0] == "thermalservice":
        print(f"IsStatusOverride: false\nThermal Status: {fault('thermal_status', 0)}")
    elif a[0] == "battery":
        print("Current Battery Service state:\n  AC powered: true\n  level: 100")
        print(f"  temperature: {fault('temperature', 250)}")


# ---- the screen ----------------------------------------------------------------------------------
def uiautomator(a):
    target = a[1] if len(a) > 1 else "/sdcard/window_dump.xml"
    top = load(f"{RIG}/top.json", {}).get("package")
    if not top or not app_pids(top):
        return complain("ERROR: could not get idle state.")
    ui = load(f"{RIG}/ui-{top}.json", {"screen": 0, "events": 0})
    screen = SCREENS[ui["screen"]]
    rows = "".join(
        f'<node package="{top}" class="android.widget.Button" resource-id="{top}:id/{screen.lower()}_{row}" '
        f'text="{screen} {row} &amp; {ui["events"]}" clickable="true" enabled="true" scrollable="false" '
        f'bounds="[0,{row * 90}][412,{row * 90 + 80}]" />'
        for row in range(2 + ui["screen"])
    )
    with open(target, "w", encoding="utf-8") as out:
        out.write("<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>")
        out.write(f'<hierarchy rotation="0"><node package="{top}" class="android.widget.FrameLayout">{rows}</node>')
        out.write("</hierarchy>")
    print(f"UI hierchary dumped to: {target}")  # the tool's own spelling


def touch(package, x, y):
    """One event: the next screen follows from this one and the place that was touched."""
    path = f"{RIG}/ui-{package}.json"
    ui = load(path, {"screen": 0, "events": 0})
    place = zlib.crc32(f"{ui['screen']} {int(x) // 103} {int(y) // 223}".encode())
    save(path, {"screen": place % len(SCREENS), "events": ui["events"] + 1})
    return ui["events"] + 1


def input_(a):
    top = load(f"{RIG}/top.json", {}).get("package")
    if a[0] == "tap" and top and app_pids(top):
        touch(top, float(a[1]), float(a[2]))


def monkey(a):
    value = lambda name, default: a[a.index(name) + 1] if name in a else default  # noqa: E731
    package, seed, count = value("-p", ""), int(value("-s", "0")), int(a[-1])
    pause = int(value("--throttle", "0")) / 1000
    print(f":Monkey: seed={seed} count={count}\n:AllowPackage: {package}", flush=True)
    facts = app_facts(package)
    if facts is None or fault("monkey") == "never":
        print("** No activities found to run, monkey aborted.")
        return 252
    import random

    chance = random.Random(seed)
    for number in range(1, count + 1):
        if fault("monkey") == "hang" and number > 2:
            time.sleep(3600)
        if fault("monkey") == "crash" and number > 2:
            return complain("java.lang.RuntimeException: monkey itself fell over", 1)
        pids = app_pids(package)
        if not pids:
            start_app(package)
            pids = app_pids(package) or [0]
        x, y = chance.uniform(0, 412), chance.uniform(0, 892)
        events = touch(package, x, y)
        print(f":Sending Touch (ACTION_DOWN): 0:({x:.1f},{y:.1f})", flush=True)
        write_log("main", "I", "Choreographer", f"Skipped {number} frames!")
        ends = _misbehave(package, facts, events, pids[0])
        if ends == "crash":
            print(f"// CRASH: {package} (pid {pids[0]})\n// Short Msg: java.lang.IllegalStateException", flush=True)
            if "--ignore-crashes" not in a:
                print(f"** Monkey aborted due to error.\nEvents injected: {number}")
                return number
        time.sleep(pause)
    print(f"Events injected: {count}\n// Monkey finished")


def _misbehave(package, facts, events, pid):
    if events == facts.get("crash_after"):
        crash(package, pid)
        stop_app(package)
        return "crash"
    if events == facts.get("native_crash_after"):
        tombstone(package, pid)
        stop_app(package)
    if events == facts.get("anr_after"):
        not_responding(package, pid)
    if events == facts.get("vanish_after"):
        stop_app(package)
    return None


# ---- perfetto ------------------------------------------------------------------------------------
def perfetto(a):  # noqa: PLR0911  (as many as the real one has ways to end)
    """Takes `--txt -c - -o FILE --background|--background-wait`, the way a collection calls it; and copies a session
    that stays in its buffers: `--clone-by-name NAME -o FILE`."""
    if a == ["--help"]:
        print("Usage: perfetto" + ("\n  --clone-by-name NAME" if fault("clones") else ""))
        return 0
    if a[0] == "--clone-by-name":
        return clone(a[1], a[3])
    out = a[a.index("-o") + 1]
    if a[:3] != ["--txt", "-c", "-"] or a[-1] not in ("--background", "--background-wait"):
        return complain(f"perfetto: this stand-in does not know {' '.join(a)}")
    text = sys.stdin.read()
    refusal = _refusal(text)
    if refusal:
        return complain(refusal)
    if not os.path.realpath(out).startswith(TRACES + "/"):
        return complain(f"Failed to open {out}")
    with open(out, "wb"):
        pass  # as the real one: the file is there, empty, from the first moment
    pid = os.fork()
    if pid:
        print(pid)
        return 0
    os.setsid()
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)
    name = re.search(r'^unique_session_name: "(.*)"', text, flags=re.MULTILINE)
    if name:
        save(f"{RIG}/session-{name[1]}.json", {"began": time.clock_gettime_ns(time.CLOCK_BOOTTIME)})
    period_s = 1e9 if name else _milliseconds(text, "file_write_period_ms") / 1000
    replay(out, _milliseconds(text, "duration_ms") / 1000, period_s)
    return 0


def clone(name, out):
    """The buffers of a running session as they are now."""
    import standin_trace

    session = load(f"{RIG}/session-{name}.json", None)
    if session is None:
        return complain(f"Session '{name}' not found")
    packets = standin_trace.read_packets(f"{RIG}/trace")
    origin = next(moment for moment, _ in packets if moment is not None)
    elapsed = time.clock_gettime_ns(time.CLOCK_BOOTTIME) - session["began"]
    with open(out, "wb") as stream:
        for moment, packet in packets:
            if (moment or 0) <= origin + elapsed:
                stream.write(standin_trace.framed(standin_trace.shifted(packet, session["began"] - origin)))
    return 0


def _refusal(config):
    if not re.search(r"^data_sources \{", config, flags=re.MULTILINE) or "buffers {" not in config:
        return "The trace config is invalid, bailing out."
    if fault("perfetto") == "old" and ("compact_sched" in config or "cpufreq_period_ms" in config):
        return "No field named 'compact_sched' in proto FtraceConfig"
    return "EnableTracing() failed: the tracing service said no" if fault("perfetto") == "refuse" else None


def _milliseconds(config, name):
    match = re.search(rf"^{name}: (\d+)", config, flags=re.MULTILINE)
    return int(match[1]) if match else 5000


def replay(out, duration_s, period_s):
    """Writes the recorded trace as if it were being recorded, until told to stop."""
    import standin_trace

    stop = []
    signal.signal(signal.SIGTERM, lambda *_: stop.append(True))
    packets = standin_trace.read_packets(f"{RIG}/trace")
    origin = next(moment for moment, _ in packets if moment is not None)
    began = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    delta = began - origin
    mood, position, last_write = fault("perfetto"), 0, 0.0
    padding = int(fault("pad_bytes", 0))
    with open(out, "ab", buffering=0) as stream:
        if padding:
            stream.write(standin_trace.framed(standin_trace.field(900, 2, b"\0" * padding)))
        while True:
            elapsed = (time.clock_gettime_ns(time.CLOCK_BOOTTIME) - began) / 1e9
            ended = bool(stop) or elapsed >= duration_s
            if mood == "die" and elapsed > 0.8:
                os._exit(1)
            if mood == "hang" and stop:
                ended = False
            if mood != "empty" and (ended or elapsed - last_write >= period_s):
                last_write, part = elapsed, b""
                while position < len(packets) and (packets[position][0] or 0) <= origin + elapsed * 1e9:
                    part += standin_trace.framed(standin_trace.shifted(packets[position][1], delta))
                    position += 1
                if ended:  # as the real one, which flushes: a part of each core's begins when the last was written
                    for moment, packet in packets[position:]:
                        if moment is not None and moment <= origin + elapsed * 1e9:
                            part += standin_trace.framed(standin_trace.shifted(packet, delta))
                if mood == "half" and ended:
                    part += standin_trace.framed(packets[min(position, len(packets) - 1)][1])[:-7]
                stream.write(part)
            if ended:
                return
            time.sleep(0.02)


TOOLS = {
    **{tool.__name__: tool for tool in (getprop, settings, wm, date, df, rm, dd, cmd, log, logcat, am, pm, pidof)},
    **{tool.__name__: tool for tool in (dumpsys, uiautomator, monkey, perfetto)},
    **{f"app_process{bits}": app_process for bits in ("", "32", "64")},
    "input": input_,
}


def main():
    name = sys.argv.pop(1)
    pause = (fault("delay_s") or {}).get(name)
    if pause:
        time.sleep(float(pause))
    try:
        sys.exit(TOOLS[name](sys.argv[1:]) or 0)
    except BrokenPipeError:
        sys.exit(0)
