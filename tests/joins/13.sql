SELECT min(a.name), min(r.title), count(*)
FROM recording AS r, credit AS c, artist AS a, role AS o, recording_info AS i, info_kind AS ik
WHERE c.recording_id = r.id AND a.id = c.artist_id AND o.id = c.role_id AND i.recording_id = r.id
  AND ik.id = i.info_kind_id AND i.recording_id = c.recording_id AND o.name = 'conductor'
  AND ik.name = 'language' AND i.info = 'hindi' AND r.year BETWEEN 1970 AND 2000;
