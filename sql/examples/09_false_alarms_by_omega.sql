-- How many false alarms does each ω cost? (Unreviewed alarms count as false: an upper bound.)
SELECT detector, omega, judged_count, flagged_count, round(false_alarm_ratio, 3) AS false_alarm_ratio, is_current_setting
FROM marts.false_alarm_rates
WHERE series = '*'
ORDER BY detector, omega;
