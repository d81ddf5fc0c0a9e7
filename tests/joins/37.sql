SELECT min(a.name), min(b.name), min(t.tag), count(*)
FROM artist AS a, country AS ac, credit AS c, role AS o, recording AS r, genre AS g, release AS l,
  label AS b, label_kind AS k, recording_tag AS rt, tag AS t
WHERE c.recording_id = r.id AND a.id = c.artist_id AND o.id = c.role_id AND l.recording_id = r.id
  AND b.id = l.label_id AND k.id = l.label_kind_id AND rt.recording_id = r.id AND t.id = rt.tag_id
  AND g.id = r.genre_id AND ac.id = a.country_id AND l.recording_id = c.recording_id
  AND rt.recording_id = c.recording_id AND ac.region = 'america' AND o.name = 'lyricist'
  AND g.name = 'country' AND k.name = 'distributor' AND t.tag = 'home' AND r.year BETWEEN 1995 AND 2020;
