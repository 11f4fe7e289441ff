-- The newest event that is not among the recent ones, with its moment (0 and NULL where all are recent). ?1: the
-- newest seq; ?2: the moment from which events are recent; ?3: how many at most.
-- Index: the rowid of job_events, downwards, as far as the recent events reach. Lock: none.
SELECT bound.seq AS seq, e.at AS at
FROM (
  SELECT max(max(?1 - ?3, 0), coalesce((
    SELECT seq FROM job_events WHERE seq > ?1 - ?3 AND at < ?2 ORDER BY seq DESC LIMIT 1), 0)) AS seq
) bound
LEFT JOIN job_events e ON e.seq = bound.seq
