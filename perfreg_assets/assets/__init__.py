"""One file per asset: read, call, write, metadata. Numerics, SQL and file handling live downstairs."""
