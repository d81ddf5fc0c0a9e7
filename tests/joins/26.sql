SELECT min(r.title), min(v.score), count(*)
FROM recording AS r, country AS s, genre AS g, recording_info AS i, info_kind AS ik, rating AS v,
  recording_tag AS rt, tag AS t
WHERE rt.recording_id = r.id AND t.id = rt.tag_id AND i.recording_id = r.id AND ik.id = i.info_kind_id
  AND v.recording_id = r.id AND g.id = r.genre_id AND s.id = r.country_id
  AND rt.recording_id = i.recording_id AND v.recording_id = i.recording_id AND s.region = 'asia'
  AND g.name IN ('pop', 'folk') AND ik.name = 'mood' AND i.info = 'calm' AND v.score < 3.0
  AND t.tag IN ('love', 'night', 'party');
