import CSqlableSQLite

extension SqlError.Kind {
  /// The kind that a result code of SQLite stands for.
  ///
  /// SQLITE_ERROR covers missing tables, missing columns and syntax; only the message tells them apart. Left for
  /// `.other` are the codes that no call of this library can meet (EMPTY, AUTH, NOTICE, WARNING, ROW, DONE), and those
  /// of a mistake inside SQLite (INTERNAL, NOTFOUND).
  init(code: Int32, extendedCode: Int32, message: String) {
    switch code {
    // PROTOCOL: other connections held the locks of the write-ahead log through all of SQLite's own attempts, some ten
    // seconds.
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: self = .busy
    // READONLY_DBMOVED: the file was deleted or renamed, which has nothing to do with the right to write.
    case SQLITE_READONLY: self = extendedCode == SQLITE_READONLY | 4 << 8 ? .io : .readOnly
    case SQLITE_PERM: self = .readOnly
    case SQLITE_FULL: self = .full
    // NOLFS: the file has grown beyond what the system's calls can address.
    case SQLITE_IOERR, SQLITE_NOLFS: self = .io
    case SQLITE_CANTOPEN: self = .cannotOpen
    // What the handle refuses of a sound schema SQLite may call malformed.
    case SQLITE_CORRUPT, SQLITE_ERROR:
      if SqlError.unsafePart(ofMessage: message) != nil {
        self = .schema(.mismatch(message))
      } else {
        self = code == SQLITE_CORRUPT ? .corrupt : SqlError.Kind(message: message)
      }
    case SQLITE_NOTADB, SQLITE_FORMAT: self = .notADatabase
    case SQLITE_INTERRUPT, SQLITE_ABORT: self = .interrupted
    case SQLITE_TOOBIG: self = .tooBig
    case SQLITE_NOMEM: self = .outOfMemory
    case SQLITE_MISUSE, SQLITE_RANGE: self = .misuse(message)
    case SQLITE_SCHEMA: self = .schema(.mismatch(message))
    case SQLITE_MISMATCH: self = .constraint(.dataType)
    // RESTRICT is a trigger to SQLite; only the message says what it is about.
    case SQLITE_CONSTRAINT where message == "FOREIGN KEY constraint failed": self = .constraint(.foreignKey)
    case SQLITE_CONSTRAINT: self = .constraint(SqlError.Constraint(extendedCode: extendedCode))
    default: self = .other
    }
  }

  /// The kind that the message of a plain error tells.
  private init(message: String) {
    if let table = message.suffix(after: "no such table: ") {
      // The table that a foreign key refers to comes with its schema's name.
      self = .schema(.missingTable(table.begins(with: "main.") ? table.suffix(after: ".") ?? table : table))
    } else if let column = message.suffix(after: "no such column: ") {
      self = .schema(.missingColumn(column))
    } else if let column = message.suffix(after: "has no column named ") {
      self = .schema(.missingColumn(column))
    } else if ["syntax error", "incomplete input", "unrecognized token"].contains(where: {
      message.suffix(after: $0) != nil
    }) {
      self = .syntax
    } else if message == "unsupported file format" {
      // The header is of a version to come.
      self = .notADatabase
    } else {
      self = .other
    }
  }
}

extension SqlError {
  /// What reading a text or blob throws that SQLite has no memory for.
  @usableFromInline
  static var withoutMemory: any Error {
    SqlError(.outOfMemory, message: "out of memory", code: Int(SQLITE_NOMEM), extendedCode: Int(SQLITE_NOMEM))
  }
}

extension SqlError {
  /// What a message says that a view, a trigger or a table's definition may not use; nil for a message of another kind.
  static func unsafePart(ofMessage message: String) -> String? {
    let beginning = "unsafe use of "
    if message.begins(with: beginning) { return message.suffix(after: beginning) }
    guard message.begins(with: "malformed database schema (") else { return nil }
    return message.suffix(after: ") - " + beginning)
  }
}

extension SqlError.Constraint {
  // The extended codes are macros of the form (SQLITE_CONSTRAINT | (n << 8)), which Swift does not import.
  init(extendedCode: Int32) {
    switch extendedCode >> 8 {
    case 1: self = .check
    case 3: self = .foreignKey
    case 5: self = .notNull
    case 6: self = .primaryKey
    case 7: self = .trigger
    case 8: self = .unique
    case 10: self = .rowId
    case 12: self = .dataType
    default: self = .other
    }
  }
}

extension String {
  /// What follows the first occurrence of `marker`, or nil without one.
  func suffix(after marker: String) -> String? {
    guard let first = marker.utf8.first else { return self }
    var rest = utf8[...]
    while let start = rest.firstIndex(of: first) {
      rest = rest[start...]
      if rest.starts(with: marker.utf8) { return String(self[rest.index(start, offsetBy: marker.utf8.count)...]) }
      rest = rest.dropFirst()
    }
    return nil
  }
}
