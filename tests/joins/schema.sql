-- Recordings of music, who played on them and who sold them: the tables of the join queries beside
-- this file. They are in the manner of the join order benchmark (Leis et al., How good are query
-- optimizers, really?, 2015): what estimators assume does not hold here.
--   * Popular recordings have low numbers, and more of everything: credits, tags, releases, facts.
--   * Artists, tags and years go with the genre, labels and languages with the country.
--   * Few genres, countries, roles and artists have most of the rows.
-- All of it follows from hashes of row numbers, so that it is the same wherever it is made.
-- :size is the number of recordings: 250000 for measuring, a multiple of 1200 at least.
CREATE TABLE genre (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE country (id integer PRIMARY KEY, name text NOT NULL, region text NOT NULL, language text NOT NULL);
CREATE TABLE role (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE label_kind (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE info_kind (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE link_kind (id integer PRIMARY KEY, name text NOT NULL);
CREATE TABLE artist (id integer PRIMARY KEY, name text NOT NULL, gender text, country_id integer NOT NULL, genre_id integer NOT NULL, born integer);
CREATE TABLE label (id integer PRIMARY KEY, name text NOT NULL, country_id integer NOT NULL, founded integer);
CREATE TABLE tag (id integer PRIMARY KEY, tag text NOT NULL, genre_id integer NOT NULL);
CREATE TABLE recording (id integer PRIMARY KEY, title text NOT NULL, genre_id integer NOT NULL, country_id integer NOT NULL, year integer NOT NULL, seconds integer);
CREATE TABLE credit (id integer PRIMARY KEY, recording_id integer NOT NULL, artist_id integer NOT NULL, role_id integer NOT NULL, position integer, note text);
CREATE TABLE release (id integer PRIMARY KEY, recording_id integer NOT NULL, label_id integer NOT NULL, label_kind_id integer NOT NULL, year integer, note text);
CREATE TABLE recording_tag (id integer PRIMARY KEY, recording_id integer NOT NULL, tag_id integer NOT NULL);
CREATE TABLE recording_info (id integer PRIMARY KEY, recording_id integer NOT NULL, info_kind_id integer NOT NULL, info text NOT NULL);
CREATE TABLE rating (recording_id integer PRIMARY KEY, votes integer NOT NULL, score numeric(3,1) NOT NULL);
CREATE TABLE artist_info (id integer PRIMARY KEY, artist_id integer NOT NULL, info_kind_id integer NOT NULL, info text NOT NULL);
CREATE TABLE artist_alias (id integer PRIMARY KEY, artist_id integer NOT NULL, alias text NOT NULL);
CREATE TABLE recording_link (id integer PRIMARY KEY, recording_id integer NOT NULL, linked_id integer NOT NULL, link_kind_id integer NOT NULL);

INSERT INTO genre SELECT i, (ARRAY['pop', 'rock', 'country', 'jazz', 'soul', 'folk', 'blues', 'classical', 'reggae', 'funk', 'disco', 'metal', 'punk', 'hip hop', 'house', 'techno', 'ambient', 'grunge', 'trance', 'garage', 'dubstep', 'trap', 'drill', 'phonk'])[i]
FROM generate_series(1, 24) AS i;
INSERT INTO country SELECT i, (ARRAY['us', 'gb', 'de', 'fr', 'jp', 'br', 'in', 'it', 'se', 'ng'])[1 + (i - 1) % 10] || CASE WHEN i <= 10 THEN '' ELSE (i / 10)::text END,
       (ARRAY['america', 'europe', 'europe', 'europe', 'asia', 'america', 'asia', 'europe', 'europe', 'africa'])[1 + (i - 1) % 10],
       (ARRAY['english', 'english', 'german', 'french', 'japanese', 'portuguese', 'hindi', 'italian', 'swedish', 'english'])[1 + (i - 1) % 10]
FROM generate_series(1, 60) AS i;
INSERT INTO role SELECT i, (ARRAY['performer', 'singer', 'composer', 'lyricist', 'producer', 'engineer', 'drummer', 'guitarist', 'bassist', 'arranger', 'conductor', 'cover designer'])[i]
FROM generate_series(1, 12) AS i;
INSERT INTO label_kind SELECT i, (ARRAY['major', 'independent', 'distributor', 'pressing plant'])[i] FROM generate_series(1, 4) AS i;
INSERT INTO info_kind SELECT i, (ARRAY['language', 'style', 'studio', 'tempo', 'key', 'mood', 'chart rank', 'sales', 'award', 'recorded in', 'biography', 'birth place', 'instrument', 'height', 'death year', 'quote'])[i]
FROM generate_series(1, 16) AS i;
INSERT INTO link_kind SELECT i, (ARRAY['cover of', 'remix of', 'sample of', 'live version of', 'answer to', 'translation of', 'medley of', 'remaster of'])[i]
FROM generate_series(1, 8) AS i;

INSERT INTO artist
SELECT i, chr((97 + r1 % 26)::integer) || substr(md5(i::text), 1, 4 + (r2 % 9)::integer) || ' ' || chr((65 + r2 % 26)::integer) || substr(md5((i + 7)::text), 1, 6),
       CASE WHEN r3 % 10 < 5 THEN 'm' WHEN r3 % 10 < 8 THEN 'f' END,
       CASE WHEN r2 % 10 < 7 THEN 1 + (i - 1) % 24 * 5 % 60 ELSE 1 + (60 * r1 * r1 >> 40) END, 1 + (i - 1) % 24,
       CASE WHEN r3 % 7 > 0 THEN 2004 - ((84 - (i - 1) % 24 * 3) * r1 >> 20) END
FROM (SELECT i, hashint8extended(i, 1) & 1048575 AS r1, hashint8extended(i, 2) & 1048575 AS r2, hashint8extended(i, 3) & 1048575 AS r3
      FROM generate_series(1, :size / 48 * 24) AS i) AS rows;
INSERT INTO label
SELECT i, chr((65 + r1 % 26)::integer) || substr(md5(i::text), 1, 7) || (ARRAY[' Records', ' Music', ' Sound', ' Entertainment'])[1 + r2 % 4], 1 + (i - 1) % 60,
       CASE WHEN r2 % 5 > 0 THEN 1900 + (120 * r1 >> 20) END
FROM (SELECT i, hashint8extended(i, 4) & 1048575 AS r1, hashint8extended(i, 5) & 1048575 AS r2 FROM generate_series(1, :size / 1200 * 60) AS i) AS rows;
INSERT INTO tag
SELECT i, (ARRAY['slow', 'fast', 'live', 'love', 'night', 'summer', 'party', 'sad', 'road', 'home'])[1 + (i - 1) / 24 % 10] || CASE WHEN i <= 240 THEN '' ELSE '-' || ((i - 1) / 240)::text END,
       1 + (i - 1) % 24
FROM generate_series(1, :size / 600 * 24) AS i;

-- A recording's genre g and country c are computed from its number wherever they are needed.
INSERT INTO recording
SELECT i, (ARRAY['Love', 'Night', 'Blue', 'Road', 'Fire', 'Dance', 'Home', 'Rain'])[1 + (r1 + g) % 8] || ' ' || substr(md5(i::text), 1, 3 + (r3 % 12)::integer) || CASE WHEN r2 % 9 = 0 THEN ' (live)' ELSE '' END,
       1 + g, 1 + CASE WHEN r2 % 10 < 7 THEN g * 5 % 60 ELSE 60 * r3 * r3 >> 40 END, 2024 - ((74 - g * 3) * r3 * r3 >> 40), CASE WHEN r1 % 20 > 0 THEN 90 + g * 12 + r1 % 300 END
FROM (SELECT i, 24 * r1 * r1 >> 40 AS g, r1, r2, r3
      FROM (SELECT i, hashint8extended(i, 11) & 1048575 AS r1, hashint8extended(i, 12) & 1048575 AS r2, hashint8extended(i, 13) & 1048575 AS r3
            FROM generate_series(1, :size) AS i) AS hashes) AS rows;

INSERT INTO credit
SELECT i, recording.id, 1 + CASE WHEN r2 % 8 > 0 THEN recording.genre_id - 1 ELSE r1 % 24 END + 24 * (:size / 48 * ((r3 * r3 >> 20) * r3 >> 20) >> 20),
       1 + (12 * r1 * r1 >> 40), CASE WHEN r2 % 3 > 0 THEN 1 + r2 % 40 END,
       CASE WHEN 12 * r1 * r1 >> 40 = 1 THEN CASE WHEN r2 % 4 = 0 THEN '(backing)' WHEN r2 % 4 = 1 THEN '(lead)' END WHEN r3 % 6 = 0 THEN '(uncredited)' END
FROM (SELECT i, 1 + (:size::bigint * r0 * r0 >> 40) AS of, hashint8extended(i, 22) & 1048575 AS r1, hashint8extended(i, 23) & 1048575 AS r2, hashint8extended(i, 24) & 1048575 AS r3
      FROM (SELECT i, hashint8extended(i, 21) & 1048575 AS r0 FROM generate_series(1, :size * 6) AS i) AS hashes) AS rows
JOIN recording ON recording.id = of;
INSERT INTO release
SELECT i, recording.id, 1 + CASE WHEN r2 % 6 > 0 THEN recording.country_id - 1 ELSE r1 % 60 END + 60 * (:size / 1200 * r3 * r3 >> 40),
       1 + (4 * r1 * r1 >> 40), least(2024, recording.year + (30 * ((r2 * r2 >> 20) * r2 >> 20) >> 20)),
       CASE WHEN r1 % 5 < 2 THEN (ARRAY['(vinyl)', '(cd)', '(digital)', '(tape)', '(promo)'])[1 + (recording.year / 20 + r2) % 5] END
FROM (SELECT i, 1 + (:size::bigint * r0 * r0 >> 40) AS of, hashint8extended(i, 32) & 1048575 AS r1, hashint8extended(i, 33) & 1048575 AS r2, hashint8extended(i, 34) & 1048575 AS r3
      FROM (SELECT i, hashint8extended(i, 31) & 1048575 AS r0 FROM generate_series(1, :size * 8 / 5) AS i) AS hashes) AS rows
JOIN recording ON recording.id = of;
INSERT INTO recording_tag
SELECT i, recording.id, 1 + CASE WHEN r2 % 9 > 0 THEN recording.genre_id - 1 ELSE r2 % 24 END + 24 * (:size / 600 * r3 * r3 >> 40)
FROM (SELECT i, 1 + (:size::bigint * r0 * r0 >> 40) AS of, hashint8extended(i, 42) & 1048575 AS r2, hashint8extended(i, 43) & 1048575 AS r3
      FROM (SELECT i, hashint8extended(i, 41) & 1048575 AS r0 FROM generate_series(1, :size * 3) AS i) AS hashes) AS rows
JOIN recording ON recording.id = of;
INSERT INTO recording_info
SELECT i, recording.id, kind,
       CASE kind WHEN 1 THEN CASE WHEN r2 % 12 > 0 THEN country.language ELSE 'english' END
                 WHEN 2 THEN CASE WHEN r2 % 10 > 0 THEN genre.name ELSE 'other' END
                 WHEN 3 THEN 'studio ' || (recording.country_id * 10 + r3 % 10)
                 WHEN 4 THEN (60 + recording.genre_id * 4 + r3 % 20)::text
                 WHEN 5 THEN (ARRAY['C', 'G', 'D', 'A', 'E', 'F', 'Bb', 'Am', 'Em', 'Dm'])[1 + (10 * r3 * r3 >> 40)]
                 WHEN 6 THEN (ARRAY['happy', 'sad', 'angry', 'calm', 'dreamy'])[1 + (recording.genre_id + (3 * r3 * r3 >> 40)) % 5]
                 WHEN 7 THEN (1 + recording.id * 100::bigint / :size + r3 % 10)::text
                 WHEN 8 THEN ((:size - recording.id) / 100 * 100)::text
                 WHEN 9 THEN CASE WHEN recording.year > 2000 THEN 'prize of ' ELSE 'medal of ' END || country.name
                 ELSE country.name || ' ' || recording.year END
FROM (SELECT i, 1 + (:size::bigint * r0 * r0 >> 40) AS of, (1 + (10 * r1 * r1 >> 40))::integer AS kind, hashint8extended(i, 53) & 1048575 AS r2, hashint8extended(i, 54) & 1048575 AS r3
      FROM (SELECT i, hashint8extended(i, 51) & 1048575 AS r0, hashint8extended(i, 52) & 1048575 AS r1 FROM generate_series(1, :size * 4) AS i) AS hashes) AS rows
JOIN recording ON recording.id = of JOIN country ON country.id = recording.country_id JOIN genre ON genre.id = recording.genre_id;
INSERT INTO rating
SELECT i, 5 + (:size - i) * (:size - i)::bigint / :size * (r1 % 50) / 1000, 1 + (60 * (1048576 - (r2 * r2 >> 20)) >> 20) / 10.0 + CASE WHEN i < :size / 10 THEN 2 ELSE 0 END
FROM (SELECT i, hashint8extended(i, 61) & 1048575 AS r1, hashint8extended(i, 62) & 1048575 AS r2 FROM generate_series(1, :size) AS i) AS rows
WHERE r1 % 10 < 6 OR i < :size / 20;
INSERT INTO artist_info
SELECT i, artist.id, kind, CASE kind WHEN 11 THEN 'born in ' || artist.country_id WHEN 12 THEN country.name WHEN 13 THEN (ARRAY['voice', 'guitar', 'piano', 'drums', 'bass', 'violin'])[1 + (6 * r2 * r2 >> 40)]
                      WHEN 14 THEN (150 + CASE WHEN gender = 'm' THEN 15 ELSE 5 END + r2 % 30)::text WHEN 15 THEN (coalesce(born, 1950) + 40 + r2 % 50)::text ELSE md5(i::text) END
FROM (SELECT i, 1 + ((:size / 48 * 24 * r0 >> 20) * r0 >> 20) AS of, (11 + (6 * r1 * r1 >> 40))::integer AS kind, r1, hashint8extended(i, 73) & 1048575 AS r2
      FROM (SELECT i, hashint8extended(i, 71) & 1048575 AS r0, hashint8extended(i, 72) & 1048575 AS r1 FROM generate_series(1, :size) AS i) AS hashes) AS rows
JOIN artist ON artist.id = of JOIN country ON country.id = artist.country_id;
INSERT INTO artist_alias
SELECT i, 1 + ((:size / 48 * 24 * r0 >> 20) * r0 >> 20), chr((97 + r0 % 26)::integer) || substr(md5((i + 3)::text), 1, 8)
FROM (SELECT i, hashint8extended(i, 81) & 1048575 AS r0 FROM generate_series(1, :size / 5) AS i) AS hashes;
INSERT INTO recording_link
SELECT i, 1 + (:size::bigint * r0 >> 20), 1 + (:size::bigint * r1 * r1 >> 40) / 4, 1 + (8 * r2 * r2 >> 40)
FROM (SELECT i, hashint8extended(i, 91) & 1048575 AS r0, hashint8extended(i, 92) & 1048575 AS r1, hashint8extended(i, 93) & 1048575 AS r2 FROM generate_series(1, :size / 8) AS i) AS hashes;

CREATE INDEX ON artist (country_id);
CREATE INDEX ON artist (genre_id);
CREATE INDEX ON label (country_id);
CREATE INDEX ON tag (genre_id);
CREATE INDEX ON recording (genre_id);
CREATE INDEX ON recording (country_id);
CREATE INDEX ON credit (recording_id);
CREATE INDEX ON credit (artist_id);
CREATE INDEX ON credit (role_id);
CREATE INDEX ON release (recording_id);
CREATE INDEX ON release (label_id);
CREATE INDEX ON release (label_kind_id);
CREATE INDEX ON recording_tag (recording_id);
CREATE INDEX ON recording_tag (tag_id);
CREATE INDEX ON recording_info (recording_id);
CREATE INDEX ON recording_info (info_kind_id);
CREATE INDEX ON artist_info (artist_id);
CREATE INDEX ON artist_info (info_kind_id);
CREATE INDEX ON artist_alias (artist_id);
CREATE INDEX ON recording_link (recording_id);
CREATE INDEX ON recording_link (linked_id);
CREATE INDEX ON recording_link (link_kind_id);
VACUUM ANALYZE;
