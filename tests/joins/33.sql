SELECT min(r.title), min(i.info), count(*)
FROM release AS l, label AS b, country AS bs, recording AS r, recording_info AS i, info_kind AS ik,
  recording_info AS i2, info_kind AS ik2, genre AS g
WHERE l.recording_id = r.id AND b.id = l.label_id AND i.recording_id = r.id AND ik.id = i.info_kind_id
  AND i2.recording_id = r.id AND ik2.id = i2.info_kind_id AND g.id = r.genre_id
  AND bs.id = b.country_id AND g.name = 'metal' AND ik.name = 'tempo' AND ik2.name = 'studio'
  AND i.info > '110' AND bs.region = 'europe';
