SELECT "id", "name", "boss_id", "salary" FROM "worker"
