WITH RECURSIVE "team" ("id", "name", "boss_id", "salary") AS (SELECT "id", "name", "boss_id", "salary" FROM "worker" WHERE "id" = ? UNION ALL SELECT "worker"."id", "worker"."name", "worker"."boss_id", "worker"."salary" FROM "worker" JOIN "team" ON "worker"."boss_id" = "team"."id") SELECT "team"."id", "team"."name", "team"."boss_id", "team"."salary" FROM "team" ORDER BY "team"."id"
-- 2
