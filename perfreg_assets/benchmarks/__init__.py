"""Benchmarks: results of programs that measure themselves, imported or run, compared, and taken in as measurements."""
