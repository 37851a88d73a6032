UPDATE "bicycle" SET "owner_id" = ?
-- NULL
