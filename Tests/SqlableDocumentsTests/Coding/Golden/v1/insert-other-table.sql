INSERT INTO "archive" ("id", "name", "color") VALUES (?, ?, ?)
-- 3
-- "Norco"
-- "red"
