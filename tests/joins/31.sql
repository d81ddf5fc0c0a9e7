SELECT min(b.name), min(i.info), min(v.score), count(*)
FROM label AS b, release AS l, label_kind AS k, recording AS r, recording_info AS i, info_kind AS ik,
  recording_info AS i2, info_kind AS ik2, rating AS v
WHERE l.recording_id = r.id AND b.id = l.label_id AND k.id = l.label_kind_id AND i.recording_id = r.id
  AND ik.id = i.info_kind_id AND i2.recording_id = r.id AND ik2.id = i2.info_kind_id
  AND v.recording_id = r.id AND i2.recording_id = i.recording_id AND k.name = 'independent'
  AND ik.name = 'style' AND ik2.name = 'mood' AND i.info IN ('techno', 'trance', 'house')
  AND i2.info = 'dreamy' AND v.score > 5.0;
