-- Which direction is better, in Perfetto's words, from which is worse.
CREATE MACRO marts.polarity(worse) AS
CASE worse WHEN 'more' THEN 'LOWER_IS_BETTER' WHEN 'less' THEN 'HIGHER_IS_BETTER' WHEN 'either' THEN 'NOT_APPLICABLE' END;

COMMENT ON MACRO marts.polarity IS 'Which direction is better, in Perfetto''s words (LOWER_IS_BETTER, HIGHER_IS_BETTER, NOT_APPLICABLE), from which is worse (more, less, either).';
