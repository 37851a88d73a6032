// The C API of SQLite. The package traits choose SQLCipher or the system's SQLite. A program must not link both
// libraries, because their symbols clash.
#if SQLCipher
@_exported import CSqlableSQLCipher
#else
@_exported import CSqlableSystemSQLite
#endif
