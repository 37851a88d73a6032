SELECT "id", "name", "price", "is_electric", "sold_at" FROM "car" WHERE "price" > (SELECT avg("car"."price") FROM "car")
