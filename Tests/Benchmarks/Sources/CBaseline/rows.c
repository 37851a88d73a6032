#include <stdlib.h>

#include "baseline.h"

static int thorough;

void baseline_set_thorough(int value) { thorough = value; }
int baseline_is_thorough(void) { return thorough; }

__attribute__((noinline)) uint64_t baseline_measured(uint64_t (*work)(void *), void *context) {
  uint64_t result = work(context);
  // No tail call: the function has to stay on the stack while its work runs.
  __asm__ volatile("");
  return result;
}

sqlite3_stmt *baseline_prepare(sqlite3 *db, const char *sql) {
  sqlite3_stmt *statement = NULL;
  sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL);
  return statement;
}

char *baseline_copy_text(sqlite3_stmt *statement, int column, int *length) {
  const unsigned char *text = sqlite3_column_text(statement, column);
  if (!text) {
    *length = 0;
    return NULL;
  }
  *length = sqlite3_column_bytes(statement, column);
  return strdup((const char *)text);
}

void baseline_read_row(sqlite3_stmt *statement, baseline_row *row) {
  row->id = sqlite3_column_int64(statement, 0);
  row->name = baseline_copy_text(statement, 1, &row->name_length);
  row->bio = baseline_copy_text(statement, 2, &row->bio_length);
  row->price = sqlite3_column_double(statement, 3);
  row->active = sqlite3_column_int(statement, 4);
  row->nick = baseline_copy_text(statement, 5, &row->nick_length);
  row->at = sqlite3_column_double(statement, 6);
}

uint64_t baseline_row_digest(const baseline_row *row) {
  uint64_t digest = baseline_mix(BASELINE_DIGEST, (uint64_t)row->id);
  digest = baseline_mix_bytes(digest, row->name, row->name_length);
  digest = baseline_mix_bytes(digest, row->bio, row->bio_length);
  digest = baseline_mix_double(digest, row->price);
  digest = baseline_mix(digest, row->active ? 1 : 0);
  digest = row->nick ? baseline_mix_bytes(digest, row->nick, row->nick_length) : baseline_mix(digest, BASELINE_NULL);
  return baseline_mix_double(digest, row->at);
}

void baseline_free_row(baseline_row *row) {
  free(row->name);
  free(row->bio);
  free(row->nick);
}

uint64_t baseline_collect(sqlite3_stmt *statement, size_t capacity) {
  size_t count = 0;
  baseline_row *rows = malloc(capacity * sizeof *rows);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    if (count == capacity) rows = realloc(rows, (capacity *= 2) * sizeof *rows);
    baseline_read_row(statement, &rows[count++]);
  }
  uint64_t sum = 0;
  for (size_t row = 0; row < count; row++) {
    sum += baseline_row_digest(&rows[row]);
    baseline_free_row(&rows[row]);
  }
  free(rows);
  return sum;
}
