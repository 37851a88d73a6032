// Declarations that Swift can't import: variadic functions, and functions that some builds of SQLite lack.
#ifndef SQLABLE_SHIM_H
#define SQLABLE_SHIM_H

#include <pthread.h>
#include <fcntl.h>
#include <malloc.h>
#include <sqlite3.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

// Whether a path is in an in-memory file system (TMPFS_MAGIC); Swift's Glibc module lacks statfs.
static inline int sqlable_is_in_memory(const char *path) {
  struct statfs info;
  return statfs(path, &info) == 0 && info.f_type == 0x01021994;
}

// Whether inotify reports all writes to a file: its file system is local, so that no other machine can write to it.
// ext, XFS, Btrfs, tmpfs, ramfs, F2FS, overlayfs, ZFS, bcachefs, JFS, NILFS.
static inline int sqlable_reports_all_writes(const char *path) {
  struct statfs info;
  if (statfs(path, &info) != 0) return 0;
  switch ((unsigned)info.f_type) {
  case 0xEF53: case 0x58465342: case 0x9123683E: case 0x01021994: case 0x858458F6: case 0xF2F52010: case 0x794C7630:
  case 0x2FC12FC1: case 0xCA451A4E: case 0x3153464A: case 0x3434:
    return 1;
  }
  return 0;
}

// Whether an open file is one of the kernel's own: in /proc (PROC_SUPER_MAGIC) or of a control group
// (CGROUP2_SUPER_MAGIC).
static inline int sqlable_is_of_kernel(int descriptor) {
  struct statfs info;
  return fstatfs(descriptor, &info) == 0 && (info.f_type == 0x9FA0 || info.f_type == 0x63677270);
}

// Returns freed memory to the system, where the C library can; Swift's Glibc module lacks malloc_trim.
static inline void sqlable_return_memory(void) {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

// Renames a file unless there is one of the new name (RENAME_NOREPLACE); Swift's Glibc module lacks renameat2.
static inline int sqlable_rename_to_new(const char *from, const char *to) {
  return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 1u);
}

// sqlite3_db_config is variadic.
static inline int sqlable_db_config_flag(sqlite3 *db, int option, int on) {
  return sqlite3_db_config(db, option, on, (int *)0);
}

static inline int sqlable_db_config_lookaside(sqlite3 *db, int size, int count) {
  return sqlite3_db_config(db, SQLITE_DBCONFIG_LOOKASIDE, (void *)0, size, count);
}

// sqlite3_vtab_config is variadic.
static inline int sqlable_vtab_innocuous(sqlite3 *db) {
  return sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS);
}

// sqlite3_config is variadic.
static inline int sqlable_config_memory_statistics(int on) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, on); }

static inline int sqlable_config_single_pages(void) {
  return sqlite3_config(SQLITE_CONFIG_PAGECACHE, (void *)0, 0, 0);
}

// sqlite3_snprintf is variadic. The format is the one that SQLite uses to convert a REAL to text.
static inline void sqlable_real_text(double value, int digits, char *buffer, int size) {
  sqlite3_snprintf(size, buffer, "%!.*g", digits, value);
}

// With a number of digits after the point, as round() writes it, or of significant ones, as strftime() does.
static inline void sqlable_fixed_text(double value, int digits, char *buffer, int size) {
  sqlite3_snprintf(size, buffer, "%.*f", digits, value);
}
static inline void sqlable_general_text(double value, int digits, char *buffer, int size) {
  sqlite3_snprintf(size, buffer, "%.*g", digits, value);
}

// The preupdate hook is looked up at run time: an SQLite built without it lacks the symbols, and linking against them
// would keep the whole program from starting.
typedef void (*sqlable_preupdate_callback)(void *context, sqlite3 *db, int operation, const char *database,
                                           const char *table, sqlite3_int64 old_id, sqlite3_int64 new_id);
typedef void *(*sqlable_preupdate_hook)(sqlite3 *db, sqlable_preupdate_callback callback, void *context);
typedef int (*sqlable_preupdate_value)(sqlite3 *db, int column, sqlite3_value **value);

// The same for a column's origin, which needs SQLITE_ENABLE_COLUMN_METADATA.
typedef const char *(*sqlable_column_text)(sqlite3_stmt *statement, int column);

// The same for the offset of an error in the SQL, added in 3.38.
typedef int (*sqlable_error_offset)(sqlite3 *db);

// The same for row counts beyond 2^31, added in 3.37, and for the transaction state, added in 3.34: opening a handle
// reports an older SQLite as an error, which a program that fails to start could not do.
typedef sqlite3_int64 (*sqlable_count)(sqlite3 *db);
typedef int (*sqlable_transaction_state)(sqlite3 *db, const char *schema);

#endif
