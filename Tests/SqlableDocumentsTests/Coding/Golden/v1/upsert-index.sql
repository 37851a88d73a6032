INSERT INTO "bicycle" ("id", "name", "color") VALUES (?, ?, ?) ON CONFLICT ("name") WHERE "id" > 3 DO UPDATE SET "color" = excluded."color" RETURNING "id"
-- 3
-- "Norco"
-- "red"
