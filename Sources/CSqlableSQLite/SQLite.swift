// The C API of SQLite, from the library that the traits choose. A program must not link both: their symbols clash.
#if SQLCipher
@_exported import CSqlableSQLCipher
#else
@_exported import CSqlableSystemSQLite
#endif
