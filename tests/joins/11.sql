SELECT min(r.title), count(*)
FROM release AS l, label AS b, country AS bs, recording AS r, recording_tag AS rt, tag AS t
WHERE l.recording_id = r.id AND b.id = l.label_id AND rt.recording_id = r.id AND t.id = rt.tag_id
  AND bs.id = b.country_id AND bs.name = 'ng5' AND t.tag = 'party';
