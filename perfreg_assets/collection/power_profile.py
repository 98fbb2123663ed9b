"""The device's own power profile: out of the framework's resources and the overlays that replace them, as plain XML.

Everything here is readable without root, and nothing is left on the device: entries are printed, not unpacked.
"""

from __future__ import annotations

import io
import logging
import zipfile
from dataclasses import dataclass
from pathlib import Path

from perfreg_assets.collection.adb_server import PASSING_REASONS
from perfreg_assets.collection.device import Device
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.run import POWER_PROFILE

_ENTRY = "res/xml/power_profile.xml"
_MOST_BYTES = 4 << 20
_TIMEOUT_S = 60.0

# APKs that may say it, the one that holds last: enabled overlays of the framework as Android orders them, over the
# framework itself. Without unzip (in Android since 10) all of them are named.
_CANDIDATES = r"""
has_entry() { ! command -v unzip >/dev/null 2>&1 || unzip -l "$1" "$2" >/dev/null 2>&1; }
framework=/system/framework/framework-res.apk
[ -r "$framework" ] && has_entry "$framework" "$1" && echo "$framework"
for package in $(cmd overlay list android 2>/dev/null | sed -n 's/^\[x\] *//p'); do
  path=$(cmd package path "$package" 2>/dev/null | sed -n 's/^package://p' | head -n 1)
  [ -n "$path" ] && [ -r "$path" ] && has_entry "$path" "$1" && echo "$path"
done
exit 0
"""


@dataclass(frozen=True)
class FetchedProfile:
    """`path`: on this computer; `source`: the APK on the device that it was in."""

    path: Path
    source: str


def fetch_power_profile(device: Device, folder: Path) -> FetchedProfile | str:
    """Puts the device's power_profile.xml into a folder; or why there is none, which a collection does not end by.

    Raises:
        Rejected: the device went away.
    """
    try:
        listed = device.script(_CANDIDATES, _ENTRY, timeout_s=_TIMEOUT_S)
        for source in reversed(listed.text.splitlines()):
            content = _entry(device, source, folder)
            if content is not None:
                target = folder / POWER_PROFILE
                target.write_text(as_text(content), encoding="utf-8")
                return FetchedProfile(target, source)
    except Rejected as refusal:
        if refusal.reason in PASSING_REASONS:
            raise
        return str(refusal)
    return f"neither the framework of {device.serial} nor an overlay of it has a readable {_ENTRY}"


def _entry(device: Device, source: str, folder: Path) -> bytes | None:
    """The entry of an APK on the device; None where it has none."""
    printed = device.run(["unzip", "-p", source, _ENTRY], timeout_s=_TIMEOUT_S, maximum_bytes=_MOST_BYTES)
    if printed.returncode == 0 and printed.stdout:
        return printed.stdout
    copied = folder / "resources.apk"
    device.pull(source, copied, timeout_s=_TIMEOUT_S)
    try:
        with zipfile.ZipFile(copied) as apk, apk.open(_ENTRY) as entry:
            return entry.read(_MOST_BYTES)
    except (KeyError, zipfile.BadZipFile):
        return None
    finally:
        copied.unlink()


def as_text(content: bytes) -> str:
    """A resource's XML as text: as it is, or out of Android's binary form.

    Raises:
        Rejected: PROFILE_MALFORMED.
    """
    if content.lstrip().startswith(b"<"):
        return content.decode("utf-8", "replace")
    from pyaxmlparser.axmlprinter import AXMLPrinter  # noqa: PLC0415  (lxml: half a second that only this needs)

    logging.getLogger("pyaxmlparser").setLevel(logging.ERROR)
    try:
        printer = AXMLPrinter(content)
        text: bytes = printer.get_xml()
    except Exception as error:  # (the parser raises whatever its input makes it raise)
        raise Rejected(Reason.PROFILE_MALFORMED, f"{_ENTRY}: {type(error).__name__}: {error}"[:300]) from error
    return io.BytesIO(text).read().decode("utf-8", "replace")
