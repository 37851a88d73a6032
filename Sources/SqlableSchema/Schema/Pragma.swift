import SqlableCore

/// A PRAGMA with a typed value.
///
/// ```swift
/// let version = try Pragma.userVersion.run(db)                      // PRAGMA "user_version"
/// try await Pragma.userVersion.set(to: version + 1).run(pool)       // PRAGMA "user_version" = 8
/// let mode = try Pragma<String>("journal_mode").run(db)             // "wal"
/// ```
///
/// Running a pragma reads its value, and throws `.misuse` if SQLite does not know the pragma. A value of another type
/// throws `.decoding`. A pool runs pragmas on its writer, outside a transaction, and reopens the writer afterwards: a
/// setting of the connection ends with the call. For a setting of all handles, use ``Configuration``. A cluster accepts
/// only pragmas of the whole database.
public struct Pragma<Value: SqlValue>: Sendable, Hashable, Codable {
  let name: String
  /// The name of the attached database; nil for the database's own file.
  let database: String?

  /// - Parameters:
  ///   - name: The pragma's name, which is quoted.
  ///   - type: The type of the pragma's value.
  ///   - database: The name of an attached database; nil for the database's own file.
  public init(_ name: String, as type: Value.Type = Value.self, inDatabase database: String? = nil) {
    (self.name, self.database) = (name, database)
  }

  /// Sets the value. The pragma's own rules apply: SQLite silently keeps the old value of some pragmas, for example of
  /// `foreign_keys` in a transaction. A value that is NULL or a blob throws `.misuse`.
  public func set(to value: Value) -> PragmaSetting<Value> {
    PragmaSetting(pragma: self, value: try? value.databaseValue)
  }

  private var rows: SqlRows<DynamicRow> {
    (database.map { "PRAGMA \(table: $0).\(table: name)" as SQL } ?? "PRAGMA \(table: name)").rows(as: DynamicRow.self)
  }
}

extension Pragma: Runnable, WrappingWork {
  package var wrapped: SqlRows<DynamicRow> { rows }

  @_disfavoredOverload
  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> Value { try value(of: rows.run(db)) }

  public func run(over transport: some SqlTransport) async throws -> Value {
    try value(of: await rows.run(over: transport))
  }

  private func value(of rows: [DynamicRow]) throws -> Value {
    guard let value: Value = try rows.pragmaValue() else {
      throw SqlError.misuse("pragma \(name) returned no value; check the name, because SQLite ignores unknown pragmas")
    }
    return value
  }
}

/// A PRAGMA that sets a value; see ``Pragma/set(to:)``.
///
/// Running the statement returns the value that SQLite reports; nil if SQLite reports none, as for most pragmas.
public struct PragmaSetting<Value: SqlValue>: Sendable, Hashable, Codable {
  let pragma: Pragma<Value>
  /// The value; nil if SQLite can't store it.
  fileprivate let value: DatabaseValue?

  private var text: SQL {
    // A PRAGMA can't have bound values, and accepts no parentheses around a negative number.
    let literal =
      switch value {
      case .integer(let integer): "\(integer)"
      case .real(let real): "\(real)"
      case .text(let text): text.quotedText
      case .null, .blob, nil: "NULL"
      }
    return SQL(verbatim: "\(pragma.sql) = \(literal)")
  }

  private func rows() throws -> SqlRows<DynamicRow> {
    switch value {
    case .integer, .real, .text: text.rows(as: DynamicRow.self)
    case .null, .blob, nil: throw SqlError.misuse("the pragma \(pragma.name) can only be set to a number or a text")
    }
  }
}

extension PragmaSetting: Runnable, WrappingWork {
  package var wrapped: SQL { text }

  public func requests() throws -> [SqlRequest] { try rows().requests() }

  @_disfavoredOverload
  @discardableResult
  public func run(_ db: SqliteDatabase) throws -> Value? { try rows().run(db).pragmaValue() }

  public func run(over transport: some SqlTransport) async throws -> Value? {
    try await rows().run(over: transport).pragmaValue()
  }
}

extension [DynamicRow] {
  fileprivate func pragmaValue<Value: SqlValue>() throws -> Value? {
    guard let row = first, !row.values.isEmpty else { return nil }
    // SQLCipher returns the page size of an encrypted file as text.
    if case .text(let text) = row.values[0], Value.self == Int.self, let number = Int(text) { return number as? Value }
    return try row.get(at: 0, as: Value.self)
  }
}

extension Pragma where Value == Int {
  /// A number that the file keeps for the program: `PRAGMA user_version`.
  public static var userVersion: Pragma<Int> { Pragma("user_version") }
  /// The number of the file format that the program declares: `PRAGMA application_id`.
  public static var applicationId: Pragma<Int> { Pragma("application_id") }
  /// The size of the page cache: pages if positive, KiB if negative.
  public static var cacheSize: Pragma<Int> { Pragma("cache_size") }
  /// The size of a page, in bytes. A new size takes effect with the next VACUUM, and not in WAL mode.
  public static var pageSize: Pragma<Int> { Pragma("page_size") }
  /// The number of pages of the file.
  public static var pageCount: Pragma<Int> { Pragma("page_count") }
  /// The number of free pages in the file.
  public static var freePageCount: Pragma<Int> { Pragma("freelist_count") }
  /// The kind of automatic vacuum: 0 none, 1 full, 2 incremental. A new kind takes effect with the next VACUUM.
  public static var autoVacuum: Pragma<Int> { Pragma("auto_vacuum") }
}

extension Pragma where Value == Bool {
  /// True if SQLite enforces foreign keys. A transaction can't change the setting.
  public static var foreignKeys: Pragma<Bool> { Pragma("foreign_keys") }
}

extension Pragma where Value == String {
  /// The journal mode, such as `wal`.
  public static var journalMode: Pragma<String> { Pragma("journal_mode") }
  /// The encoding of texts in the file, such as `UTF-8`.
  public static var encoding: Pragma<String> { Pragma("encoding") }
}
