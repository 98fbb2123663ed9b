"""What methods took at most, from a log of their entries and exits and a power profile."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from perfreg_assets.methods.method_calls import calls, own_amounts
from perfreg_assets.methods.power_profile import FIT_MINIMUM, MAS_PER_MAH, PowerProfile, fit_ratio, layout
from perfreg_assets.methods.state_ticks import charge_mas, seconds_between
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.method_log import LoggedThread, Moment, read_method_log
from perfreg_assets.warehouse.method_logs import MethodLogChargeRow, MethodLogRow, RefusedThread

_ID_DIGITS = 16


def estimated(
    path: Path, profile: PowerProfile, *, app: str, version_name: str, device: str | None, nominal_voltage_v: float
) -> tuple[MethodLogRow, list[MethodLogChargeRow]]:
    """A log as it is stored. Threads whose entries and exits do not pair, or whose times contradict the clock, are
    left out and told.

    Raises:
        Rejected: METHOD_LOG_UNREADABLE; PROFILE_MISFIT; METHOD_LOG_UNPAIRED or STATE_TIMES_DISAGREE, of the first
            thread where none can be used.
    """
    threads, content = read_method_log(path)
    if not threads:
        raise Rejected(Reason.METHOD_LOG_UNREADABLE, f"{path.name} has no line")
    if not profile.has_frequencies:
        raise Rejected(Reason.PROFILE_MISFIT, "the profile has steps without frequencies")
    key = f"{app}|{version_name}|{profile.profile_id}|".encode()
    log_id = hashlib.sha256(key + content).hexdigest()[:_ID_DIGITS]
    found: list[MethodLogChargeRow] = []
    refused: list[RefusedThread] = []
    first: Rejected | None = None
    for one in threads:
        try:
            found += _of_thread(log_id, one, profile)
        except Rejected as rejected:
            if rejected.reason is Reason.PROFILE_MISFIT:
                raise
            refused.append(RefusedThread(one.test, str(one.thread), rejected.reason.code, str(rejected)))
            first = first or rejected
    if first is not None and len(refused) == len(threads):
        raise Rejected(first.reason, f"{path.name}: none of {len(threads)} threads can be used; {first.detail}")
    row = MethodLogRow(
        method_log_id=log_id,
        app=app,
        version_name=version_name,
        log_name=path.name,
        device_name=device,
        profile_id=profile.profile_id,
        nominal_voltage_v=nominal_voltage_v,
        test_count=len({one.test for one in threads}),
        thread_count=len(threads),
        refused_count=len(refused),
        refused=tuple(refused),
    )
    return row, sorted(found, key=lambda one: (-one.method_self_mah, one.test, one.thread, one.method))


def _of_thread(log_id: str, one: LoggedThread, profile: PowerProfile) -> list[MethodLogChargeRow]:
    where = f"test {one.test}, thread {one.thread}"
    try:
        made = calls(one.passages)
    except ValueError as error:
        raise Rejected(Reason.METHOD_LOG_UNPAIRED, f"{where}: {error}") from error
    first_cores = _first_cores(one, profile)
    try:
        totals = [_charge_mas(call.entry, call.exit, profile, first_cores) for call in made]
    except ValueError as error:
        raise Rejected(Reason.STATE_TIMES_DISAGREE, f"{where}: {error}") from error
    sums: dict[str, list[float]] = {}
    for call, total, own in zip(made, totals, own_amounts([call.parent for call in made], totals), strict=True):
        row = sums.setdefault(call.method, [0, 0.0, 0.0])
        row[0] += 1
        row[1] += own / MAS_PER_MAH
        row[2] += total / MAS_PER_MAH if call.is_outermost else 0.0
    return [
        MethodLogChargeRow(
            method_log_id=log_id,
            test=one.test,
            process=str(one.process),
            thread=str(one.thread),
            method=method,
            call_count=int(count),
            method_self_mah=own,
            method_mah=total,
        )
        for method, (count, own, total) in sums.items()
    ]


def _first_cores(one: LoggedThread, profile: PowerProfile) -> Sequence[int]:
    """First core of each cluster: neighbours with the same frequencies, or as the profile says.

    Raises:
        Rejected: PROFILE_MISFIT.
    """
    ticks = one.passages[0].at.ticks
    seen: list[int] = []
    for core in one.cores:
        if not seen or ticks.get(core, {}).keys() != ticks.get(seen[-1], {}).keys():
            seen.append(core)
    first_cores = layout(profile, one.cores, seen)
    if first_cores is None:
        raise Rejected(Reason.PROFILE_MISFIT, f"the log has clusters of cores from {seen} on")
    told = [(_cluster(core, first_cores), khz) for core, levels in ticks.items() for khz in levels]
    fit = fit_ratio(profile, [number for number, _ in told], [khz for _, khz in told], [1] * len(told)) if told else 0.0
    if fit < FIT_MINIMUM:
        raise Rejected(Reason.PROFILE_MISFIT, f"the profile has {fit:.0%} of the frequencies that the log tells of")
    return first_cores


def _cluster(core: int, first_cores: Sequence[int]) -> int:
    return sum(core >= first for first in first_cores) - 1


def _charge_mas(entry: Moment, left: Moment, profile: PowerProfile, first_cores: Sequence[int]) -> float:
    """
    Raises:
        ValueError: cores are told of at one of the two only; see `seconds_between`.
    """
    if entry.ticks.keys() != left.ticks.keys():
        raise ValueError("entry and exit tell of different cores")
    elapsed_s = (left.wall_ms - entry.wall_ms) / 1e3
    total = 0.0
    for core, before in entry.ticks.items():
        try:
            seconds = seconds_between(before, left.ticks[core], elapsed_s)
        except ValueError as error:
            raise ValueError(f"core {core}: {error}") from error
        total += charge_mas(profile, _cluster(core, first_cores), seconds)
    return total
