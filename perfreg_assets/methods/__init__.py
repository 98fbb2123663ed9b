"""The numerics, pure: arrays in, arrays or small dataclasses out. Knows no pandas, Dagster, DuckDB or Perfetto.

Importing this package configures numba (`jit.configure`) before any kernel module can import it; nothing heavy
is imported until a kernel module is.
"""

from perfreg_assets.methods import jit

jit.configure()
