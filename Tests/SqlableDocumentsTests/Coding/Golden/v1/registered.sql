SELECT "id", "name", "color", "owner_id" FROM "bicycle" WHERE "twice"("id") = ?
-- 6
