SELECT min(r.title), min(r2.title), min(a.name), count(*)
FROM recording AS r, recording_link AS x, link_kind AS xk, recording AS r2, credit AS c, artist AS a,
  credit AS c2, artist AS a2
WHERE c.recording_id = r.id AND a.id = c.artist_id AND x.recording_id = r.id AND xk.id = x.link_kind_id
  AND r2.id = x.linked_id AND c2.recording_id = r2.id AND a2.id = c2.artist_id
  AND xk.name = 'answer to' AND a.gender = 'f' AND a2.gender = 'm' AND c.role_id = 2 AND c2.role_id = 2
  AND r.year > r2.year;
