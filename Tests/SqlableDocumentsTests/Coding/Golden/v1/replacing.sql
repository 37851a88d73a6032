SELECT "id", "name", max("price"), "is_electric", "sold_at" FROM "car" GROUP BY "name"
