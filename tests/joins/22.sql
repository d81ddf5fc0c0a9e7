SELECT min(n.alias), min(a.name), min(r.title), count(*)
FROM artist_alias AS n, artist AS a, credit AS c, role AS o, recording AS r, release AS l, label AS b,
  rating AS v
WHERE c.recording_id = r.id AND a.id = c.artist_id AND o.id = c.role_id AND l.recording_id = r.id
  AND b.id = l.label_id AND v.recording_id = r.id AND n.artist_id = a.id
  AND l.recording_id = c.recording_id AND o.name = 'singer' AND c.note = '(lead)' AND a.gender = 'f'
  AND a.name LIKE '%A%' AND r.year > 2000 AND v.votes > 200;
