-- A run that was quarantined when its trace was read again kept its verdicts: it went on being counted and told as an alarm.
UPDATE core.distances SET is_latest = false
WHERE is_latest AND run_no IN (SELECT run_no FROM core.runs WHERE is_quarantined);
