-- How memory rises is told by another measure (methods/app_load.py), which the limits of earlier references are none of:
-- they judge by events and running time until they are made anew.
UPDATE core.trace_references SET rise_bytes_maximum = NULL;
