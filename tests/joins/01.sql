SELECT min(l.note), min(r.title), min(r.year), count(*)
FROM release AS l, label_kind AS k, recording_info AS i, info_kind AS ik, recording AS r
WHERE l.recording_id = r.id AND k.id = l.label_kind_id AND i.recording_id = r.id
  AND ik.id = i.info_kind_id AND l.recording_id = i.recording_id AND k.name = 'major'
  AND ik.name = 'award' AND l.note NOT LIKE '%(promo)%' AND r.year < 1990;
