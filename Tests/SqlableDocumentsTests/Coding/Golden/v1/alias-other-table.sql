SELECT "old"."id", "old"."name", "old"."color", "old"."owner_id" FROM "archive" AS "old"
