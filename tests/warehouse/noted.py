"""The least that can be written to a warehouse and read again: what it takes to see who sees which state."""

from __future__ import annotations

from perfreg_assets.warehouse.connection import Warehouse


def note(warehouse: Warehouse, text: str) -> None:
    with warehouse.writing() as writer:
        writer.execute("INSERT INTO core.settings (changed_at, name, value) VALUES (now(), 'note', ?)", [text])


def notes(warehouse: Warehouse) -> list[str]:
    """In the order they were written."""
    with warehouse.reading() as reader:
        return [
            value for (value,) in reader.rows("SELECT value FROM core.settings WHERE name = 'note' ORDER BY changed_at")
        ]
