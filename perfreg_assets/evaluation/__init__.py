"""Protocols and data sets that measure quality."""
