SELECT min(a.name), min(n.alias), min(b.name), count(*)
FROM artist AS a, artist_alias AS n, artist_info AS ai, info_kind AS aik, credit AS c, role AS o,
  recording AS r, genre AS g, recording_info AS i, info_kind AS ik, release AS l, label AS b
WHERE c.recording_id = r.id AND a.id = c.artist_id AND o.id = c.role_id AND l.recording_id = r.id
  AND b.id = l.label_id AND i.recording_id = r.id AND ik.id = i.info_kind_id AND ai.artist_id = a.id
  AND aik.id = ai.info_kind_id AND n.artist_id = a.id AND g.id = r.genre_id
  AND i.recording_id = c.recording_id AND l.recording_id = c.recording_id
  AND ai.artist_id = n.artist_id AND aik.name = 'death year' AND ai.info < '2010'
  AND o.name = 'composer' AND g.name = 'classical' AND ik.name = 'award' AND b.founded BETWEEN 1920
  AND 1930 AND n.alias LIKE '%c0' AND c.position < 10;
