SELECT min(r.title), min(t2.tag), count(*)
FROM recording AS r, recording_link AS x, recording AS r2, recording_tag AS rt, tag AS t,
  recording_tag AS rt2, tag AS t2, rating AS v2
WHERE rt.recording_id = r.id AND t.id = rt.tag_id AND x.recording_id = r.id AND r2.id = x.linked_id
  AND v2.recording_id = r2.id AND rt2.recording_id = r2.id AND t2.id = rt2.tag_id AND t.tag = t2.tag
  AND t.genre_id <> t2.genre_id AND t2.tag IN ('summer', 'road') AND v2.votes > 1000 AND r.year = 1972;
