// SQLite, as the system has it.
#ifndef SQLABLE_SYSTEM_H
#define SQLABLE_SYSTEM_H

#if __has_include(<sqlite3.h>)
#include "shim.h"
#else
#error "sqlite3.h is missing; install SQLite's headers: apt-get install libsqlite3-dev, or dnf install sqlite-devel"
#endif

#endif
