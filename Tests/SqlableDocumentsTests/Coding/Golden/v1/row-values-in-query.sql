SELECT "id", "name", "price", "is_electric", "sold_at" FROM "car" WHERE NOT ("name", "price") IN (SELECT "car"."name", coalesce(max("car"."price"), ?) FROM "car")
-- 0.0
