"""The numerics, pure: arrays in, arrays or small dataclasses out. Knows no pandas, Dagster, DuckDB or Perfetto."""
