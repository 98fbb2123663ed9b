"""Which slices an app ran on which screens: what a commit that touches one of them touches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class SliceUses:
    """Of one run: a row per screen, thread and slice of the app; `*` as all three for what is not told apart.

    Attributes:
        screen: name of the screen, or the hash of the state where it has none; "" where the path does not tell.
        process, thread, slice: names with `#` for every number.
        call_count: slices that began on the screen.
        called_ns, max_ns: sum and maximum of their durations, wherever they ended.
        self_ns: time on the screen without that of direct children.
        total_ns: time on the screen with everything below; a slice within one of the same name counts once.
        screen_ns: what all slices of the app took on the screen, so that shares can be told.
    """

    screen: tuple[str, ...]
    process: tuple[str, ...]
    thread: tuple[str, ...]
    slice: tuple[str, ...]
    call_count: _Numbers
    called_ns: _Numbers
    max_ns: _Numbers
    self_ns: _Numbers
    total_ns: _Numbers
    screen_ns: _Numbers
