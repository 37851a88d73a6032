SELECT "id", "name" FROM "person" LIMIT ?
