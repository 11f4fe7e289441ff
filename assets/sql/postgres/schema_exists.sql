-- Whether this database holds a ledger, seen through the search_path. Reads the catalogue, no lock.
SELECT to_regclass('ledgertop_schema') IS NOT NULL
