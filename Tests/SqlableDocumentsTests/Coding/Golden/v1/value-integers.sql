SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "id" IN (?, ?, ?, ?)
-- -1
-- 9007199254740991
-- 9223372036854775807
-- -9223372036854775808
