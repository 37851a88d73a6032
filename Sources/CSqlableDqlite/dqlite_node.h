// dqlite's nodes, as the system has them.
#ifndef SQLABLE_DQLITE_NODE_H
#define SQLABLE_DQLITE_NODE_H

#if !__has_include(<dqlite.h>)
#error "dqlite.h is missing; install dqlite's headers: apt-get install libdqlite-dev"
#elif !__has_include(<sqlite3.h>)
#error "sqlite3.h is missing; install SQLite's headers: apt-get install libsqlite3-dev, or dnf install sqlite-devel"
#else
#include <dqlite.h>
#include <sqlite3.h>

// Calls `entry` with each connection that this process opens from now on; SQLite declares its type as another one.
static inline int sqlable_auto_extension(int (*entry)(sqlite3 *, char **, const void *)) {
  return sqlite3_auto_extension((void (*)(void))entry);
}

#endif
#endif
