DELETE FROM "bicycle" WHERE "id" IN (SELECT "id" FROM "bicycle" ORDER BY "id" LIMIT max(?, 0))
