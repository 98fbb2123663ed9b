-- A row is the measured false-alarm rate of a detector at one ω for a series (or whole runs, *): over the judged runs that nobody confirmed or accepted, so unreviewed alarms count as false and the rate is an upper bound.
-- depends: false_alarm_rates_at
CREATE VIEW marts.false_alarm_rates AS
SELECT rates.*
FROM marts.false_alarm_rates_at(NULL, 'all') AS rates;

COMMENT ON VIEW marts.false_alarm_rates IS 'A row is the measured false-alarm rate of a detector at one ω for a series (or whole runs, *): over the judged runs that nobody confirmed or accepted, so unreviewed alarms count as false and the rate is an upper bound. At the thesis'' four ω and two larger ones, those evaluated so far and the one in force.';
