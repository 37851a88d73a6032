UPDATE "bicycle" SET "owner_id" = ?, "id" = "id" * ?
-- NULL
-- 2
