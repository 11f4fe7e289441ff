-- The newest version of one policy. ?1: its name.
-- Index: policies (name, version). Lock: none.
SELECT max(version) FROM policies WHERE name = ?1
