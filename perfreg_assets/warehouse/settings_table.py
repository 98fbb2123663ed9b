"""Current settings: all that results depend on and somebody set. A log of changes, the last one is in force."""

from __future__ import annotations

from perfreg_assets.settings import ENVIRONMENT_PREFIX, SettingError, Settings
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import now_utc

ALWAYS_KEPT = {"detector", "omega", "localisation"}


def current(reader: Reader) -> dict[str, str]:
    """name -> value in force, as text; `detector`, `omega` and `localisation` are always there."""
    return dict(reader.rows("SELECT name, arg_max(value, changed_at) FROM core.settings GROUP BY name ORDER BY name"))


def in_force(reader: Reader, settings: Settings) -> Settings:
    """The settings with what the warehouse has in force put in.

    Detector, ω and localisation are always the warehouse's. Of the others, a variable or argument of the process that
    differs from the release's default goes before the warehouse: for trying something out.
    """
    given = current(reader)
    variables = {ENVIRONMENT_PREFIX + name.upper(): value for name, value in given.items()}
    parsed = Settings.from_environment(variables)
    tried = settings.given - ALWAYS_KEPT
    return settings.with_values(**{name: getattr(parsed, name) for name in given if name not in tried})


def change(writer: Writer, name: str, value: str, note: str | None = None) -> bool:
    """Puts a value in force and logs the change; False when it was in force already.

    Raises:
        SettingError: the name is no setting, or the value is outside its type or range.
    """
    if name not in Settings.kept_names() or not value.strip():
        raise SettingError(f"{name} = {value!r}: not a setting that the warehouse keeps, with a value")
    parsed = Settings.parsed(name, value)
    in_force(writer, Settings()).with_values(**{name: parsed})  # fits what the others are
    text = ",".join(parsed) if isinstance(parsed, tuple) else str(parsed)
    if current(writer).get(name) == text:
        return False
    writer.execute(
        "INSERT INTO core.settings (changed_at, name, value, note) VALUES (?, ?, ?, ?)", [now_utc(), name, text, note]
    )
    return True
