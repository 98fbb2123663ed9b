"""The app's own metrics: `metrics` in run.json, a list of `{"name", "value", "unit", "worse", "judged"}`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from perfreg_assets.catalogue import Worse, is_known
from perfreg_assets.methods.inputs import LARGEST
from perfreg_assets.reasons import Reason, Rejected
from perfreg_assets.traces.measurement import Measurement

KEY = "metrics"
ENTRIES_MAX = 100  # each judged metric costs the others power


class _Entry(BaseModel):
    """Only `name` and `value` are required; other keys are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore")

    name: Annotated[str, Field(pattern=r"^[a-z0-9_.]{1,64}$")]
    value: Annotated[float, Field(allow_inf_nan=False)]
    unit: Annotated[str, Field(max_length=40)] = ""
    worse: Worse = "more"
    judged: bool = True


def own_metrics(extra: Mapping[str, Any] | None) -> list[Measurement]:
    """What a run reports of itself, each name once.

    An entry that cannot be used has no value but one sentence why, under its own name, or under its place in the list
    where that is the trouble (`metrics[3]`).

    Args:
        extra: the keys of run.json that the contract does not know.
    """
    entries = (extra or {}).get(KEY)
    if entries is None:
        return []
    if not isinstance(entries, list):
        return [_unusable(KEY, f"{KEY} is not a list")]
    found: dict[str, Measurement] = {}
    for index, entry in enumerate(entries[:ENTRIES_MAX]):
        one = _measurement(f"{KEY}[{index}]", entry)
        if one.metric in found:
            one = _unusable(one.metric, f"{KEY}[{index}].name ({one.metric} is there twice)")
        found[one.metric] = one
    if len(entries) > ENTRIES_MAX:
        found[f"{KEY}[]"] = _unusable(f"{KEY}[]", f"{len(entries)} entries, the first {ENTRIES_MAX} are taken")
    return list(found.values())


def _measurement(place: str, entry: object) -> Measurement:
    if not isinstance(entry, dict):
        return _unusable(place, f"{place} is not an object")
    try:
        given = _Entry.model_validate(entry)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join([place, *map(str, first["loc"])])
        return _unusable(_usable_name(entry) or place, f"{where} ({first['msg']})")
    if not abs(given.value) < LARGEST:
        return _unusable(_usable_name(entry) or place, f"{place}.value ({given.value:g} is beyond {LARGEST:g})")
    if is_known(given.name):
        return _unusable(place, f"{place}.name ({given.name} is a series or metric of the catalogue)")
    return Measurement(
        metric=given.name,
        unit=given.unit,
        worse=given.worse,
        value=given.value,
        provenance={"source": "run.json", "judged": given.judged},
    )


def _usable_name(entry: Mapping[str, Any]) -> str | None:
    try:
        name = _Entry.model_validate({"name": entry.get("name"), "value": 0.0}).name
    except ValidationError:
        return None
    return None if is_known(name) else name


def _unusable(metric: str, detail: str) -> Measurement:
    provenance = {"source": "run.json", "reason_code": Reason.METRIC_INVALID.code}
    reason = str(Rejected(Reason.METRIC_INVALID, detail))
    return Measurement(metric=metric, unit="", worse="more", value=None, reason=reason, provenance=provenance)
