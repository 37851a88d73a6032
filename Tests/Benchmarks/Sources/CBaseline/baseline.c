#include "baseline.h"

#include <stdlib.h>
#include <string.h>

#define COLUMNS "id, name, bio, price, active, nick, at"

static uint64_t bits(double number) {
  uint64_t result;
  memcpy(&result, &number, sizeof result);
  return result;
}

static char *copy_text(sqlite3_stmt *statement, int column, int *length) {
  const unsigned char *text = sqlite3_column_text(statement, column);
  if (!text) {
    *length = 0;
    return NULL;
  }
  *length = sqlite3_column_bytes(statement, column);
  return strdup((const char *)text);
}

static void read_row(sqlite3_stmt *statement, baseline_row *row) {
  row->id = sqlite3_column_int64(statement, 0);
  row->name = copy_text(statement, 1, &row->name_length);
  row->bio = copy_text(statement, 2, &row->bio_length);
  row->price = sqlite3_column_double(statement, 3);
  row->active = sqlite3_column_int(statement, 4);
  row->nick = copy_text(statement, 5, &row->nick_length);
  row->at = sqlite3_column_double(statement, 6);
}

static uint64_t checksum(const baseline_row *row) {
  return (uint64_t)row->id + row->name_length + row->bio_length + bits(row->price) + (row->active ? 1 : 0) +
         (row->nick ? row->nick_length : 1000) + bits(row->at);
}

static void free_row(baseline_row *row) {
  free(row->name);
  free(row->bio);
  free(row->nick);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement = NULL;
  sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);
  return statement;
}

uint64_t baseline_scan_integers(sqlite3 *db) {
  sqlite3_stmt *statement = prepare(db, "SELECT a, b, c, d, e, f, g, h, i, j FROM ints");
  size_t count = 0, capacity = 1024;
  int64_t(*rows)[10] = malloc(capacity * sizeof *rows);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    if (count == capacity) rows = realloc(rows, (capacity *= 2) * sizeof *rows);
    for (int column = 0; column < 10; column++) rows[count][column] = sqlite3_column_int64(statement, column);
    count++;
  }
  uint64_t sum = 0;
  for (size_t row = 0; row < count; row++) {
    uint64_t mixed = 0;
    for (int column = 0; column < 10; column++) mixed ^= (uint64_t)rows[row][column];
    sum += mixed;
  }
  free(rows);
  sqlite3_finalize(statement);
  return sum;
}

// Reads all rows of a bound statement into an array, as a program that keeps them does.
static uint64_t collect(sqlite3_stmt *statement, size_t capacity) {
  size_t count = 0;
  baseline_row *rows = malloc(capacity * sizeof *rows);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    if (count == capacity) rows = realloc(rows, (capacity *= 2) * sizeof *rows);
    read_row(statement, &rows[count++]);
  }
  uint64_t sum = 0;
  for (size_t row = 0; row < count; row++) {
    sum += checksum(&rows[row]);
    free_row(&rows[row]);
  }
  free(rows);
  return sum;
}

uint64_t baseline_scan_mixed(sqlite3 *db) {
  sqlite3_stmt *statement = prepare(db, "SELECT " COLUMNS " FROM mixed");
  uint64_t sum = collect(statement, 1024);
  sqlite3_finalize(statement);
  return sum;
}

uint64_t baseline_point_selects_alone(sqlite3 *db, const int64_t *ids, int count) {
  sqlite3_stmt *statement = prepare(db, "SELECT " COLUMNS " FROM mixed WHERE id = ?");
  uint64_t sum = 0;
  for (int index = 0; index < count; index++) {
    sqlite3_bind_int64(statement, 1, ids[index]);
    if (sqlite3_step(statement) == SQLITE_ROW) {
      baseline_row row;
      read_row(statement, &row);
      sum += checksum(&row);
      free_row(&row);
    }
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  return sum;
}

uint64_t baseline_point_selects(sqlite3 *db, const int64_t *ids, int count) {
  sqlite3_exec(db, "BEGIN", NULL, NULL, NULL);
  uint64_t sum = baseline_point_selects_alone(db, ids, count);
  sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
  return sum;
}

// The rows outlive the step, so their texts need no copy.
static void bind_values(sqlite3_stmt *statement, const baseline_row *row) {
  sqlite3_bind_text(statement, 2, row->name, row->name_length, SQLITE_STATIC);
  sqlite3_bind_text(statement, 3, row->bio, row->bio_length, SQLITE_STATIC);
  sqlite3_bind_double(statement, 4, row->price);
  sqlite3_bind_int(statement, 5, row->active);
  if (row->nick)
    sqlite3_bind_text(statement, 6, row->nick, row->nick_length, SQLITE_STATIC);
  else
    sqlite3_bind_null(statement, 6);
  sqlite3_bind_double(statement, 7, row->at);
}

uint64_t baseline_insert(sqlite3 *db, const baseline_row *rows, int count) {
  sqlite3_stmt *statement = prepare(db, "INSERT INTO mixed (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?)");
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

uint64_t baseline_update(sqlite3 *db, const baseline_row *rows, int count) {
  sqlite3_stmt *statement = prepare(
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

uint64_t baseline_queries(sqlite3 *db, const int64_t *starts, int count) {
  sqlite3_stmt *statement = prepare(db, "SELECT " COLUMNS " FROM mixed WHERE id >= ? AND id < ?");
  uint64_t sum = 0;
  for (int index = 0; index < count; index++) {
    sqlite3_bind_int64(statement, 1, starts[index]);
    sqlite3_bind_int64(statement, 2, starts[index] + 50);
    sum += collect(statement, 64);
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  return sum;
}

uint64_t baseline_counts(sqlite3 *db, const int64_t *limits, int count) {
  sqlite3_stmt *statement = prepare(db, "SELECT count(*) FROM mixed WHERE id < ? AND active = 1");
  uint64_t sum = 0;
  for (int index = 0; index < count; index++) {
    sqlite3_bind_int64(statement, 1, limits[index]);
    if (sqlite3_step(statement) == SQLITE_ROW) sum += (uint64_t)sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  return sum;
}
