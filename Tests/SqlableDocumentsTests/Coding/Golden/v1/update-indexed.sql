UPDATE "bicycle" INDEXED BY "bicycle_color" SET "name" = ? WHERE "color" = ?
-- "x"
-- "red"
