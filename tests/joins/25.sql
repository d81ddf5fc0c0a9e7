SELECT min(b.name), min(xk.name), min(r.title), count(*)
FROM label AS b, release AS l, label_kind AS k, recording AS r, recording_link AS x, link_kind AS xk,
  recording_tag AS rt, tag AS t
WHERE l.recording_id = r.id AND b.id = l.label_id AND k.id = l.label_kind_id AND rt.recording_id = r.id
  AND t.id = rt.tag_id AND x.recording_id = r.id AND xk.id = x.link_kind_id AND b.name LIKE '%Sound%'
  AND k.name = 'major' AND xk.name LIKE '%of' AND t.tag = 'road' AND r.title LIKE '%(live)%';
