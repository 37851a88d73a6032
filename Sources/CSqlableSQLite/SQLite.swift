// The C API of SQLite, from the library that the traits choose: a program must not link both, since their functions
// have the same names.
#if SQLCipher
@_exported import CSqlableSQLCipher
#else
@_exported import CSqlableSystemSQLite
#endif
