"""Statements that no connection to a warehouse runs: they reach other files, the network or the configuration."""

FORBIDDEN = (
    "SELECT * FROM read_csv('/etc/passwd')",
    "COPY core.settings TO '/tmp/stolen.csv'",
    "ATTACH '/tmp/other.duckdb'",
    "INSTALL httpfs",
    "SET enable_external_access = true",
)
