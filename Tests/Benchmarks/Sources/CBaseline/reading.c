#include <stdlib.h>

#include "baseline.h"

static uint64_t integers_digest(const int64_t *row) {
  uint64_t digest = 0;
  if (baseline_is_thorough())
    for (int column = 0; column < 10; column++) digest = baseline_mix(digest, (uint64_t)row[column]);
  else
    for (int column = 0; column < 10; column++) digest ^= (uint64_t)row[column];
  return digest;
}

uint64_t baseline_scan_integers(sqlite3 *db) {
  sqlite3_stmt *statement = baseline_prepare(db, "SELECT a, b, c, d, e, f, g, h, i, j FROM ints");
  size_t count = 0, capacity = 1024;
  int64_t(*rows)[10] = malloc(capacity * sizeof *rows);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    if (count == capacity) rows = realloc(rows, (capacity *= 2) * sizeof *rows);
    for (int column = 0; column < 10; column++) rows[count][column] = sqlite3_column_int64(statement, column);
    count++;
  }
  uint64_t sum = 0;
  for (size_t row = 0; row < count; row++) sum += integers_digest(rows[row]);
  free(rows);
  sqlite3_finalize(statement);
  return sum;
}

uint64_t baseline_scan_mixed(sqlite3 *db) {
  sqlite3_stmt *statement = baseline_prepare(db, "SELECT " BASELINE_COLUMNS " FROM mixed");
  uint64_t sum = baseline_collect(statement, 1024);
  sqlite3_finalize(statement);
  return sum;
}

uint64_t baseline_scan_text_dates(sqlite3 *db) {
  sqlite3_stmt *statement = baseline_prepare(db, "SELECT " BASELINE_COLUMNS " FROM mixed_text");
  uint64_t sum = baseline_collect_text_dates(statement, 1024);
  sqlite3_finalize(statement);
  return sum;
}

uint64_t baseline_point_selects(sqlite3 *db, const int64_t *ids, int count) {
  sqlite3_stmt *statement = baseline_prepare(db, "SELECT " BASELINE_COLUMNS " FROM mixed WHERE id = ?");
  uint64_t sum = 0;
  for (int index = 0; index < count; index++) {
    sqlite3_bind_int64(statement, 1, ids[index]);
    if (sqlite3_step(statement) == SQLITE_ROW) {
      baseline_row row;
      baseline_read_row(statement, &row);
      sum += baseline_row_digest(&row);
      baseline_free_row(&row);
    }
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  return sum;
}

uint64_t baseline_queries(sqlite3 *db, const int64_t *starts, int count, int width) {
  sqlite3_stmt *statement = baseline_prepare(db, "SELECT " BASELINE_COLUMNS " FROM mixed WHERE id >= ? AND id < ?");
  uint64_t sum = 0;
  for (int index = 0; index < count; index++) {
    sqlite3_bind_int64(statement, 1, starts[index]);
    sqlite3_bind_int64(statement, 2, starts[index] + width);
    sum += baseline_collect(statement, 64);
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  return sum;
}

uint64_t baseline_counts(sqlite3 *db, const int64_t *starts, int count, int width) {
  sqlite3_stmt *statement =
      baseline_prepare(db, "SELECT count(*) FROM mixed WHERE id >= ? AND id < ? AND active = ?");
  uint64_t sum = 0;
  for (int index = 0; index < count; index++) {
    sqlite3_bind_int64(statement, 1, starts[index]);
    sqlite3_bind_int64(statement, 2, starts[index] + width);
    sqlite3_bind_int(statement, 3, 1);
    if (sqlite3_step(statement) == SQLITE_ROW) sum += (uint64_t)sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  return sum;
}
