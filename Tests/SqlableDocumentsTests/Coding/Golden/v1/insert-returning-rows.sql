INSERT INTO "bicycle" ("id", "name", "color") VALUES (?, ?, ?) RETURNING "id", "name", "color", "owner_id"
-- 3
-- "Norco"
-- "red"
