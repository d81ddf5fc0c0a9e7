SELECT min(t.tag), min(a.name), min(r.title), count(*)
FROM credit AS c, tag AS t, recording_tag AS rt, artist AS a, recording AS r
WHERE c.recording_id = r.id AND a.id = c.artist_id AND rt.recording_id = r.id AND t.id = rt.tag_id
  AND rt.recording_id = c.recording_id AND a.name LIKE 'v%' AND t.tag IN ('slow', 'sad') AND r.year > 2014;
