SELECT min(a.name), min(r.title), count(*)
FROM artist_alias AS n, artist AS a, artist_info AS ai, info_kind AS aik, credit AS c, recording AS r,
  recording_link AS x, link_kind AS xk
WHERE c.recording_id = r.id AND a.id = c.artist_id AND ai.artist_id = a.id AND aik.id = ai.info_kind_id
  AND n.artist_id = a.id AND x.recording_id = r.id AND xk.id = x.link_kind_id
  AND ai.artist_id = n.artist_id AND c.artist_id = n.artist_id AND n.alias LIKE 'a1%'
  AND aik.name = 'biography' AND xk.name = 'cover of' AND a.born BETWEEN 1960 AND 1980;
