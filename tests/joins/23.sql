SELECT min(n.alias), min(a.name), min(r.title), count(*)
FROM artist_alias AS n, artist AS a, credit AS c, role AS o, recording AS r, release AS l, label AS b,
  country AS s
WHERE c.recording_id = r.id AND a.id = c.artist_id AND o.id = c.role_id AND l.recording_id = r.id
  AND b.id = l.label_id AND n.artist_id = a.id AND s.id = r.country_id
  AND l.recording_id = c.recording_id AND o.name = 'drummer' AND a.gender IS NULL
  AND s.name IN ('gb', 'br', 'us1') AND b.founded < 1950;
