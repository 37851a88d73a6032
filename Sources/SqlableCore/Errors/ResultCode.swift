import CSqlableSQLite

extension SqlError.Kind {
  /// Creates the kind for a result code of SQLite.
  ///
  /// SQLITE_ERROR covers missing tables, missing columns and syntax errors. Only the message distinguishes these
  /// errors. `.other` covers AUTH, for an action that ``AuthorizerRules`` forbid. `.other` also covers the codes that
  /// no call of this library can return (EMPTY, NOTICE, WARNING, ROW, DONE), and the codes of a bug in SQLite
  /// (INTERNAL, NOTFOUND).
  init(code: Int32, extendedCode: Int32, message: String) {
    switch code {
    // PROTOCOL: other connections held the locks of the WAL during all of SQLite's own retries, for about ten seconds.
    case SQLITE_BUSY, SQLITE_LOCKED, SQLITE_PROTOCOL: self = .busy
    // READONLY_DBMOVED means that the file was deleted or renamed, not that write permission is missing.
    case SQLITE_READONLY: self = extendedCode == SQLITE_READONLY | 4 << 8 ? .io : .readOnly
    case SQLITE_PERM: self = .readOnly
    case SQLITE_FULL: self = .full
    // NOLFS: the file has outgrown the range of the system calls.
    case SQLITE_IOERR, SQLITE_NOLFS: self = .io
    case SQLITE_CANTOPEN: self = .cannotOpen
    // SQLite can report an intact schema as malformed if the schema uses something that the handle rejects.
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
    // SQLite reports a violated RESTRICT as an error of a trigger. Only the message shows that a foreign key was
    // violated.
    case SQLITE_CONSTRAINT where message == "FOREIGN KEY constraint failed": self = .constraint(.foreignKey)
    case SQLITE_CONSTRAINT: self = .constraint(SqlError.Constraint(extendedCode: extendedCode))
    default: self = .other
    }
  }

  private init(message: String) {
    if let table = message.suffix(after: "no such table: ") {
      // If the missing table is the parent of a foreign key, SQLite's message contains the schema's name:
      // `main.parent`.
      self = .schema(.missingTable(table.begins(with: "main.") ? table.suffix(after: ".") ?? table : table))
    } else if let column = message.suffix(after: "no such column: ") {
      self = .schema(.missingColumn(column))
    } else if let column = message.suffix(after: "has no column named ") {
      self = .schema(.missingColumn(column))
    } else if message.begins(with: "no such index: ") {
      self = .schema(.mismatch(message))
    } else if ["syntax error", "incomplete input", "unrecognized token"].contains(where: {
      message.suffix(after: $0) != nil
    }) {
      self = .syntax
    } else if message == "unsupported file format" {
      // The file's header has a version that this SQLite does not support.
      self = .notADatabase
    } else {
      self = .other
    }
  }
}

extension SqlError {
  /// The error if SQLite has no memory for a text or blob.
  @usableFromInline
  @inline(never)
  static var withoutMemory: any Error {
    SqlError(.outOfMemory, message: "out of memory", code: Int(SQLITE_NOMEM), extendedCode: Int(SQLITE_NOMEM))
  }
}

extension SqlError {
  /// Returns the name after `unsafe use of` in SQLite's message about the schema; nil for any other message.
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
  package func suffix(after marker: String) -> String? {
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
