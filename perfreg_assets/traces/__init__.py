"""The Perfetto side: engine, gate, and the way from a trace to time series. Knows no warehouse and no Dagster."""
