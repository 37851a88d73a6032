import CSQLite

public let otherVersion = String(cString: sqlite3_libversion())
