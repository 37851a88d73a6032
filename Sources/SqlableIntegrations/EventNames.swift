import Sqlable

#if Logging || Metrics || Tracing

extension TraceEvent {
  /// A name that statements with different conditions share: `SELECT bicycle`.
  var summary: String { table.map { "\(operation) \($0)" } ?? operation }

  /// Returns the name of the database: its label, or the name of its file.
  func namespace(_ filename: String) -> String { label ?? filename }
}

extension TraceEvent.Outcome {
  var name: String {
    switch self {
    case .committed: "committed"
    case .rolledBack: "rolled_back"
    case .unknown: "unknown"
    }
  }
}

extension SqliteDatabase {
  var filename: String { filepath.split(separator: "/").last.map(String.init) ?? "" }
}

extension SqlError {
  /// The message without the text that SQLite quotes for a syntax error, because this text can be a value of raw SQL.
  var messageWithoutQuotes: String {
    guard kind == .syntax, let first = message.firstIndex(of: "\""), let last = message.lastIndex(of: "\"") else {
      return message
    }
    return message[...first] + "…" + message[last...]
  }

  /// The error without texts that can contain values of raw SQL, and without the row id.
  var withoutValues: SqlError {
    var error = self
    (error.message, error.sql, error.offset, error.rowId) = (messageWithoutQuotes, nil, nil, nil)
    return error
  }
}

extension Duration {
  var inSeconds: Double { self / .seconds(1) }
}
#endif
