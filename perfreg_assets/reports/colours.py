"""The colours of pictures that have no style sheet; the pages' are in `site.css`."""

RUN_COLOUR = "#0072B2"
HISTORY_COLOUR = "#66727F"
ALERT_COLOUR = "#D55E00"
TEXT_COLOUR = "#1B2127"
