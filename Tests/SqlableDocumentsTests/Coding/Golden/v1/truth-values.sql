SELECT "id" FROM "car" WHERE "is_electric" AND NOT "is_electric"
