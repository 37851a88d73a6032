INSERT INTO "bicycle" ("name", "color") VALUES (?, ?)
-- "Norco"
-- "red"
