/// What went wrong, where, and what became of the transaction: the one error type that this library throws.
///
/// ```swift
/// do { try bike.insert().run(db) } catch let error as SqlError {
///   switch error.kind {
///   case .constraint(.unique): …            // UNIQUE constraint failed: bicycle.name
///   case .busy where error.isRetryable: …
///   default: throw error
///   }
/// }
/// ```
///
/// A value that was bound or read never enters an error.
public struct SqlError: Error, Sendable, Hashable {
  /// The class of the failure, to switch over.
  public var kind: Kind
  /// SQLite's primary result code (`SQLITE_BUSY` is 5); 0 when SQLite was not asked.
  public var code: Int
  /// SQLite's extended result code (`SQLITE_CONSTRAINT_UNIQUE` is 2067); 0 when SQLite was not asked.
  public var extendedCode: Int
  /// One sentence that says what happened.
  public var message: String
  /// The statement that failed, with `?` in the place of every value.
  public var sql: String?
  /// How many bytes (UTF-8) of `sql` stand before what SQLite could not follow, when it can tell; it can since 3.38.
  public var offset: Int?
  /// The table that the failure belongs to, when known.
  public var table: String?
  /// The column that the failure belongs to, when known.
  public var column: String?
  /// The row id that the failure belongs to, when known.
  public var rowId: Int?
  /// What became of the transaction that was open when the failure happened.
  public var transaction: TransactionFate
  /// The label of the handle, from its `Configuration`.
  public var label: String?

  public init(
    _ kind: Kind,
    message: String,
    code: Int = 0,
    extendedCode: Int = 0,
    sql: String? = nil,
    offset: Int? = nil,
    table: String? = nil,
    column: String? = nil,
    rowId: Int? = nil,
    transaction: TransactionFate = .none,
    label: String? = nil
  ) {
    self.kind = kind
    self.message = message
    self.code = code
    self.extendedCode = extendedCode
    self.sql = sql
    self.offset = offset
    self.table = table
    self.column = column
    self.rowId = rowId
    self.transaction = transaction
    self.label = label
  }

  /// Whether the same call can succeed when it is made again: another connection held a lock.
  ///
  /// Inside a transaction whose fate is `.untouched` the statement alone may be repeated; after `.rolledBack` the whole
  /// transaction has to be, and so has a deferred one that wants to write after another has (`extendedCode` 517).
  /// Outside a transaction 517 is met in a loop over rows of the same handle, which holds on to what another connection
  /// has changed since: before the loop has ended no repetition helps, and this is false.
  public var isRetryable: Bool { kind == .busy && !(extendedCode == 517 && transaction == .none) }
}

extension SqlError {
  public enum Kind: Sendable, Hashable {
    /// A constraint refused the change.
    case constraint(Constraint)
    /// Another connection held a lock for longer than the busy timeout.
    case busy
    /// The database, its file or its directory can't be written to.
    case readOnly
    /// The disk, or the page limit of the database, is full.
    case full
    /// The operating system failed to read or write.
    case io
    /// The database file can't be opened or created.
    case cannotOpen
    /// The database file is damaged.
    case corrupt
    /// The file is not an SQLite database, or one in a format that this SQLite does not know.
    case notADatabase
    /// The statement was interrupted.
    case interrupted
    /// A deadline passed.
    case timeout
    /// The database has another schema than the model.
    case schema(SchemaProblem)
    /// A stored value does not fit the Swift type that it is read into.
    case decoding(Mismatch)
    /// A Swift value does not fit the column that it is written to.
    case encoding(Mismatch)
    /// The statement makes no sense, and says why; SQLite never saw it.
    case invalidStatement(String)
    /// SQLite refused the text of the statement.
    case syntax
    /// A value, or a row, is larger than SQLite's limit.
    case tooBig
    /// SQLite ran out of memory.
    case outOfMemory
    /// The library was called in a way that can't work, and says why.
    case misuse(String)
    /// The handle was closed before.
    case closed
    /// SQLite could not end the handle's transaction: nothing of it will be stored. Close the handle and open another.
    case handleLost
    /// Anything else that SQLite reports, such as an error of one of its functions; `code` and `message` say what.
    case other
  }

  public enum Constraint: Sendable, Hashable {
    case unique, primaryKey, foreignKey, notNull, check, rowId, trigger, dataType, other
  }

  public enum SchemaProblem: Sendable, Hashable {
    case missingTable(String)
    case missingColumn(String)
    /// The model and the database differ in a way that has no case of its own, or the schema uses what the handle
    /// refuses (``Configuration/trustsSchema``).
    case mismatch(String)
  }

  /// Two types that do not meet: names of types and storage classes, never a value.
  public struct Mismatch: Sendable, Hashable {
    public var expected: String
    public var found: String

    public init(expected: String, found: String) {
      self.expected = expected
      self.found = found
    }
  }

  public enum TransactionFate: Sendable, Hashable {
    /// No transaction was open: what the failing statement had done is undone, nothing else was affected. The exception
    /// here and below is a rule of the table or a trigger that says FAIL: the rows before the failing one are kept.
    case none
    /// The transaction is still open and keeps what earlier statements did; the failing one is undone.
    case untouched
    /// The whole transaction is gone: nothing of it is stored.
    case rolledBack
  }
}

extension SqlError: CustomStringConvertible {
  public var description: String {
    var text = "SqlError.\(kindName)"
    if let label { text += " [\(label)]" }
    text += ": \(message)"
    let column = [table, column].compactMap { $0 }.joined(separator: ".")
    let place = [column, rowId.map { "row \($0)" } ?? ""].filter { !$0.isEmpty }.joined(separator: ", ")
    if !place.isEmpty { text += " (at \(place))" }
    if extendedCode != 0 { text += " (code \(extendedCode))" }
    switch transaction {
    case .none: break
    case .untouched: text += "; the transaction is still open"
    case .rolledBack: text += "; the transaction was rolled back"
    }
    if let sql { text += "; \(placeInText)in: \(sql)" }
    return text
  }

  /// `at line 1, column 8 `, both counted from 1.
  private var placeInText: String {
    guard let sql, let offset, offset <= sql.utf8.count else { return "" }
    // By bytes: a line break of two is one character, and none of "\n".
    let lines = sql.utf8.prefix(offset).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let column = lines.last.map { String(decoding: $0, as: UTF8.self).count } ?? 0
    return "at line \(lines.count), column \(column + 1) "
  }

  private var kindName: String {
    switch kind {
    case .constraint(let constraint): "constraint(\(constraint))"
    case .schema: "schema"
    case .decoding: "decoding"
    case .encoding: "encoding"
    case .invalidStatement: "invalidStatement"
    case .misuse: "misuse"
    default: "\(kind)"
    }
  }
}

extension SqlError {
  static func misuse(_ message: String) -> SqlError {
    SqlError(.misuse(message), message: message)
  }

  static func invalidStatement(_ message: String) -> SqlError {
    SqlError(.invalidStatement(message), message: message)
  }

  /// A value of the wrong type on its way out of the database; the place is filled in where it is known.
  @usableFromInline
  static func decoding(expected: String, found: String) -> SqlError {
    SqlError(
      .decoding(Mismatch(expected: expected, found: found)), message: "expected \(expected), found \(found)")
  }

  /// A value of the wrong type on its way into the database; the place is filled in where it is known.
  @usableFromInline
  static func encoding(expected: String, found: String) -> SqlError {
    SqlError(
      .encoding(Mismatch(expected: expected, found: found)), message: "expected \(expected), found \(found)")
  }

  /// The same error with the label of the handle that it belongs to, unless it has one.
  func labelled(_ label: String?) -> SqlError {
    var error = self
    error.label = error.label ?? label
    return error
  }

  /// The same error with its place filled in, keeping what is known already.
  func at(table: String?, column: String? = nil, rowId: Int? = nil) -> SqlError {
    var error = self
    error.table = error.table ?? table
    error.column = error.column ?? column
    error.rowId = error.rowId ?? rowId
    return error
  }

  /// The same error of the library's own, thrown where a transaction may be open.
  func inTransaction(_ isOpen: Bool) -> SqlError {
    guard isOpen, transaction == .none, kind != .handleLost else { return self }
    var error = self
    error.transaction = .untouched
    return error
  }

  static func message(of error: any Error) -> String { (error as? SqlError)?.message ?? "\(error)" }
}
