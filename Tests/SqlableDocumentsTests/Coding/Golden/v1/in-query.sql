SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "owner_id" IN (SELECT "person"."id" FROM "person" WHERE "person"."name" = ?)
-- "Anna"
