UPDATE "bicycle" SET "name" = ?, "color" = ? WHERE "id" = ? RETURNING "id", upper("name")
