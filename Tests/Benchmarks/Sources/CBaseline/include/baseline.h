// The workloads hand-written in C: the floor that everything else is a ratio to. Each function prepares once, binds, steps,
// reads every column, copies every text as a program that keeps its rows has to, and gives a digest of all that it read.
#ifndef BASELINE_H
#define BASELINE_H

#include <sqlite3.h>
#include <stdint.h>
#include <string.h>

// MARK: - Measuring

// Calls `work`; a function of its own, so that callgrind can count what happens inside it and nothing else.
uint64_t baseline_measured(uint64_t (*work)(void *), void *context);

// MARK: - Digests

// Whether digests look at every byte of a text or only at its length. Every byte in the round that checks that all
// contenders see the same; lengths while time is taken, since the bytes would cost all of them the same.
void baseline_set_thorough(int thorough);
int baseline_is_thorough(void);

#define BASELINE_DIGEST 14695981039346656037u

static inline uint64_t baseline_mix(uint64_t digest, uint64_t number) { return (digest ^ number) * 1099511628211u; }

static inline uint64_t baseline_mix_bytes(uint64_t digest, const void *bytes, int64_t length) {
  if (baseline_is_thorough())
    for (int64_t index = 0; index < length; index++) digest = baseline_mix(digest, ((const uint8_t *)bytes)[index]);
  return baseline_mix(digest, (uint64_t)length);
}

static inline uint64_t baseline_mix_double(uint64_t digest, double number) {
  uint64_t bits;
  memcpy(&bits, &number, sizeof bits);
  return baseline_mix(digest, bits);
}

// What stands for a NULL.
#define BASELINE_NULL UINT64_MAX

// MARK: - Rows

typedef struct {
  int64_t id;
  char *name;
  int name_length;
  char *bio;
  int bio_length;
  double price;
  int active;
  char *nick;  // NULL for none
  int nick_length;
  double at;
} baseline_row;

#define BASELINE_COLUMNS "id, name, bio, price, active, nick, at"

sqlite3_stmt *baseline_prepare(sqlite3 *db, const char *sql);
char *baseline_copy_text(sqlite3_stmt *statement, int column, int *length);
void baseline_read_row(sqlite3_stmt *statement, baseline_row *row);
uint64_t baseline_row_digest(const baseline_row *row);
void baseline_free_row(baseline_row *row);
// Reads all rows of a bound statement into an array, as a program that keeps them does.
uint64_t baseline_collect(sqlite3_stmt *statement, size_t capacity);
// The same of a table whose dates are texts like `2013-01-01 06:00:00.000`.
uint64_t baseline_collect_text_dates(sqlite3_stmt *statement, size_t capacity);
// The seconds since 1970 of such a text. Does not check it.
double baseline_date(const unsigned char *text);

// MARK: - Reading

uint64_t baseline_scan_integers(sqlite3 *db);
uint64_t baseline_scan_mixed(sqlite3 *db);
uint64_t baseline_scan_text_dates(sqlite3 *db);
uint64_t baseline_point_selects(sqlite3 *db, const int64_t *ids, int count);
uint64_t baseline_queries(sqlite3 *db, const int64_t *starts, int count, int width);
uint64_t baseline_counts(sqlite3 *db, const int64_t *starts, int count, int width);

// MARK: - Writing

uint64_t baseline_insert(sqlite3 *db, const baseline_row *rows, int count);
// With this many rows in each statement, at most 256.
uint64_t baseline_insert_together(sqlite3 *db, const baseline_row *rows, int count, int width);
uint64_t baseline_update(sqlite3 *db, const baseline_row *rows, int count);
// Inserts in one transaction and adds up the ids that the update hook tells.
uint64_t baseline_insert_observed(sqlite3 *db, const baseline_row *rows, int count);

// MARK: - What services do

uint64_t baseline_read_modify_write(sqlite3 *db, const int64_t *ids, int count);
uint64_t baseline_pages(sqlite3 *db, const char *const *names, int count);
uint64_t baseline_join(sqlite3 *db, const int64_t *members, int count);
uint64_t baseline_blobs(sqlite3 *db, const void *bytes, int size, int count);
uint64_t baseline_in_list(sqlite3 *db, const int64_t *ids, int width, int repeats);
uint64_t baseline_open(const char *path, const char *pragmas, const int64_t *ids, int count);
// Each text has four parameters; `terms` tells of each whether it is an integer (0 to 4) or a real number.
uint64_t baseline_cold(sqlite3 *db, const char *const *texts, const int *terms, int count);

// MARK: - Throughput

// Reads rows by key, each on its own, until the time is over or so many are read; how many were found.
int64_t baseline_read_for(sqlite3 *db, double seconds, int64_t reads, int64_t first, int64_t rows);
// Updates rows by key, each in its own transaction, until the time is over; how many were changed.
int64_t baseline_write_for(sqlite3 *db, double seconds, int64_t rows);

#endif
