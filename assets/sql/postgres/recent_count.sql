-- How many events there are from $1 (ms since 1970) on, counted no further than $2. Index: job_events_at.
-- Lock: none.
SELECT count(*) FROM (
  SELECT 1 FROM job_events
  WHERE at >= timestamptz 'epoch' + $1::bigint * interval '1 millisecond'
  LIMIT $2
) recent
