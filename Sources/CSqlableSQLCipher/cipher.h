// SQLCipher, which is SQLite with encrypted files.
#ifndef SQLABLE_CIPHER_H
#define SQLABLE_CIPHER_H

#if !__has_include(<sqlite3.h>)
#error "sqlite3.h is missing; install SQLCipher 4.5 or later: apt-get install libsqlcipher-dev (dnf: sqlcipher-devel)"
#else
#include "../CSqlableSystemSQLite/shim.h"

// SQLCipher 4.5 is SQLite 3.36.
#if SQLITE_VERSION_NUMBER < 3036000
#error "the trait SQLCipher needs SQLCipher 4.5 or later; Debian 12 has 3.4, and .ci/sqlcipher builds a newer one"
#endif

// The header declares them only with SQLITE_HAS_CODEC.
int sqlite3_key_v2(sqlite3 *db, const char *database, const void *key, int size);
int sqlite3_rekey_v2(sqlite3 *db, const char *database, const void *key, int size);

#endif
#endif
