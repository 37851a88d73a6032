SELECT "worker"."name", "boss"."name" FROM "worker" JOIN "worker" AS "boss" ON "worker"."boss_id" = "boss"."id"
