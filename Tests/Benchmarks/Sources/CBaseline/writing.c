#include "baseline.h"

// The rows outlive the step, so their texts need no copy.
static void bind_values_at(sqlite3_stmt *statement, int first, const baseline_row *row) {
  sqlite3_bind_text(statement, first, row->name, row->name_length, SQLITE_STATIC);
  sqlite3_bind_text(statement, first + 1, row->bio, row->bio_length, SQLITE_STATIC);
  sqlite3_bind_double(statement, first + 2, row->price);
  sqlite3_bind_int(statement, first + 3, row->active);
  if (row->nick)
    sqlite3_bind_text(statement, first + 4, row->nick, row->nick_length, SQLITE_STATIC);
  else
    sqlite3_bind_null(statement, first + 4);
  sqlite3_bind_double(statement, first + 5, row->at);
}

static void bind_values(sqlite3_stmt *statement, const baseline_row *row) { bind_values_at(statement, 2, row); }

uint64_t baseline_insert(sqlite3 *db, const baseline_row *rows, int count) {
  sqlite3_stmt *statement =
      baseline_prepare(db, "INSERT INTO mixed (" BASELINE_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?)");
  uint64_t sum = 0;
  for (int index = 0; index < count; index++) {
    sqlite3_bind_int64(statement, 1, rows[index].id);
    bind_values(statement, &rows[index]);
    if (sqlite3_step(statement) == SQLITE_DONE) sum += (uint64_t)sqlite3_last_insert_rowid(db);
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  return sum;
}

uint64_t baseline_insert_together(sqlite3 *db, const baseline_row *rows, int count, int width) {
  char sql[8192] = "INSERT INTO mixed (" BASELINE_COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?)";
  for (int place = 1; place < width; place++) strcat(sql, ", (?, ?, ?, ?, ?, ?, ?)");
  sqlite3_stmt *statement = baseline_prepare(db, sql);
  uint64_t sum = 0;
  int index = 0;
  for (; index + width <= count; index += width) {
    for (int place = 0; place < width; place++) {
      const baseline_row *row = &rows[index + place];
      sqlite3_bind_int64(statement, place * 7 + 1, row->id);
      bind_values_at(statement, place * 7 + 2, row);
      sum += (uint64_t)row->id;
    }
    sqlite3_step(statement);
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  return index < count ? sum + baseline_insert(db, rows + index, count - index) : sum;
}

uint64_t baseline_update(sqlite3 *db, const baseline_row *rows, int count) {
  sqlite3_stmt *statement = baseline_prepare(
      db, "UPDATE mixed SET name = ?2, bio = ?3, price = ?4, active = ?5, nick = ?6, at = ?7 WHERE id = ?1");
  uint64_t changed = 0;
  for (int index = 0; index < count; index++) {
    sqlite3_bind_int64(statement, 1, rows[index].id);
    bind_values(statement, &rows[index]);
    if (sqlite3_step(statement) == SQLITE_DONE) changed += (uint64_t)sqlite3_changes(db);
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  return changed;
}

static void note(void *sum, int operation, char const *database, char const *table, sqlite3_int64 id) {
  (void)operation, (void)database, (void)table;
  *(uint64_t *)sum += (uint64_t)id;
}

uint64_t baseline_insert_observed(sqlite3 *db, const baseline_row *rows, int count) {
  uint64_t seen = 0;
  sqlite3_update_hook(db, note, &seen);
  sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
  baseline_insert(db, rows, count);
  sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
  sqlite3_update_hook(db, NULL, NULL);
  return seen;
}
