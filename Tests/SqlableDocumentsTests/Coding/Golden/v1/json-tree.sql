SELECT "car"."id", "leaf"."fullkey" FROM "car" JOIN json_tree("car"."name") AS "leaf" ON "leaf"."type" = ?
-- "text"
