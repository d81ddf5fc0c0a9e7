SELECT min(l.note), min(r.title), min(r.year), count(*)
FROM release AS l, label_kind AS k, recording_info AS i, info_kind AS ik, recording AS r
WHERE l.recording_id = r.id AND k.id = l.label_kind_id AND i.recording_id = r.id
  AND ik.id = i.info_kind_id AND l.recording_id = i.recording_id AND k.name = 'pressing plant'
  AND ik.name = 'chart rank' AND i.info IN ('1', '2', '3') AND l.note LIKE '%(vinyl)%'
  AND r.year BETWEEN 1960 AND 1985;
