-- Every plan that was approved, with what it does. Index: none, plans are few. Lock: none.
SELECT p.id, p.operation, min(e.at) AS approved_at
FROM plans p JOIN plan_events e ON e.plan = p.id AND e.event = 'approve'
GROUP BY p.id, p.operation ORDER BY p.id
