SELECT min(r.title), min(r2.title), count(*)
FROM recording AS r, recording_link AS x, link_kind AS xk, recording AS r2, rating AS v, rating AS v2,
  genre AS g, genre AS g2
WHERE v.recording_id = r.id AND x.recording_id = r.id AND xk.id = x.link_kind_id AND g.id = r.genre_id
  AND r2.id = x.linked_id AND v2.recording_id = r2.id AND g2.id = r2.genre_id
  AND xk.name IN ('cover of', 'sample of') AND g.name = 'hip hop' AND g2.name = 'soul'
  AND v2.score > v.score;
