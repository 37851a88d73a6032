// The workloads hand-written in C: the floor that everything else is a ratio to. Each function prepares once, binds, steps,
// reads every column, copies every text as a program that keeps its rows has to, and gives a checksum of all fields.
#ifndef BASELINE_H
#define BASELINE_H

#include <sqlite3.h>
#include <stdint.h>

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

uint64_t baseline_scan_integers(sqlite3 *db);
uint64_t baseline_scan_mixed(sqlite3 *db);
uint64_t baseline_point_selects(sqlite3 *db, const int64_t *ids, int count);
uint64_t baseline_point_selects_alone(sqlite3 *db, const int64_t *ids, int count);
uint64_t baseline_insert(sqlite3 *db, const baseline_row *rows, int count);
uint64_t baseline_update(sqlite3 *db, const baseline_row *rows, int count);
uint64_t baseline_queries(sqlite3 *db, const int64_t *starts, int count);
uint64_t baseline_counts(sqlite3 *db, const int64_t *limits, int count);

#endif
