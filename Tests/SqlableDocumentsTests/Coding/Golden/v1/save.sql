INSERT INTO "bicycle" ("id", "name", "color") VALUES (?, ?, ?) ON CONFLICT ("id") DO UPDATE SET "name" = excluded."name", "color" = excluded."color" RETURNING "id"
-- 3
-- "Norco"
-- "red"
