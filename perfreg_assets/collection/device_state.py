"""The device made fit to be measured, and given back as it was.

What is changed is written to the journal with its old value first; the journal's settling restores it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from perfreg_assets.collection.adb_server import is_remote_serial
from perfreg_assets.collection.builds import Build
from perfreg_assets.collection.config import CollectionConfig
from perfreg_assets.collection.device import Device
from perfreg_assets.collection.journal import Journal
from perfreg_assets.reasons import Reason, Rejected

_ANIMATIONS = ("window_animation_scale", "transition_animation_scale", "animator_duration_scale")
_PROCESS_WITHIN_S = 3.0  # `am start -W` has waited for the first frame already
_STAY_ON_ALWAYS = "7"  # AC, USB and wireless


def prepare_device(device: Device, journal: Journal, config: CollectionConfig) -> list[str]:
    """Screen, animations, airplane mode as configured; returns what was set, in words, always in the same order.

    Raises:
        Rejected: COLLECTION_CONFIG_INVALID, airplane mode would cut the connection; those of `Device.check`.
    """
    if config.airplane_mode and is_remote_serial(device.serial):
        raise Rejected(
            Reason.COLLECTION_CONFIG_INVALID, f"airplane_mode would cut off {device.serial}, which is on a network"
        )
    done = []
    if config.keep_screen_on:
        _set(device, journal, "global", "stay_on_while_plugged_in", _STAY_ON_ALWAYS)
        device.check(["input", "keyevent", "KEYCODE_WAKEUP"])
        device.check(["wm", "dismiss-keyguard"])
        done.append("screen on")
    if config.animations_off:
        for name in _ANIMATIONS:
            _set(device, journal, "global", name, "0")
        done.append("animations off")
    if config.airplane_mode:
        before = device.check(["cmd", "connectivity", "airplane-mode"]).strip()
        if before != "enabled":
            journal.owe("airplane", "disable")
            device.check(["cmd", "connectivity", "airplane-mode", "enable"])
        done.append("airplane mode")
    return done


def _set(device: Device, journal: Journal, namespace: str, name: str, value: str) -> None:
    before = device.check(["settings", "get", namespace, name]).strip()
    if before == value:
        return
    journal.owe("setting", namespace, name, before)
    device.check(["settings", "put", namespace, name, value])


def battery_celsius(device: Device) -> float | None:
    """Temperature of the battery; None where the device does not say."""
    match = re.search(r"^\s*temperature:\s*(-?\d+)", device.check(["dumpsys", "battery"]), flags=re.MULTILINE)
    return int(match[1]) / 10 if match else None


def cool_down(
    device: Device, config: CollectionConfig, on_wait: Callable[[float, float], None], *, poll_s: float = 10.0
) -> float | None:
    """Waits until the battery is cool enough; returns its temperature at the end (°C).

    Raises:
        Rejected: DEVICE_TOO_HOT, after `cool_down_limit_s`.
    """
    started = time.monotonic()
    temperature = battery_celsius(device)
    if config.max_battery_celsius is None:
        return temperature
    while temperature is not None and temperature > config.max_battery_celsius:
        waited = time.monotonic() - started
        if waited >= config.cool_down_limit_s:
            raise Rejected(
                Reason.DEVICE_TOO_HOT,
                f"{temperature:.1f} °C after {waited:.0f} s, wanted are {config.max_battery_celsius:.1f} °C",
            )
        on_wait(temperature, waited)
        time.sleep(min(poll_s, max(0.1, config.cool_down_limit_s - waited)))
        temperature = battery_celsius(device)
    return temperature


# ---- the app -------------------------------------------------------------------------------------
def install(device: Device, journal: Journal, build: Build, config: CollectionConfig, scratch_dir: str) -> None:
    """Puts exactly this build on the device; an installed version of the app is uninstalled before.

    Raises:
        Rejected: INSTALL_REFUSED with the device's own message.
    """
    if is_installed(device, build.app):
        device.run(["pm", "uninstall", build.app], timeout_s=120)
    remote = f"{scratch_dir}/app.apk"
    device.push(Path(build.path), remote, timeout_s=config.transfer_timeout_s)
    if not config.keep_app:
        journal.owe("app", build.app)
    result = device.run(["pm", "install", "-r", "-t", "-g", remote], timeout_s=300)
    if result.returncode != 0 or "Success" not in result.text:
        raise Rejected(Reason.INSTALL_REFUSED, f"{Path(build.path).name}: {result.error_text}")
    device.remove(remote)  # its folder goes at the end; until then the space is the trace's


def is_installed(device: Device, app: str) -> bool:
    return device.run(["pm", "path", app]).returncode == 0


def installed_version(device: Device, app: str) -> tuple[str, int | None]:
    """(versionName, versionCode) as the device sees them.

    Raises:
        Rejected: APP_NOT_INSTALLED.
    """
    text = device.check(["dumpsys", "package", app])
    name = re.search(r"^\s*versionName=(.*)$", text, flags=re.MULTILINE)
    code = re.search(r"\bversionCode=(\d+)", text)
    if name is None:
        raise Rejected(Reason.APP_NOT_INSTALLED, f"{app} on {device.serial}")
    return name[1].strip(), int(code[1]) if code else None


def launch(device: Device, app: str, *, timeout_s: float, settle_s: float) -> int:
    """Starts the app's launcher activity, waits for its process and lets it settle; returns the pid.

    Raises:
        Rejected: APP_NOT_STARTED, APP_CRASHED_AT_START.
    """
    resolved = device.run(
        [
            *("cmd", "package", "resolve-activity", "--brief"),
            *("-a", "android.intent.action.MAIN", "-c", "android.intent.category.LAUNCHER", app),
        ]
    )
    lines = resolved.text.strip().splitlines()
    component = lines[-1].strip() if lines else ""
    if resolved.returncode != 0 or not component.startswith(f"{app}/"):
        raise Rejected(Reason.APP_NOT_STARTED, f"{app} has no launcher activity")
    started = device.run(["am", "start", "-W", "-n", component], timeout_s=timeout_s)
    if started.returncode != 0 or re.search(r"^Error", started.text, flags=re.MULTILINE):
        raise Rejected(Reason.APP_NOT_STARTED, f"{component}: {started.error_text}")
    deadline = time.monotonic() + min(timeout_s, _PROCESS_WITHIN_S)
    pid = app_pid(device, app)
    while pid is None and time.monotonic() < deadline:
        time.sleep(0.1)
        pid = app_pid(device, app)
    if pid is None:
        raise Rejected(Reason.APP_CRASHED_AT_START, f"{app} has no process after its start")
    time.sleep(settle_s)
    if app_pid(device, app) != pid:
        raise Rejected(Reason.APP_CRASHED_AT_START, f"process {pid} of {app} ended within {settle_s:g} s")
    return pid


def app_pid(device: Device, app: str) -> int | None:
    """The app's first process; None when it does not run."""
    words = device.run(["pidof", app]).text.split()
    return int(words[0]) if words and words[0].isdigit() else None
