INSERT INTO "bicycle" ("id", "name", "color") VALUES (?, ?, ?) ON CONFLICT ("name", "color") DO NOTHING RETURNING "id"
-- 3
-- "Norco"
-- "red"
