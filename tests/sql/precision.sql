-- A precision of fractions of a second that is more than there are digits is reduced.
-- PostgreSQL 15 differs: ALTER COLUMN TYPE warns without a place
CREATE TABLE moments (t time(9), b timestamptz(7), c interval(8), d interval second(9), e timestamp(6), f timetz(10));
\d moments
ALTER TABLE moments ADD COLUMN g time(8);
ALTER TABLE moments ALTER COLUMN e TYPE timestamp(9);
INSERT INTO moments (t, e) VALUES ('12:00:00.1234567', '2000-01-01 12:00:00.1234567');
SELECT t, e FROM moments;
DROP TABLE moments;
