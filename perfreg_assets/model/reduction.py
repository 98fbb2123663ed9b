"""Makes long traces small: judges windows of time against a reference, keeps what is unusual with a rim around it.

What is written is a folder per trace: the cut trace, which Perfetto opens, and perfreg.reduction.json, which says what
was judged how, and what is in the seconds that were dropped.
"""

from __future__ import annotations

import errno
import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from perfreg_assets.model.reduced_before import ReducedBefore, parameters_of, reduced_before, require_same
from perfreg_assets.model.reduction_document import Reduced, document
from perfreg_assets.model.window_judging import Learned, Windows, judge_trace
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces import reduced
from perfreg_assets.traces.cutting import Cut, cut_trace
from perfreg_assets.traces.gate import FileFacts, check_file, sha256_of
from perfreg_assets.whole_files import whole_file, write_whole


def reduce_once(
    path: Path,
    folder: Path,
    settings: Settings,
    learned: Learned | None = None,
    *,
    app: str | None = None,
    device: str | None = None,
    span: tuple[int, int] | None = None,
) -> Reduced | ReducedBefore:
    """As `reduce_trace`, but where an earlier call did it, what that has written: the same call goes on.

    Raises:
        Rejected: as `reduce_trace`; REDUCTION_EXISTS: what is there is of another trace or made with other parameters.
    """
    facts = _whole(path, settings)
    parameters = parameters_of(settings, learned, app=app, span=span)
    try:
        before = reduced_before(folder, path, facts, parameters)
    except OSError as error:
        raise Rejected(Reason.FOLDER_UNWRITABLE, f"{folder}: {error.strerror}") from error
    return before or _reduced(facts, folder, settings, learned, parameters, app=app, device=device, span=span)


def reduce_trace(
    path: Path,
    folder: Path,
    settings: Settings,
    learned: Learned | None = None,
    *,
    app: str | None = None,
    device: str | None = None,
    span: tuple[int, int] | None = None,
) -> Reduced:
    """Writes a folder with the reduced trace and what was dropped; a trace that was gzip stays so.

    Args:
        folder: has nothing of it yet.
        app, device, span: see `judge_trace`.

    Raises:
        Rejected: as `judge_trace`; TRACE_REDUCED: it is one already; REDUCTION_EXISTS; FOLDER_UNWRITABLE;
            HOST_NO_SPACE.
    """
    parameters = parameters_of(settings, learned, app=app, span=span)
    return _reduced(_whole(path, settings), folder, settings, learned, parameters, app=app, device=device, span=span)


def _whole(path: Path, settings: Settings) -> FileFacts:
    facts = check_file(path, settings=settings)
    if facts.is_reduced:
        raise Rejected(Reason.TRACE_REDUCED, path.name)
    return facts


def _reduced(
    facts: FileFacts, folder: Path, settings: Settings, learned: Learned | None, parameters: Mapping[str, Any], *,
    app: str | None, device: str | None, span: tuple[int, int] | None,
) -> Reduced:  # fmt: skip
    path = facts.path
    target = folder / path.name
    windows = judge_trace(path, settings, learned, app=app, device=device, span=span)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(target, is_durable=True) as file:
            cut, digest = _write(file, path, facts, windows, settings)
            require_same(target, digest)
            made = Reduced(target, facts, windows, cut, digest, file.tell(), parameters)
            told = json.dumps(document(made), separators=(",", ":"))
            write_whole(folder / reduced.DOCUMENT, told.encode(), is_durable=True)
    except OSError as error:
        reason = Reason.HOST_NO_SPACE if error.errno in (errno.ENOSPC, errno.EDQUOT) else Reason.FOLDER_UNWRITABLE
        raise Rejected(reason, f"{target.parent}: {error.strerror}") from error
    return made


def _write(file: BinaryIO, path: Path, facts: FileFacts, windows: Windows, settings: Settings) -> tuple[Cut, str]:
    # No name and no time in the gzip header: the same trace gives the same bytes.
    stream = gzip.GzipFile("", "wb", 6, file, 0) if facts.is_gzip else file
    write = cast("Callable[[bytes], object]", stream.write)
    write(reduced.mark())
    cut = cut_trace(path, settings.trace_max_bytes, windows.stretches, windows.events.bundles, write)
    if stream is not file:
        stream.close()
    file.flush()
    return cut, sha256_of(Path(file.name))
