SELECT min(r.title), min(xk.name), min(t.tag), count(*)
FROM recording AS r, recording_link AS x, link_kind AS xk, recording AS r2, recording_tag AS rt, tag AS t,
  release AS l, label AS b, country AS bs, recording_info AS i, info_kind AS ik, rating AS v
WHERE l.recording_id = r.id AND b.id = l.label_id AND rt.recording_id = r.id AND t.id = rt.tag_id
  AND i.recording_id = r.id AND ik.id = i.info_kind_id AND v.recording_id = r.id
  AND x.recording_id = r.id AND xk.id = x.link_kind_id AND bs.id = b.country_id AND r2.id = x.linked_id
  AND rt.recording_id = i.recording_id AND l.recording_id = i.recording_id
  AND v.recording_id = i.recording_id AND xk.name = 'live version of'
  AND t.tag IN ('slow', 'fast', 'live', 'love') AND bs.language = 'english' AND ik.name = 'chart rank'
  AND i.info < '30' AND v.score > 3.0 AND r2.genre_id = r.genre_id;
