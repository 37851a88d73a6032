INSERT INTO "bicycle" ("id", "name", "color") VALUES (?, ?, ?)
-- 3
-- "Norco"
-- "red"
