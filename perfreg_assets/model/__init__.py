"""From rows to comparisons, measurements and freshness: joins methods and warehouse, knows no Dagster."""
