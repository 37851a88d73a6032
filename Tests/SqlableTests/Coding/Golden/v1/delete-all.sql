DELETE FROM "bicycle"
