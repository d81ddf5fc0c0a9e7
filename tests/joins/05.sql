SELECT min(r.title), count(*)
FROM recording AS r, recording_info AS i, recording_tag AS rt, tag AS t, country AS s
WHERE rt.recording_id = r.id AND t.id = rt.tag_id AND i.recording_id = r.id AND s.id = r.country_id
  AND rt.recording_id = i.recording_id AND t.tag = 'summer' AND i.info = 'portuguese' AND s.name = 'br';
