SELECT "other"."id", "other"."title", "other"."body", "other"."year", "other"."slug" FROM "story" AS "other" WHERE "other"."id" IN (SELECT "rowid" FROM "story_fulltext" WHERE "story_fulltext" MATCH ?)
-- "\"swift\""
