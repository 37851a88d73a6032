WITH RECURSIVE "levels" ("c1", "c2") AS (SELECT "id", ? FROM "worker" WHERE "id" = ? UNION ALL SELECT "worker"."id", "levels"."c2" + ? FROM "worker" JOIN "levels" ON "worker"."boss_id" = "levels"."c1") SELECT "levels"."c1", "levels"."c2" FROM "levels"
-- 0
-- 1
-- 1
