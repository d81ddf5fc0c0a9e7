SELECT min(a.name), min(n.alias), min(r.title), count(*)
FROM artist AS a, artist_alias AS n, artist_info AS ai, info_kind AS aik, credit AS c, role AS o,
  recording AS r, recording_info AS i, info_kind AS ik, rating AS v
WHERE c.recording_id = r.id AND a.id = c.artist_id AND o.id = c.role_id AND i.recording_id = r.id
  AND ik.id = i.info_kind_id AND v.recording_id = r.id AND ai.artist_id = a.id
  AND aik.id = ai.info_kind_id AND n.artist_id = a.id AND i.recording_id = c.recording_id
  AND v.recording_id = c.recording_id AND ai.artist_id = n.artist_id AND aik.name = 'height'
  AND ai.info > '185' AND n.alias LIKE 'b%' AND o.name = 'bassist' AND ik.name = 'key'
  AND i.info IN ('Am', 'Em') AND v.score > 6.0;
