DELETE FROM "bicycle" RETURNING "id", "color"
