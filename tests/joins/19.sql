SELECT min(n.alias), min(r.title), count(*)
FROM artist_alias AS n, artist AS a, credit AS c, role AS o, recording AS r, release AS l, label AS b,
  country AS bs
WHERE c.recording_id = r.id AND a.id = c.artist_id AND o.id = c.role_id AND l.recording_id = r.id
  AND b.id = l.label_id AND n.artist_id = a.id AND bs.id = b.country_id
  AND l.recording_id = c.recording_id AND n.alias LIKE 'k%' AND o.name = 'arranger' AND bs.name = 'jp'
  AND b.name LIKE '%Music%' AND c.note = '(uncredited)';
