"""Makes long traces small: judges windows of time against a reference, keeps what is unusual with a rim around it.

What is written is a folder per trace: the cut trace, which Perfetto opens, and perfreg.reduction.json, which says what
was judged how, and what is in the seconds that were dropped.
"""

from __future__ import annotations

import errno
import gzip
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO, cast

from perfreg_assets.model.reduced_before import parameters_of, reduced_before, require_same
from perfreg_assets.model.reduction_document import Reduced, Reduction
from perfreg_assets.model.trace_source import Source
from perfreg_assets.model.window_judging import Learned, Windows, judge_trace
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.settings import Settings
from perfreg_assets.traces import reduced
from perfreg_assets.traces.cutting import Cut, cut_trace
from perfreg_assets.traces.gate import FileFacts, check_file, sha256_of
from perfreg_assets.whole_files import remove_dead_parts, whole_file, write_whole


def reduce_once(source: Source, folder: Path, settings: Settings, learned: Learned | None = None) -> Reduction:
    """Writes a folder with the reduced trace and what was dropped; a trace that was gzip stays so. Where an earlier
    call did it, it is what that has written: the same call goes on.

    Raises:
        Rejected: as `judge_trace`; TRACE_REDUCED: it is one already; REDUCTION_EXISTS: what is there is of another
            trace or made with other parameters; FOLDER_UNWRITABLE; HOST_NO_SPACE.
    """
    facts = check_file(source.path, settings=settings)
    if facts.is_reduced:
        raise Rejected(Reason.TRACE_REDUCED, source.path.name)
    parameters = parameters_of(settings, learned, app=source.app, span=source.span)
    try:
        if os.access(folder, os.W_OK):
            remove_dead_parts(folder)  # of calls that were killed: each may be as large as the trace
        before = reduced_before(folder, source.path, facts, parameters)
    except OSError as error:
        raise Rejected(Reason.FOLDER_UNWRITABLE, f"{folder}: {error.strerror}") from error
    return before or _written(folder, facts, judge_trace(source, settings, learned), parameters, settings)


def _written(
    folder: Path, facts: FileFacts, windows: Windows, parameters: Mapping[str, Any], settings: Settings
) -> Reduced:
    target = folder / facts.path.name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(target, is_durable=True) as file:
            cut, digest = _write(file, facts, windows, settings)
            require_same(target, digest)
            made = Reduced(target, facts, windows, cut, digest, file.tell(), parameters)
            told = json.dumps(made.told, separators=(",", ":"))
            write_whole(folder / reduced.DOCUMENT, told.encode(), is_durable=True)
    except OSError as error:
        reason = Reason.HOST_NO_SPACE if error.errno in (errno.ENOSPC, errno.EDQUOT) else Reason.FOLDER_UNWRITABLE
        raise Rejected(reason, f"{folder}: {error.strerror}") from error
    return made


def _write(file: BinaryIO, facts: FileFacts, windows: Windows, settings: Settings) -> tuple[Cut, str]:
    # No name and no time in the gzip header: the same trace gives the same bytes.
    stream = gzip.GzipFile("", "wb", 6, file, 0) if facts.is_gzip else file
    write = cast("Callable[[bytes], object]", stream.write)
    write(reduced.mark())
    cut = cut_trace(facts.path, settings.trace_max_bytes, windows.stretches, windows.events.bundles, write)
    if stream is not file:
        stream.close()
    file.flush()
    return cut, sha256_of(Path(file.name))
