-- Lets the server notice within half a second, in the middle of a statement, that nobody waits for its
-- answer any more (PostgreSQL 14 and later; before, the statement runs to its limit). No table, no lock.
SELECT set_config('client_connection_check_interval', '500', false)
FROM pg_settings WHERE name = 'client_connection_check_interval'
