SELECT min(a.name), min(ai.info), min(r.title), count(*)
FROM artist AS a, artist_info AS ai, info_kind AS aik, credit AS c, role AS o, recording AS r,
  recording_info AS i, info_kind AS ik, release AS l, label AS b
WHERE c.recording_id = r.id AND a.id = c.artist_id AND o.id = c.role_id AND l.recording_id = r.id
  AND b.id = l.label_id AND i.recording_id = r.id AND ik.id = i.info_kind_id AND ai.artist_id = a.id
  AND aik.id = ai.info_kind_id AND i.recording_id = c.recording_id AND l.recording_id = c.recording_id
  AND aik.name = 'birth place' AND ai.info LIKE 'us%' AND o.name = 'guitarist'
  AND ik.name = 'recorded in' AND i.info LIKE '%198%' AND b.name LIKE 'A%';
