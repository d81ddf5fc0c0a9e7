SELECT min(r.title), min(r2.title), count(*)
FROM recording AS r, recording_link AS x, link_kind AS xk, recording AS r2, rating AS v, rating AS v2,
  release AS l, label AS b, release AS l2, label AS b2
WHERE l.recording_id = r.id AND b.id = l.label_id AND v.recording_id = r.id AND x.recording_id = r.id
  AND xk.id = x.link_kind_id AND r2.id = x.linked_id AND v2.recording_id = r2.id
  AND l2.recording_id = r2.id AND b2.id = l2.label_id AND xk.name = 'remix of' AND b.country_id = 1
  AND b2.country_id = 6 AND v.score < 4.0 AND v2.score > 4.0;
