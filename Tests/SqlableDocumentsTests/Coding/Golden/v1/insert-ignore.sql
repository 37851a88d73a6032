INSERT OR IGNORE INTO "bicycle" ("id", "name", "color") VALUES (?, ?, ?)
-- 3
-- "Norco"
-- "red"
