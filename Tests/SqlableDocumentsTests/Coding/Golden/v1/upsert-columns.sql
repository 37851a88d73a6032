INSERT INTO "bicycle" ("id", "name", "color") VALUES (?, ?, ?) ON CONFLICT ("name", "color") DO UPDATE SET "owner_id" = excluded."owner_id" RETURNING "id"
-- 3
-- "Norco"
-- "red"
