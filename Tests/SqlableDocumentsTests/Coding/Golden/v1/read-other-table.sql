SELECT "id", "name", "color", "owner_id" FROM "archive" WHERE "id" > ?
-- 3
