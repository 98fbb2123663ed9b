"""One file per asset: read, call, write, metadata. Numerics, SQL and file handling live downstairs."""

import warnings

import dagster as dg

# Dagster marks `backfill_policy=` and mapping of specs as beta or preview and says so at every import. pyproject.toml
# bounds the version, and a test assembles the definitions: a change would be seen there, not in users' terminals.
warnings.filterwarnings("ignore", category=dg.BetaWarning)
warnings.filterwarnings("ignore", category=dg.PreviewWarning)
# Traces are backfilled in blocks, everything else in one run; Dagster takes the smaller block for the job, as meant.
warnings.filterwarnings("ignore", message="Asset job .* materializes assets with varying BackfillPolicies")
