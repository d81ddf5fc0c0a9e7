SELECT min(a.name), min(r.title), count(*)
FROM credit AS c, role AS o, artist AS a, recording AS r, release AS l, label AS b, country AS bs
WHERE c.recording_id = r.id AND a.id = c.artist_id AND o.id = c.role_id AND l.recording_id = r.id
  AND b.id = l.label_id AND bs.id = b.country_id AND c.note = '(uncredited)' AND o.name = 'performer'
  AND bs.name = 'us' AND r.year > 2018 AND r.seconds > 380;
