SELECT max(v.votes), min(r.title), count(*)
FROM recording AS r, rating AS v, recording_tag AS rt, tag AS t, genre AS g
WHERE rt.recording_id = r.id AND t.id = rt.tag_id AND v.recording_id = r.id AND g.id = r.genre_id
  AND v.votes > 1000 AND t.tag LIKE '%ad' AND g.name IN ('jazz', 'soul', 'blues');
