INSERT INTO "bicycle" ("name", "color") SELECT "name", "name" FROM "person"
