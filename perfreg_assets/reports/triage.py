"""What `perfreg serve` lets people do: review runs and make another ω the current one, each said before it is done.

Plain forms with a page that says what will follow; scripts ask for the same as JSON. Only POST changes something, and
only behind `change_guard`. A write is one short transaction; what becomes due is computed by another process.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NoReturn
from urllib.parse import parse_qsl, urlencode

from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.reports import change_guard, review_wording, triage_pages
from perfreg_assets.reports.settling import Settling
from perfreg_assets.settings import SettingError, Settings
from perfreg_assets.warehouse import reviews, settings_table, verdicts
from perfreg_assets.warehouse.connection import Reader, Warehouse

LONGEST_NOTE, LONGEST_NAME = 2000, 200
PATIENCE_S = 10.0
"""So long a form waits for whoever writes; steps of a job write one after the other, each for less than a second."""
_LOOKS_AT_ONCE = 2
"""What a review would do is found from all runs of its app."""
SAID = (*reviews.STATUSES, reviews.WITHDRAWN)
_NOBODY = "none"
"""As `seen`: there was no review in force when the page was made."""
_BACK = ("inbox", "run")
_HEADERS = {"referrer-policy": "same-origin"}
"""Without a referrer, browsers say of a form that it comes from nowhere."""
_STATUS = {
    Reason.RUN_UNKNOWN: 404,
    Reason.WAREHOUSE_MISSING: 404,
    Reason.REVIEW_MISSING: 409,
    Reason.WAREHOUSE_UNPUBLISHED: 503,
    Reason.WAREHOUSE_LOCKED: 503,
    Reason.WAREHOUSE_DISK_FULL: 507,
}

EffectOf = Callable[[Reader, str, str], review_wording.Effect]
"""(reader, run_id, status) → what saying it would do; raises Rejected (RUN_UNKNOWN)."""


@dataclass(frozen=True)
class Triage:
    """What it takes.

    Attributes:
        effect_of: see `model.review_effects`.
        settling: makes true what a change makes due; None: nothing can be changed here.
        name: whoever serves: filled in as the name of who reviews.
    """

    settings: Settings
    effect_of: EffectOf
    settling: Settling | None = None
    name: str | None = None

    @property
    def may_change(self) -> bool:
        return self.settling is not None

    def routes(self) -> list[Route]:
        """Pages and what they send."""
        desk = _Desk(self)
        reading = [
            Route("/inbox", desk.inbox, methods=["GET"]),
            Route("/review", desk.ask_review, methods=["GET"]),
            Route("/omega", desk.ask_omega, methods=["GET"]),
            Route("/upkeep", desk.upkeep, methods=["GET"]),
        ]
        if not self.may_change:
            return reading
        return [
            Route("/review", desk.review, methods=["POST"]),
            Route("/omega", desk.make_current, methods=["POST"]),
            *reading,
        ]


_UNCHANGED = {
    "may_change": False,
    "why_not": "Nothing can be changed here: this server only reads.",
    **{"asked": 0, "done": 0, "told": "", "problem": None},
}
_COME_IN = (
    "To change something here, open the address that perfreg serve printed in this browser, then load this page again."
)
"""Told to a browser that did not come by it, or came from another site's page, whose first request brings no cookie."""


def nothing_changes(_request: Request) -> Response:
    """The answer to `/upkeep` of a server that takes nothing."""
    return JSONResponse(_UNCHANGED)


class RefusalError(Exception):
    """What a form is told, and with which status."""

    def __init__(self, sentence: str, status: int) -> None:
        super().__init__(sentence)
        self.status = status


def _malformed(sentence: str) -> NoReturn:
    raise RefusalError(sentence, 400)


@dataclass(frozen=True)
class Form:
    """What a form says of itself, and who says it why."""

    note: str | None
    name: str | None
    seen: str | None
    fields: Mapping[str, str]


def parse_form(body: bytes) -> Form:
    """The fields of a form.

    Raises:
        RefusalError: it is not one, or something is too long.
    """
    try:
        pairs = parse_qsl(body.decode("ascii"), keep_blank_values=True, strict_parsing=True, errors="strict")
    except ValueError:  # UnicodeDecodeError too
        _malformed("This is no form that this server's pages send.")
    fields = dict(pairs)
    if len(fields) != len(pairs):
        _malformed("A field of the form is given twice.")
    return Form(_text(fields, "note", LONGEST_NOTE), _text(fields, "name", LONGEST_NAME), fields.get("seen"), fields)


def _text(fields: Mapping[str, str], name: str, longest: int) -> str | None:
    given = "".join(one for one in fields.get(name, "").strip() if one.isprintable() or one in "\n\t")
    if len(given) > longest:
        _malformed(f"The {name} is longer than {longest} characters.")
    return given or None


def _status_of(given: str | None) -> str:
    if given not in SAID:
        _malformed(f"status must be one of {', '.join(SAID)}.")
    return given


def _omega_of(given: str | None) -> float:
    try:
        omega = float(given or "")
    except ValueError:
        omega = math.nan
    if not math.isfinite(omega):
        _malformed("omega must be a number, 0 or more.")
    try:
        return float(Settings.parsed("omega", repr(omega)))
    except SettingError as error:
        _malformed(f"{error}.")


def _moment(given: reviews.Review | None) -> str:
    return given.reviewed_at.isoformat() if given is not None else _NOBODY


def _wants_json(request: Request) -> bool:
    return request.headers.get("accept", "").startswith("application/json")


class _Desk:
    """The answers. One change at a time; readers never wait for it."""

    def __init__(self, triage: Triage) -> None:
        self._triage, self._settings = triage, triage.settings
        self._reading = Warehouse.of(triage.settings)
        self._writing = Warehouse(
            triage.settings.warehouse,
            lock_timeout_s=min(triage.settings.lock_timeout_s, PATIENCE_S),
            data=triage.settings.data,
        )
        self._turn = threading.Lock()
        self._looks = threading.Semaphore(_LOOKS_AT_ONCE)

    # ---- reading ---------------------------------------------------------------------------------
    def inbox(self, request: Request) -> Response:
        """Open alarms with what can be said of them, and the latest that was said."""
        asked = {name: request.query_params.get(name) for name in ("after", "before", "said")}
        try:
            with self._reading.reading() as reader:
                found = triage_pages.load_inbox(reader, **asked)
        except Rejected as rejected:
            return self._rejected(request, rejected)
        return self._page(triage_pages.render_inbox(found, self._upkeep(request)))

    def ask_review(self, request: Request) -> Response:
        """What a status would do, with the form that says it; without a status: which there are."""
        asked = request.query_params
        try:
            status = None if "status" not in asked else _status_of(asked["status"])
            return self._review_page(request, asked.get("run", ""), status, back=asked.get("back"))
        except RefusalError as refusal:
            return self._refused(request, refusal)
        except Rejected as rejected:
            return self._rejected(request, rejected)

    def ask_omega(self, request: Request) -> Response:
        """What another ω would change, with the form that makes it the current one."""
        try:
            omega = _omega_of(request.query_params.get("omega"))
            return self._omega_page(request, omega)
        except RefusalError as refusal:
            return self._refused(request, refusal)
        except Rejected as rejected:
            return self._rejected(request, rejected)

    def upkeep(self, request: Request) -> Response:
        """Whether who asks may change anything here, why not, and how far that is which the last change made due."""
        return JSONResponse(self._upkeep(request))

    def _upkeep(self, request: Request) -> dict[str, Any]:
        settling = self._triage.settling
        if settling is None:
            return _UNCHANGED
        state, may_change = settling.state, change_guard.may_change(request.scope)
        return {
            "may_change": may_change,
            "why_not": None if may_change else _COME_IN,
            "words": review_wording.WORDS,
            "asked": state.asked,
            "done": state.done,
            "told": state.told,
            "problem": state.problem,
        }

    # ---- changing --------------------------------------------------------------------------------
    async def review(self, request: Request) -> Response:
        """Records a review, or that one is withdrawn."""
        body = await request.body()
        return await _in_thread(self._review, request, body)

    async def make_current(self, request: Request) -> Response:
        """Makes an ω the current one."""
        body = await request.body()
        return await _in_thread(self._make_current, request, body)

    def _review(self, request: Request, body: bytes) -> Response:
        run_id, status, form = "", None, None
        try:
            form = parse_form(body)
            run_id, status = form.fields.get("run", ""), _status_of(form.fields.get("status"))
            self._record(run_id, status, form)
        except RefusalError as refusal:
            return self._refused(request, refusal)
        except Rejected as rejected:
            if rejected.reason is not Reason.WAREHOUSE_LOCKED or form is None or _wants_json(request):
                return self._rejected(request, rejected)
            again = partial(self._review_page, run_id=run_id, status=status, back=form.fields.get("back"))
            return self._while_locked(request, again, form, rejected)
        number = self._settle()
        if _wants_json(request):
            return JSONResponse({"run": run_id, "status": status, "asked": number})
        if form.fields.get("back") == "inbox":
            return RedirectResponse(f"/inbox?{urlencode({'said': run_id})}", 303)
        return RedirectResponse(f"/review?{urlencode({'run': run_id})}", 303)

    def _record(self, run_id: str, status: str, form: Form) -> None:
        with self._turn, self._writing.writing() as writer:
            if form.seen is not None and form.seen != _moment(reviews.in_force(writer, run_id)):
                raise RefusalError(
                    "Somebody said something else of this run meanwhile: nothing was recorded. Look again.", 409
                )
            if status == reviews.WITHDRAWN:
                reviews.withdraw(writer, run_id, note=form.note, reviewer=form.name)
            else:
                reviews.add(writer, run_id, status, note=form.note, reviewer=form.name)

    def _make_current(self, request: Request, body: bytes) -> Response:
        omega, form = math.nan, None
        try:
            form = parse_form(body)
            omega = _omega_of(form.fields.get("omega"))
            with self._turn, self._writing.writing() as writer:
                current = settings_table.in_force(writer, self._settings)
                shown = (form.seen or repr(current.omega), form.fields.get("detector", current.detector))
                if shown != (repr(current.omega), current.detector):
                    told = "Another ω or detector was made the current one meanwhile: nothing was changed. Look again."
                    raise RefusalError(told, 409)
                verdicts.make_current(writer, omega=omega, note=form.note, changed_by=form.name)
        except RefusalError as refusal:
            return self._refused(request, refusal)
        except Rejected as rejected:
            if rejected.reason is not Reason.WAREHOUSE_LOCKED or form is None or _wants_json(request):
                return self._rejected(request, rejected)
            return self._while_locked(request, partial(self._omega_page, omega=omega), form, rejected)
        number = self._settle()
        if _wants_json(request):
            return JSONResponse({"omega": omega, "asked": number})
        return RedirectResponse(f"/omega?{urlencode({'omega': repr(omega)})}", 303)

    def _while_locked(self, request: Request, page: Callable[..., Response], form: Form, locked: Rejected) -> Response:
        """The form again, with what was typed; or why there is none, as of a run that is not there."""
        try:
            return page(request, form=form, problem=_busy(locked), code=503)
        except Rejected as rejected:
            return self._rejected(request, rejected)

    def _settle(self) -> int:
        assert self._triage.settling is not None  # there is no route to here without
        return self._triage.settling.ask()

    # ---- answers ---------------------------------------------------------------------------------
    def _review_page(
        self,
        request: Request,
        run_id: str,
        status: str | None,
        *,
        back: str | None = None,
        form: Form | None = None,
        problem: str | None = None,
        code: int = 200,
    ) -> Response:
        with self._reading.reading() as reader:
            run = triage_pages.load_reviewed(reader, run_id)
            with self._looks:
                effect = None if status is None else self._triage.effect_of(reader, run_id, status)
        in_force = next(iter(run.told), None)
        in_force = None if in_force is None or in_force.status == reviews.WITHDRAWN else in_force
        if status == reviews.WITHDRAWN and in_force is None:
            raise Rejected(Reason.REVIEW_MISSING, f"'{run_id}'")
        seen = _moment(in_force)
        name = self._triage.name if form is None else form.name
        if _wants_json(request) and status is not None and effect is not None:
            return JSONResponse(
                {
                    "run": run_id,
                    "status": status,
                    "question": review_wording.QUESTIONS[status],
                    "button": review_wording.BUTTONS[status],
                    "label": review_wording.LABELS[status],
                    "listed": triage_pages.listed_label(run, status),
                    "meaning": review_wording.MEANINGS[status],
                    "effects": review_wording.effects(effect),
                    "now": None if in_force is None else triage_pages.saying(in_force),
                    "seen": seen,
                    "name": name or "",
                }
            )
        page = triage_pages.render_review(
            run,
            in_force,
            status=status,
            effects=[] if effect is None else review_wording.effects(effect),
            seen=seen,
            name=name,
            note=None if form is None else form.note,
            back=back if back in _BACK else _BACK[1],
            upkeep=self._upkeep(request),
            problem=problem,
        )
        return self._page(page, code)

    def _omega_page(
        self, request: Request, omega: float, *, form: Form | None = None, problem: str | None = None, code: int = 200
    ) -> Response:
        with self._reading.reading() as reader:
            current = settings_table.in_force(reader, self._settings)
            flips = verdicts.flips(reader, (current.detector, current.omega), (current.detector, omega))
        if _wants_json(request):
            return JSONResponse({"omega": omega, "current": current.omega, "detector": current.detector, **flips})
        page = triage_pages.render_current_omega(
            omega,
            current=current.omega,
            detector=current.detector,
            flips=flips,
            name=self._triage.name if form is None else form.name,
            note=None if form is None else form.note,
            upkeep=self._upkeep(request),
            problem=problem,
        )
        return self._page(page, code)

    def _page(self, text: str, code: int = 200) -> Response:
        return HTMLResponse(text.encode("utf-8", "replace"), code, headers=_HEADERS)

    def _refused(self, request: Request, refusal: RefusalError) -> Response:
        if _wants_json(request):
            return JSONResponse({"problem": str(refusal)}, refusal.status)
        return self._page(triage_pages.render_problem(str(refusal), self._upkeep(request)), refusal.status)

    def _rejected(self, request: Request, rejected: Rejected) -> Response:
        is_busy = rejected.reason is Reason.WAREHOUSE_LOCKED
        sentence = _busy(rejected) if is_busy else str(rejected)
        answer = self._refused(request, RefusalError(sentence, _STATUS.get(rejected.reason, 409)))
        if is_busy:
            answer.headers["retry-after"] = "5"
        return answer


def _busy(rejected: Rejected) -> str:
    return (
        f"The warehouse is being written to, and was for {PATIENCE_S:g} s: nothing was recorded, try again. "
        f"({rejected.detail})"
    )


async def _in_thread(answer: Callable[[Request, bytes], Response], request: Request, body: bytes) -> Response:
    from starlette.concurrency import run_in_threadpool  # noqa: PLC0415  (with the server, not with the pages)

    return await run_in_threadpool(answer, request, body)
