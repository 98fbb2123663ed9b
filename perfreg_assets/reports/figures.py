"""Figures for files, not for windows: matplotlib, imported by those who draw."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def blank(width: float, height: float, *, dpi: int = 100) -> Figure:
    """An empty figure that is saved by the renderer of PNG files.

    Args:
        width, height: inches.
    """
    # Half a second of import, only for those who draw: most processes that load the assets do not.
    from matplotlib.backends.backend_agg import FigureCanvasAgg  # noqa: PLC0415
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(width, height), dpi=dpi, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def as_png(figure: Figure) -> bytes:
    """The figure as a PNG file that names no program: the same figure gives the same bytes."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", metadata={"Software": None})
    return buffer.getvalue()
