SELECT min(a.name), min(i.info), min(i2.info), count(*)
FROM artist AS a, credit AS c, role AS o, recording AS r, recording_info AS i, info_kind AS ik,
  recording_info AS i2, info_kind AS ik2, release AS l, label_kind AS k, rating AS v, country AS s
WHERE c.recording_id = r.id AND a.id = c.artist_id AND o.id = c.role_id AND l.recording_id = r.id
  AND k.id = l.label_kind_id AND i.recording_id = r.id AND ik.id = i.info_kind_id
  AND i2.recording_id = r.id AND ik2.id = i2.info_kind_id AND v.recording_id = r.id
  AND s.id = r.country_id AND i2.recording_id = i.recording_id AND v.recording_id = l.recording_id
  AND o.name = 'engineer' AND ik.name = 'style' AND i.info = 'reggae' AND ik2.name = 'mood'
  AND k.name = 'pressing plant' AND v.votes BETWEEN 50 AND 300 AND s.language = 'english';
