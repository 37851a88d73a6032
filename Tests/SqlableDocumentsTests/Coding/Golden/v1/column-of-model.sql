SELECT "w"."id", "w"."name", "w"."boss_id", "w"."salary" FROM "worker" AS "w" WHERE "w"."salary" > ?
-- 3.0
