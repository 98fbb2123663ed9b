-- A standard-normal score among so many of them (Šidák: p' = 1 - (1 - p)^count), as methods/multiple_testing.py has it; count 1/m takes it back.
-- depends: score_of_tail, tail_of_score
CREATE MACRO marts.sidak_score(score, count) AS
list_transform([{'score': score::DOUBLE, 'tail': marts.tail_of_score(abs(score::DOUBLE))}], lambda known: CASE
    WHEN count = 1 THEN known.score
    -- Each side from its own small tail: near 1 a probability has no digits left.
    ELSE CASE WHEN known.score < 0 THEN -1 ELSE 1 END * marts.score_of_tail(CASE
        WHEN known.score < 0 THEN power(known.tail, count)
        WHEN known.score > 5.5 THEN count * known.tail
        ELSE 1 - power(1 - known.tail, count)
    END)
END)[1];

COMMENT ON MACRO marts.sidak_score IS 'A standard-normal score among so many independent ones, as a standard-normal score (Šidák); count 1 / m takes the correction for m back.';
