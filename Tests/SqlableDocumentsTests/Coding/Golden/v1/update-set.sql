UPDATE "bicycle" SET "color" = ? WHERE "color" = ?
-- "blue"
-- "red"
