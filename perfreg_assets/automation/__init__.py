"""What makes assets run: sensors, jobs, backfill policies, automation conditions."""
