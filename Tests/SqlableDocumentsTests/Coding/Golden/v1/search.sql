SELECT "story"."id", "story"."title", "story"."body", "story"."year", "story"."slug" FROM "story" JOIN "story_fulltext" ON "story_fulltext"."rowid" = "story"."id" WHERE "story_fulltext"."story_fulltext" MATCH ? ORDER BY "story_fulltext"."rank" LIMIT ?
-- "\"swift\""
-- 5
