SELECT "id", "bicycle_id", "cost" FROM "repair"
