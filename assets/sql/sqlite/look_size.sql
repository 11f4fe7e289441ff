-- About how many jobs there are: no job is removed, so the last one's number is their count. Index: the table
-- itself, one step. Lock: none.
SELECT coalesce(max(rowid), 0) FROM jobs
