INSERT INTO "bicycle" ("id", "name", "color") VALUES (?, ?, ?) ON CONFLICT ("id") DO UPDATE SET "color" = excluded."color" ON CONFLICT ("name", "color") DO UPDATE SET "owner_id" = "excluded"."owner_id" ON CONFLICT DO NOTHING RETURNING "id"
-- 3
-- "Norco"
-- "red"
