SELECT "id", "title", "body", "year", "slug" FROM "story" WHERE "id" IN (SELECT "rowid" FROM "story_fulltext" WHERE "story_fulltext" MATCH ?) AND "year" > ?
-- "\"swift\""
-- 2020
