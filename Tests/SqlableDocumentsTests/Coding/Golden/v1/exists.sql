SELECT EXISTS (SELECT 1 FROM "bicycle" WHERE "color" = ?)
-- "red"
