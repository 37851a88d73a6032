// What Swift cannot import from sqlite3.h: variadic functions, casts in macros, and prototypes behind a compile option.
#ifndef SQLABLE_SHIM_H
#define SQLABLE_SHIM_H

#include <pthread.h>
#include <sqlite3.h>
#include <sys/vfs.h>

// Whether a path is in a file system in memory (TMPFS_MAGIC); Swift's Glibc lacks statfs.
static inline int sqlable_is_in_memory(const char *path) {
  struct statfs info;
  return statfs(path, &info) == 0 && info.f_type == 0x01021994;
}

// sqlite3_db_config is variadic.
static inline int sqlable_db_config_flag(sqlite3 *db, int option, int on) {
  return sqlite3_db_config(db, option, on, (int *)0);
}

// sqlite3_vtab_config is variadic.
static inline int sqlable_vtab_innocuous(sqlite3 *db) {
  return sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
}

// sqlite3_config is variadic.
static inline int sqlable_config_memory_statistics(int on) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, on); }

// sqlite3_snprintf is variadic. The format is the one by which SQLite makes a text of a REAL.
static inline void sqlable_real_text(double value, int digits, char *buffer, int size) {
  sqlite3_snprintf(size, buffer, "%!.*g", digits, value);
}

// The pre-update hook is looked up at run time: a SQLite built without it lacks the symbols, and a link against them
// would keep the whole program from starting.
typedef void (*sqlable_preupdate_callback)(void *context, sqlite3 *db, int operation, const char *database,
                                           const char *table, sqlite3_int64 old_id, sqlite3_int64 new_id);
typedef void *(*sqlable_preupdate_hook)(sqlite3 *db, sqlable_preupdate_callback callback, void *context);
typedef int (*sqlable_preupdate_value)(sqlite3 *db, int column, sqlite3_value **value);

// The same for the origin of a column, which needs SQLITE_ENABLE_COLUMN_METADATA.
typedef const char *(*sqlable_column_text)(sqlite3_stmt *statement, int column);

// The same for the place of an error, which came with 3.38.
typedef int (*sqlable_error_offset)(sqlite3 *db);

// The same for counts of rows past 2^31, which came with 3.37, and for the state of a transaction, which came with
// 3.34: a handle refuses an older SQLite when it is opened, and a program that does not start could not.
typedef sqlite3_int64 (*sqlable_count)(sqlite3 *db);
typedef int (*sqlable_transaction_state)(sqlite3 *db, const char *schema);

#endif
