// SQLite, as the system has it.
#ifndef SQLABLE_SYSTEM_H
#define SQLABLE_SYSTEM_H

#if !__has_include(<sqlite3.h>)
#error "the headers of SQLite are missing: apt-get install libsqlite3-dev"
#endif
#include "shim.h"

#endif
