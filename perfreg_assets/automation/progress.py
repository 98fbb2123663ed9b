"""Progress of an in-process run: what assets log, and which step began, handed to whoever shows it."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import dagster as dg

Progress = Callable[[str], None]
NAME = "progress"

_watchers: list[Progress] = []


@contextmanager
def watched(progress: Progress | None) -> Iterator[None]:
    """Messages of runs in this process go to `progress` while the block runs."""
    if progress is None:
        yield
        return
    _watchers.append(progress)
    try:
        yield
    finally:
        _watchers.remove(progress)


class _Forward(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        meta = getattr(record, "dagster_meta", {}) or {}
        event = meta.get("dagster_event")
        if event is not None and not event.is_step_start:
            return
        text = f"{meta.get('step_key')} …" if event is not None else str(meta.get("orig_message", record.getMessage()))
        for watcher in list(_watchers):
            watcher(text)


@dg.logger(config_schema={}, description="Hands messages to the command line's progress display.")
def progress_logger(_: dg.InitLoggerContext) -> logging.Logger:
    logger = logging.Logger("perfreg.progress", logging.INFO)
    logger.addHandler(_Forward(logging.DEBUG))
    logger.setLevel(logging.DEBUG)
    return logger
