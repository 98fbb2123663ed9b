"""Current settings: which detector and ω make a verdict the current one. A log of changes, the last one is in force."""

from __future__ import annotations

from perfreg_assets.settings import ENVIRONMENT_PREFIX, SettingError, Settings
from perfreg_assets.warehouse.connection import Reader, Writer
from perfreg_assets.warehouse.rows import now_utc


def current(reader: Reader) -> dict[str, str]:
    """name -> value in force, as text; `detector`, `omega` and `localisation` are always there."""
    return dict(reader.rows("SELECT name, arg_max(value, changed_at) FROM core.settings GROUP BY name ORDER BY name"))


def in_force(reader: Reader, settings: Settings) -> Settings:
    """The settings with what the warehouse has in force put in: detector, ω and localisation."""
    given = current(reader)
    variables = {ENVIRONMENT_PREFIX + name.upper(): value for name, value in given.items()}
    parsed = Settings.from_environment(variables)
    return settings.with_values(**{name: getattr(parsed, name) for name in given})


def change(writer: Writer, name: str, value: str, note: str | None = None) -> bool:
    """Puts a value in force and logs the change; False when it was in force already.

    Raises:
        SettingError: the name is no setting, or the value is outside its type or range.
    """
    if not hasattr(Settings(), name) or not value.strip():
        raise SettingError(f"{name} = {value!r}: not a setting with a value; `perfreg settings` lists them")
    parsed = getattr(Settings.from_environment({ENVIRONMENT_PREFIX + name.upper(): value}), name)
    text = ",".join(parsed) if isinstance(parsed, tuple) else str(parsed)
    if current(writer).get(name) == text:
        return False
    writer.execute(
        "INSERT INTO core.settings (changed_at, name, value, note) VALUES (?, ?, ?, ?)", [now_utc(), name, text, note]
    )
    return True
