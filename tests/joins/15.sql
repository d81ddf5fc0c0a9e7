SELECT min(t.tag), min(a.name), min(r.title), count(*)
FROM credit AS c, tag AS t, recording_tag AS rt, artist AS a, recording AS r, rating AS v
WHERE c.recording_id = r.id AND a.id = c.artist_id AND rt.recording_id = r.id AND t.id = rt.tag_id
  AND v.recording_id = r.id AND rt.recording_id = c.recording_id AND a.name LIKE '%c4ca4%'
  AND t.tag = 'love' AND v.score > 5.0;
