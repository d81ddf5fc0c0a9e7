SELECT min(a.name), min(r.title), count(*)
FROM recording AS r, credit AS c, artist AS a, role AS o, recording_tag AS rt, tag AS t
WHERE c.recording_id = r.id AND a.id = c.artist_id AND o.id = c.role_id AND rt.recording_id = r.id
  AND t.id = rt.tag_id AND rt.recording_id = c.recording_id AND o.name = 'producer' AND t.tag = 'fast'
  AND r.year > 2010 AND a.name LIKE 'b%';
