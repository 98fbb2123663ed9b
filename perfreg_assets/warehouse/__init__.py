"""The only place that opens DuckDB: transactions, migrations, publishing, the SQL models."""
