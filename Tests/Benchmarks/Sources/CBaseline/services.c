#include <stdlib.h>
#include <time.h>

#include "baseline.h"

static int run(sqlite3_stmt *statement) {
  int code = sqlite3_step(statement);
  sqlite3_reset(statement);
  return code;
}

uint64_t baseline_read_modify_write(sqlite3 *db, const int64_t *ids, int count) {
  sqlite3_stmt *begin = baseline_prepare(db, "BEGIN IMMEDIATE");
  sqlite3_stmt *commit = baseline_prepare(db, "COMMIT");
  sqlite3_stmt *select = baseline_prepare(db, "SELECT " BASELINE_COLUMNS " FROM mixed WHERE id = ?");
  sqlite3_stmt *update = baseline_prepare(db, "UPDATE mixed SET price = ? WHERE id = ?");
  uint64_t sum = 0;
  for (int index = 0; index < count; index++) {
    run(begin);
    sqlite3_bind_int64(select, 1, ids[index]);
    if (sqlite3_step(select) == SQLITE_ROW) {
      baseline_row row;
      baseline_read_row(select, &row);
      sqlite3_reset(select);
      sum += baseline_row_digest(&row);
      sqlite3_bind_double(update, 1, row.price + 1);
      sqlite3_bind_int64(update, 2, row.id);
      run(update);
      baseline_free_row(&row);
    }
    run(commit);
  }
  sqlite3_finalize(begin);
  sqlite3_finalize(commit);
  sqlite3_finalize(select);
  sqlite3_finalize(update);
  return sum;
}

uint64_t baseline_pages(sqlite3 *db, const char *const *names, int count) {
  sqlite3_stmt *statement =
      baseline_prepare(db, "SELECT " BASELINE_COLUMNS " FROM mixed WHERE name > ? ORDER BY name LIMIT ?");
  uint64_t sum = 0;
  for (int index = 0; index < count; index++) {
    sqlite3_bind_text(statement, 1, names[index], -1, SQLITE_STATIC);
    sqlite3_bind_int(statement, 2, 20);
    sum += baseline_collect(statement, 20);
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  return sum;
}

typedef struct {
  int64_t id;
  char *title, *author;
  int title_length, author_length;
  int64_t pages;
} loan;

uint64_t baseline_join(sqlite3 *db, const int64_t *members, int count) {
  sqlite3_stmt *statement = baseline_prepare(
      db,
      "SELECT loan.id, book.title, author.name, book.pages FROM loan JOIN book ON book.id = loan.book_id "
      "JOIN author ON author.id = book.author_id WHERE loan.member_id = ? ORDER BY loan.id");
  uint64_t sum = 0;
  for (int index = 0; index < count; index++) {
    size_t used = 0, capacity = 32;
    loan *loans = malloc(capacity * sizeof *loans);
    sqlite3_bind_int64(statement, 1, members[index]);
    while (sqlite3_step(statement) == SQLITE_ROW) {
      if (used == capacity) loans = realloc(loans, (capacity *= 2) * sizeof *loans);
      loan *loan = &loans[used++];
      loan->id = sqlite3_column_int64(statement, 0);
      loan->title = baseline_copy_text(statement, 1, &loan->title_length);
      loan->author = baseline_copy_text(statement, 2, &loan->author_length);
      loan->pages = sqlite3_column_int64(statement, 3);
    }
    sqlite3_reset(statement);
    for (size_t row = 0; row < used; row++) {
      uint64_t digest = baseline_mix(BASELINE_DIGEST, (uint64_t)loans[row].id);
      digest = baseline_mix_bytes(digest, loans[row].title, loans[row].title_length);
      digest = baseline_mix_bytes(digest, loans[row].author, loans[row].author_length);
      sum += baseline_mix(digest, (uint64_t)loans[row].pages);
      free(loans[row].title);
      free(loans[row].author);
    }
    free(loans);
  }
  sqlite3_finalize(statement);
  return sum;
}

uint64_t baseline_blobs(sqlite3 *db, const void *bytes, int size, int count) {
  sqlite3_stmt *insert = baseline_prepare(db, "INSERT INTO attachment (id, content) VALUES (?, ?)");
  sqlite3_stmt *select = baseline_prepare(db, "SELECT id, content FROM attachment WHERE id = ?");
  uint64_t sum = 0;
  sqlite3_exec(db, "BEGIN IMMEDIATE", NULL, NULL, NULL);
  for (int id = 1; id <= count; id++) {
    sqlite3_bind_int(insert, 1, id);
    sqlite3_bind_blob(insert, 2, bytes, size, SQLITE_STATIC);
    run(insert);
  }
  for (int id = 1; id <= count; id++) {
    sqlite3_bind_int(select, 1, id);
    if (sqlite3_step(select) == SQLITE_ROW) {
      uint64_t digest = baseline_mix(BASELINE_DIGEST, (uint64_t)sqlite3_column_int64(select, 0));
      const void *content = sqlite3_column_blob(select, 1);
      int length = sqlite3_column_bytes(select, 1);
      void *copy = malloc((size_t)length);
      memcpy(copy, content, (size_t)length);
      sum += baseline_mix_bytes(digest, copy, length);
      free(copy);
    }
    sqlite3_reset(select);
  }
  sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
  sqlite3_finalize(insert);
  sqlite3_finalize(select);
  return sum;
}

uint64_t baseline_in_list(sqlite3 *db, const int64_t *ids, int width, int repeats) {
  char *sql = malloc(256 + 2 * (size_t)width);
  strcpy(sql, "SELECT " BASELINE_COLUMNS " FROM mixed WHERE id IN (");
  char *end = sql + strlen(sql);
  for (int index = 0; index < width; index++) *end++ = '?', *end++ = ',';
  strcpy(end - 1, ")");
  sqlite3_stmt *statement = baseline_prepare(db, sql);
  free(sql);
  uint64_t sum = 0;
  for (int repeat = 0; repeat < repeats; repeat++) {
    for (int index = 0; index < width; index++) sqlite3_bind_int64(statement, index + 1, ids[repeat * width + index]);
    sum += baseline_collect(statement, (size_t)width);
    sqlite3_reset(statement);
  }
  sqlite3_finalize(statement);
  return sum;
}

uint64_t baseline_open(const char *path, const char *pragmas, const int64_t *ids, int count) {
  uint64_t sum = 0;
  for (int index = 0; index < count; index++) {
    sqlite3 *db = NULL;
    sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    sqlite3_exec(db, pragmas, NULL, NULL, NULL);
    sum += baseline_point_selects(db, &ids[index], 1);
    sqlite3_close(db);
  }
  return sum;
}

uint64_t baseline_cold(sqlite3 *db, const char *const *texts, const int *terms, int count) {
  uint64_t sum = 0;
  for (int index = 0; index < count; index++) {
    sqlite3_stmt *statement = baseline_prepare(db, texts[index]);
    for (int term = 0; term < 4; term++) {
      // The last two of the five comparisons are < and <=, with a bound that no row reaches.
      int kind = terms[index * 4 + term], isUpper = kind % 5 >= 3;
      if (kind < 5)
        sqlite3_bind_int64(statement, term + 1, isUpper ? 1000000000000 : -1);
      else
        sqlite3_bind_double(statement, term + 1, isUpper ? 1e12 : -1);
    }
    sqlite3_bind_int(statement, 5, 1);
    sum += baseline_collect(statement, 1);
    sqlite3_finalize(statement);
  }
  return sum;
}

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

int64_t baseline_read_for(sqlite3 *db, double seconds, int64_t reads, int64_t first, int64_t rows) {
  sqlite3_stmt *statement = baseline_prepare(db, "SELECT " BASELINE_COLUMNS " FROM mixed WHERE id = ?");
  double end = now() + seconds;
  int64_t found = 0, id = first;
  // The clock is read every 16 rows, which keeps it out of the figures.
  for (; reads > 0 && now() < end; reads -= 16)
    for (int index = 0; index < 16; index++) {
      id = (id + 7919) % rows;
      sqlite3_bind_int64(statement, 1, id + 1);
      if (sqlite3_step(statement) == SQLITE_ROW) {
        baseline_row row;
        baseline_read_row(statement, &row);
        found += row.id == id + 1;
        baseline_free_row(&row);
      }
      sqlite3_reset(statement);
    }
  sqlite3_finalize(statement);
  return found;
}

int64_t baseline_write_for(sqlite3 *db, double seconds, int64_t rows) {
  sqlite3_stmt *statement = baseline_prepare(db, "UPDATE mixed SET price = ? WHERE id = ?");
  double end = now() + seconds;
  int64_t changed = 0, id = 0;
  while (now() < end) {
    id = (id + 7919) % rows;
    sqlite3_bind_double(statement, 1, (double)changed);
    sqlite3_bind_int64(statement, 2, id + 1);
    if (run(statement) == SQLITE_DONE) changed += sqlite3_changes(db);
  }
  sqlite3_finalize(statement);
  return changed;
}
