INSERT INTO "bicycle" ("id", "name", "color") VALUES (?, ?, ?) RETURNING "id", "color"
