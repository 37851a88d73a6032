INSERT INTO "bicycle" ("id", "name", "color") VALUES (?, ?, ?) ON CONFLICT ("id") DO UPDATE SET "name" = "excluded"."name", "owner_id" = "bicycle"."owner_id" + ? WHERE "bicycle"."owner_id" < "excluded"."owner_id" RETURNING "id"
-- 3
-- "Norco"
-- "red"
-- 1
