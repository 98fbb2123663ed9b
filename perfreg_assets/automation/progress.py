"""Progress of an in-process run: which step of how many began, and what assets log, told to whoever watches."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import dagster as dg

from perfreg_assets import advance
from perfreg_assets.advance import Watcher as Progress

NAME = "progress"


@dataclass
class _Plan:
    """Of the run under way: how many steps it has, of what, and how many began."""

    steps: int = 0
    of_what: str = ""
    begun: int = 0

    def next(self, step_key: str) -> str:
        self.begun += 1
        words = step_key.replace("_", " ")
        return f"step {self.begun} of {self.steps}, {words}: {self.of_what}" if self.steps else f"{words} …"


_plan = _Plan()


@contextmanager
def planned(steps: int, of_what: str) -> Iterator[None]:
    """The run in the block has so many steps."""
    global _plan  # noqa: PLW0603  (Dagster makes the logger itself; runs in a process go one after another)
    before, _plan = _plan, _Plan(steps, of_what)
    try:
        yield
    finally:
        _plan = before


class _Forward(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        meta = getattr(record, "dagster_meta", {}) or {}
        event = meta.get("dagster_event")
        if event is not None and not event.is_step_start:
            return
        if record.levelno >= logging.ERROR:  # steps that were left out, in Dagster's words: what failed is told itself
            return
        if event is not None:
            advance.tell(_plan.next(str(meta.get("step_key"))))
        else:
            advance.tell(str(meta.get("orig_message", record.getMessage())))


@dg.logger(config_schema={}, description="Hands messages to the command line's progress display.")
def progress_logger(_: dg.InitLoggerContext) -> logging.Logger:
    logger = logging.Logger("perfreg.progress", logging.INFO)
    logger.addHandler(_Forward(logging.DEBUG))
    logger.setLevel(logging.DEBUG)
    return logger


__all__ = ["NAME", "Progress", "planned", "progress_logger"]
