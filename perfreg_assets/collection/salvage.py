"""What of an endurance recording was not judged when its collection was killed or cut off: fetched, never dropped."""

from __future__ import annotations

import errno
from pathlib import Path, PurePosixPath

from perfreg_assets.collection.device import Device
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.spool import Spool, find_spool

UNJUDGED = "unjudged"
_CHUNK_BYTES = 8 << 20
_TIMEOUT_S = 1800.0


def salvage(device: Device, path: str, folder: Path) -> bool:
    """Fetches what a collection had not judged of its recording into the collection's folder; whether it is there.

    Raises:
        Rejected: the device cannot be reached.
    """
    size = device.file_bytes(path)
    if size is None or not folder.is_dir():
        return True  # dealt with, or thrown away by somebody
    spool = find_spool(folder)
    try:
        if spool is None:
            return size == 0 or _fetch_whole(device, path, folder)
        return _fetch_rest(device, path, spool, size)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        return False  # no space here: it stays on the device, and listed


def _fetch_whole(device: Device, path: str, folder: Path) -> bool:
    target = folder / f"{UNJUDGED}-{PurePosixPath(path).stem}.perfetto-trace"
    try:
        device.pull(path, target, timeout_s=_TIMEOUT_S)
    except Rejected as refusal:
        if refusal.reason is Reason.HOST_NO_SPACE:
            return False
        raise
    return True


def _fetch_rest(device: Device, path: str, spool: Spool, size: int) -> bool:
    while spool.offset < size:
        data = device.read_from(path, spool.offset, _CHUNK_BYTES, timeout_s=_TIMEOUT_S)
        if not data:
            break
        spool.append(data)
    if spool.size:
        spool.path.rename(spool.path.with_name(f"{UNJUDGED}.perfetto-trace"))
    else:
        spool.remove()
    return True
