"""Power profiles: what was added for devices, and what runs brought along; each content once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from perfreg_assets.methods.power_profile import PowerProfile
from perfreg_assets.warehouse import last_word
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import Table, insert, load, now_utc, to_arrow

ADDED, RUN_FOLDER, BUNDLED = "added", "run_folder", "bundled"
"""Where a stored profile came from."""
REMOVED = "removed"
"""What is said in place of ADDED of one that somebody took back."""


@dataclass(frozen=True, kw_only=True)
class ProfileRow:
    """A row of core.power_profiles.

    Attributes:
        device_name: code name of the device that it is of; of one that a run brought along, of the run's.
        base_ma: of the whole device, its floor.
        content: the file, as text.
        removed_at: when somebody took it back who had added it; None where nobody did.
    """

    profile_id: str
    device_name: str | None
    profile_name: str
    profile_origin: str
    dialect: str
    energy_source: str
    cluster_count: int
    first_cores: tuple[int, ...] | None
    core_count: int | None
    active_ma: float
    base_ma: float
    capacity_mah: float | None
    content: str
    added_at: datetime = field(default_factory=now_utc)
    removed_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class LevelRow:
    """A row of core.power_levels."""

    profile_id: str
    cluster: int
    frequency_khz: float
    charge_ma: float
    cluster_charge_ma: float


@dataclass(frozen=True)
class StoredProfile:
    """A profile as it is stored; without levels where it has steps only, whose frequencies a trace tells."""

    row: ProfileRow
    levels: tuple[LevelRow, ...]


_IN_FORCE = "(profile_origin = 'added' AND removed_at IS NULL)"
_PROFILES = Table("core.power_profiles", ProfileRow, ("profile_id",), ("profile_id",))
_LEVELS = Table("core.power_levels", LevelRow, ("profile_id",), ("profile_id", "cluster", "frequency_khz"))


def described(profile: PowerProfile, *, name: str, device: str | None, origin: str, content: bytes) -> StoredProfile:
    """A profile as it is stored."""
    row = ProfileRow(
        profile_id=profile.profile_id,
        device_name=device,
        profile_name=name,
        profile_origin=origin,
        dialect=profile.dialect,
        energy_source=profile.source,
        cluster_count=len(profile.clusters),
        first_cores=profile.first_cores,
        core_count=profile.core_count,
        active_ma=profile.active_ma,
        base_ma=sum(profile.base_ma.values()),
        capacity_mah=profile.capacity_mah,
        content=content.decode("utf-8", "replace"),
    )
    levels = tuple(
        LevelRow(
            profile_id=profile.profile_id,
            cluster=number,
            frequency_khz=float(khz),
            charge_ma=float(charge),
            cluster_charge_ma=one.cluster_ma,
        )
        for number, one in enumerate(profile.clusters)
        if one.khz is not None
        for khz, charge in zip(one.khz, one.charge_ma, strict=True)
    )
    return StoredProfile(row, levels)


def keep(writer: Writer, profiles: Iterable[StoredProfile]) -> None:
    """Stores those whose content is not there yet; levels that a trace told of steps are added."""
    by_id = {one.row.profile_id: one for one in profiles}
    if not by_id:
        return
    has_levels = {
        profile_id: bool(count)
        for profile_id, count in writer.rows(
            "SELECT stored.profile_id, count(levels.profile_id) FROM core.power_profiles AS stored "
            "LEFT JOIN core.power_levels AS levels USING (profile_id) "
            "WHERE stored.profile_id IN (SELECT unnest(?::VARCHAR[])) GROUP BY stored.profile_id",
            [list(by_id)],
        )
    }
    new = [one.row for profile_id, one in by_id.items() if profile_id not in has_levels]
    levels = [row for profile_id, one in by_id.items() if not has_levels.get(profile_id) for row in one.levels]
    if new:
        insert(writer, _PROFILES, to_arrow(new, ProfileRow))
    if levels:
        insert(writer, _LEVELS, to_arrow(levels, LevelRow))


def add(writer: Writer, profile: StoredProfile) -> None:
    """Makes it the profile of its device, from now on, whatever the clock says: it may have been set back since the one
    before was added. A content is of one device: of another that it was added for it is no more."""
    writer.execute("DELETE FROM core.power_profiles WHERE profile_id = ?", [profile.row.profile_id])
    insert(writer, _PROFILES, to_arrow([profile.row], ProfileRow))
    writer.execute(
        "UPDATE core.power_profiles SET added_at = "
        f"{last_word.moment(_PROFILES.name, 'added_at', 'profile_id <> $profile')} WHERE profile_id = $profile",
        {"now": profile.row.added_at, "profile": profile.row.profile_id},
    )
    writer.execute("DELETE FROM core.power_levels WHERE profile_id = ?", [profile.row.profile_id])
    if profile.levels:
        insert(writer, _LEVELS, to_arrow(profile.levels, LevelRow))


def remove(writer: Writer, profile: ProfileRow) -> None:
    """Takes back that it is the profile of its device: what was added for that before is again, else what the
    installation brings."""
    writer.execute("UPDATE core.power_profiles SET removed_at = now() WHERE profile_id = ?", [profile.profile_id])


def of_devices(reader: Reader) -> list[ProfileRow]:
    """What was added and not removed again, the latest of each device."""
    return load(
        reader,
        _PROFILES,
        f"{_IN_FORCE} QUALIFY row_number() OVER (PARTITION BY device_name ORDER BY added_at DESC) = 1 "
        "ORDER BY device_name",
    )


def find_added(reader: Reader, name: str) -> ProfileRow | None:
    """As `find`, of those alone that were added and not removed again."""
    found = find(reader, name)
    return found if found is not None and found.profile_origin == ADDED else None


def find(reader: Reader, name: str) -> ProfileRow | None:
    """The one whose id begins with the name, or of the device or file of that name; the latest where several are. Not
    one that was taken back."""
    found = load(
        reader,
        _PROFILES,
        "($1 IN (device_name, profile_name) OR (length($1) >= 8 AND starts_with(profile_id, $1))) "
        "AND removed_at IS NULL "
        f"ORDER BY {_IN_FORCE} DESC, added_at DESC LIMIT 1",
        [name],
    )
    return found[0] if found else None


def listing(reader: Reader) -> Sequence[tuple[ProfileRow, int]]:
    """All that are stored, and how many runs were estimated by each."""
    counts = dict(reader.rows("SELECT profile_id, run_count FROM marts.power_profiles"))
    rows = load(reader, _PROFILES, "true ORDER BY device_name NULLS LAST, added_at")
    return [(row, counts.get(row.profile_id, 0)) for row in rows]
