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

static inline int number(const unsigned char *digits, int count) {
  int number = 0;
  for (int index = 0; index < count; index++) number = number * 10 + (digits[index] - '0');
  return number;
}

double baseline_date(const unsigned char *text) {
  // The years of a calendar that begins in March, in eras of 400 years.
  int month = number(text + 5, 2), year = number(text, 4) - (month <= 2), era = year / 400, of_era = year % 400;
  int day = (153 * ((month + 9) % 12) + 2) / 5 + number(text + 8, 2) - 1;
  int64_t days = era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + day - 719468;
  int64_t seconds = days * 86400 + number(text + 11, 2) * 3600 + number(text + 14, 2) * 60 + number(text + 17, 2);
  return (double)seconds + number(text + 20, 3) / 1000.0;
}

static inline void read_row(sqlite3_stmt *statement, baseline_row *row, int dates_are_text) {
  row->id = sqlite3_column_int64(statement, 0);
  row->name = baseline_copy_text(statement, 1, &row->name_length);
  row->bio = baseline_copy_text(statement, 2, &row->bio_length);
  row->price = sqlite3_column_double(statement, 3);
  row->active = sqlite3_column_int(statement, 4);
  row->nick = baseline_copy_text(statement, 5, &row->nick_length);
  row->at = dates_are_text ? baseline_date(sqlite3_column_text(statement, 6)) : sqlite3_column_double(statement, 6);
}

void baseline_read_row(sqlite3_stmt *statement, baseline_row *row) { read_row(statement, row, 0); }

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

static inline __attribute__((always_inline)) uint64_t collect(
    sqlite3_stmt *statement, size_t capacity, int dates_are_text) {
  size_t count = 0;
  baseline_row *rows = malloc(capacity * sizeof *rows);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    if (count == capacity) rows = realloc(rows, (capacity *= 2) * sizeof *rows);
    read_row(statement, &rows[count++], dates_are_text);
  }
  uint64_t sum = 0;
  for (size_t row = 0; row < count; row++) {
    sum += baseline_row_digest(&rows[row]);
    baseline_free_row(&rows[row]);
  }
  free(rows);
  return sum;
}

uint64_t baseline_collect(sqlite3_stmt *statement, size_t capacity) { return collect(statement, capacity, 0); }

uint64_t baseline_collect_text_dates(sqlite3_stmt *statement, size_t capacity) {
  return collect(statement, capacity, 1);
}
