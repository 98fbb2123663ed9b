"""What a check of an installation found, and how it is mended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from perfreg_assets.reasons import Rejected

OK, NOTICE, FAILED, MENDED = "ok", "notice", "failed", "mended"

COLUMNS = ("check", "state", "detail", "advice")


@dataclass(frozen=True)
class Finding:
    """Of one check.

    Attributes:
        state: OK; NOTICE, it works and somebody should know; FAILED.
        advice: what to do; nothing where it is ok.
        mend: does it without losing anything, and says what it did; None where that takes a person.
    """

    check: str
    state: str
    detail: str
    advice: str = ""
    mend: Callable[[], str] | None = None

    def row(self, *, is_fixing: bool) -> dict[str, Any]:
        """As it is shown: check, state, detail, advice; mended first where that is wanted and possible."""
        if is_fixing and self.mend is not None:
            try:
                return _row(self.check, MENDED, f"{self.detail}: {self.mend()}", "")
            except (Rejected, OSError) as error:
                return _row(self.check, FAILED, f"{self.detail}: not mended: {error}", self.advice)
        advice = f"{self.advice}, as `perfreg doctor --fix` does" if self.mend is not None else self.advice
        return _row(self.check, self.state, self.detail, advice)


def _row(check: str, state: str, detail: str, advice: str) -> dict[str, Any]:
    return dict(zip(COLUMNS, (check, state, detail, advice), strict=True))


def guarded(check: str, find: Callable[[], Finding]) -> Finding:
    """What a check finds; one that cannot be made has failed."""
    try:
        return find()
    except Rejected as rejected:
        return Finding(check, FAILED, rejected.detail, rejected.reason.sentence)
    except OSError as error:
        return Finding(check, FAILED, f"{error}", "look at the file or folder that is named")
