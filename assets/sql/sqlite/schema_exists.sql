-- Whether this file holds a ledger. Reads the catalogue, no lock beyond a read.
SELECT count(*) > 0 FROM sqlite_master WHERE type = 'table' AND name = 'ledgertop_schema'
