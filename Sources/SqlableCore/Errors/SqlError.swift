/// The one error type of this library: what failed, where, and the fate of the transaction.
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
/// An error never contains a value that was bound or read.
public struct SqlError: Error, Sendable, Hashable {
  /// The class of the failure, to switch over.
  public var kind: Kind
  /// SQLite's primary result code (`SQLITE_BUSY` is 5); 0 if the error is not SQLite's.
  public var code: Int
  /// SQLite's extended result code (`SQLITE_CONSTRAINT_UNIQUE` is 2067); 0 if the error is not SQLite's.
  public var extendedCode: Int
  /// The description of the failure, in one sentence.
  public var message: String
  /// The statement that failed, with `?` for every value.
  public var sql: String?
  /// The byte offset (UTF-8) in `sql` of the text that SQLite could not parse, if known; SQLite reports it since 3.38.
  public var offset: Int?
  /// The table that the failure belongs to, when known.
  public var table: String?
  /// The column that the failure belongs to, when known.
  public var column: String?
  /// The row id that the failure belongs to, when known.
  public var rowId: Int?
  /// The place, from 0, of the struct in its batch whose write failed; nil for anything but a batch.
  public var batchIndex: Int?
  /// The place of the failure in a document that was decoded: `read.where.and[1]`.
  public var documentPath: String?
  /// The fate of the transaction that was open when the error occurred.
  public var transaction: TransactionFate
  /// The label of the handle, from its `Configuration`.
  public var label: String?
  /// True if a trace event reports the error.
  var isTraced = TracedMark()

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
    batchIndex: Int? = nil,
    documentPath: String? = nil,
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
    self.batchIndex = batchIndex
    self.documentPath = documentPath
    self.transaction = transaction
    self.label = label
  }

  /// True if the same call can succeed when retried: another connection held a lock, or a cluster had no leader.
  ///
  /// In a transaction whose fate is `.untouched` retry the statement alone; after `.rolledBack` retry the whole
  /// transaction. Also retry the whole transaction if it is deferred and could not write because another connection has
  /// written since it read (`extendedCode` 517). Outside a transaction 517 occurs in a loop over rows of the same
  /// handle, whose snapshot is older than another connection's commit: no retry helps until the loop has ended, and
  /// this is false.
  public var isRetryable: Bool {
    kind == .unavailable || kind == .busy && !(extendedCode == 517 && transaction == .none)
  }
}

extension Error {
  /// The same error with the place of its struct in a batch.
  package func inBatch(_ index: Int) -> any Error {
    guard var error = self as? SqlError, error.batchIndex == nil else { return self }
    error.batchIndex = index
    return error
  }
}

extension SqlError {
  public enum Kind: Sendable, Hashable {
    /// The change violates a constraint.
    case constraint(Constraint)
    /// Another connection held a lock for longer than the busy timeout.
    case busy
    /// The database, its file or its directory can't be written to.
    case readOnly
    /// The disk, or the page limit of the database, is full.
    case full
    /// The operating system failed to read or write, or the database file was moved or deleted.
    case io
    /// The database file can't be opened or created.
    case cannotOpen
    /// The database file is damaged.
    case corrupt
    /// The file is not an SQLite database, or has a format that this SQLite does not know.
    case notADatabase
    /// The handle's key or cipher settings do not match the file, or the file is not encrypted. Also thrown if a key
    /// ring lacks the key of a sealed value.
    case wrongKey
    /// A sealed value fails authentication: another key with the same number sealed it, it belongs to another column,
    /// or its bytes were changed.
    case notAuthentic
    /// The statement was interrupted.
    case interrupted
    /// A deadline passed.
    case timeout
    /// A cluster had no leader within the call's time, or lost it too often. Nothing of the call is stored.
    case unavailable
    /// A cluster did not answer the commit that was sent: the transaction may be stored, or may not. The library never
    /// repeats such a commit in silence; `transaction(id:)` makes a transaction repeatable.
    case outcomeUnknown
    /// The schema of the database differs from the model.
    case schema(SchemaProblem)
    /// A stored value does not fit the Swift type into which it is read.
    case decoding(Mismatch)
    /// A Swift value does not fit the column to which it is written.
    case encoding(Mismatch)
    /// A result that has to have a row has none.
    case notFound
    /// A result has several rows where there can be one, or several rows with the same key.
    case notUnique
    /// The statement is invalid, for the reason given; SQLite never ran it.
    case invalidStatement(String)
    /// SQLite could not parse the statement.
    case syntax
    /// A value, or a row, is larger than SQLite's limit.
    case tooBig
    /// SQLite ran out of memory.
    case outOfMemory
    /// The library was called in a way that can't work, for the reason given.
    case misuse(String)
    /// The handle or pool is closed.
    case closed
    /// SQLite could not roll back the handle's transaction, and none of it will be stored. Close the handle and open
    /// another.
    case handleLost
    /// Any other error of SQLite, such as one of its functions; see `code` and `message`.
    case other
  }

  public enum Constraint: Sendable, Hashable {
    case unique, primaryKey, foreignKey, notNull, check, rowId, trigger, dataType, other
  }

  public enum SchemaProblem: Sendable, Hashable {
    case missingTable(String)
    case missingColumn(String)
    /// The model and the database differ in a way that no other case describes, or the schema uses something that the
    /// handle refuses (``Configuration/trustsSchema``).
    case mismatch(String)
  }

  /// Two types that do not match: names of types and storage classes, never a value.
  public struct Mismatch: Sendable, Hashable {
    public var expected: String
    public var found: String

    public init(expected: String, found: String) {
      self.expected = expected
      self.found = found
    }
  }

  public enum TransactionFate: Sendable, Hashable {
    /// No transaction was open. The failed statement's changes are rolled back, and nothing else was affected. The
    /// exception, here and below, is a FAIL rule in a table or trigger: the rows before the failed row are kept.
    case none
    /// The transaction is still open and keeps the changes of earlier statements; the failed statement's changes are
    /// rolled back.
    case untouched
    /// The whole transaction is rolled back; nothing of it is stored.
    case rolledBack
    /// The commit was sent to a cluster, which did not answer: all of the transaction is stored, or nothing.
    case unknown
  }
}

extension SqlError: CustomStringConvertible {
  public var description: String {
    var text = "SqlError.\(kindName)"
    if let label { text += " [\(label)]" }
    text += ": \(message)"
    let column = [table, column].compactMap { $0 }.joined(separator: ".")
    let element = batchIndex.map { "element \($0) of the batch" }
    let parts = [documentPath, column, rowId.map { "row \($0)" }, element].compactMap(\.self)
    let location = parts.filter { !$0.isEmpty }.joined(separator: ", ")
    if !location.isEmpty { text += " (at \(location))" }
    if extendedCode != 0 { text += " (code \(extendedCode))" }
    switch transaction {
    case .none: break
    case .untouched: text += "; the transaction is still open"
    case .rolledBack: text += "; the transaction was rolled back"
    case .unknown: text += "; the transaction was either stored completely, or not at all"
    }
    if let sql { text += "; \(positionInText)in: \(SqlError.shortened(sql, around: offset))" }
    return text
  }

  /// At most 1,000 bytes of a statement, with the place of the failure among them; `sql` has all of it.
  private static func shortened(_ sql: String, around offset: Int?) -> String {
    let (bytes, longest) = (sql.utf8, 1000)
    guard bytes.count > longest else { return sql }
    let center = min(max(offset ?? 0, 0), bytes.count)
    let skipped = center < longest ? 0 : min(center - longest / 2, bytes.count - longest)
    // A character that the cut divides is left out.
    let isContinued = { (byte: UInt8) in byte & 0b1100_0000 == 0b1000_0000 }
    let start = bytes.dropFirst(skipped).drop(while: isContinued).startIndex
    var end = bytes.index(start, offsetBy: longest, limitedBy: bytes.endIndex) ?? bytes.endIndex
    while end < bytes.endIndex, isContinued(bytes[end]) { end = bytes.index(before: end) }
    let part = String(decoding: bytes[start..<end], as: UTF8.self)
    let (before, after) = (start == bytes.startIndex ? "" : "… ", end == bytes.endIndex ? "" : " …")
    return "\(before)\(part)\(after) (\(bytes.count) bytes of SQL)"
  }

  /// `at line 1, column 8 `, both counted from 1.
  private var positionInText: String {
    guard let sql, let offset, offset <= sql.utf8.count else { return "" }
    // By bytes: to Swift, "\r\n" is one character, which is not equal to "\n".
    let lines = sql.utf8.prefix(offset).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let column = lines.last.map { String(decoding: $0, as: UTF8.self).count } ?? 0
    return "at line \(lines.count), column \(column + 1) "
  }

  /// The name of the kind; of the associated values only a constraint is included.
  package var kindName: String {
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
  package static func misuse(_ message: String) -> SqlError {
    SqlError(.misuse(message), message: message)
  }

  /// The error for a statement that has a parameter, and is not prepared.
  package static func unprepared(_ parameter: String) -> SqlError {
    misuse("parameter \(parameter) has no value; use binding(_:), or prepare the statement")
  }

  package static func invalidStatement(_ message: String) -> SqlError {
    SqlError(.invalidStatement(message), message: message)
  }

  /// The error for a value of the wrong type read from the database; its place is added where known.
  @usableFromInline
  package static func decoding(expected: String, found: String) -> SqlError {
    SqlError(
      .decoding(Mismatch(expected: expected, found: found)), message: "expected \(expected), found \(found)")
  }

  /// The error for a value of the wrong type written to the database; its place is added where known.
  @usableFromInline
  package static func encoding(expected: String, found: String) -> SqlError {
    SqlError(
      .encoding(Mismatch(expected: expected, found: found)), message: "expected \(expected), found \(found)")
  }

  /// Returns the error with the handle's label, unless the error has a label.
  package func labelled(_ label: String?) -> SqlError {
    var error = self
    error.label = error.label ?? label
    return error
  }

  /// Returns the error with its place filled in; parts of the place that are known already stay.
  package func at(table: String?, column: String? = nil, rowId: Int? = nil) -> SqlError {
    var error = self
    error.table = error.table ?? table
    error.column = error.column ?? column
    error.rowId = error.rowId ?? rowId
    return error
  }

  /// Returns an error of the library with the fate `.untouched` if a transaction is open. An error that already has a
  /// fate, and a `.handleLost`, stay unchanged.
  func inTransaction(_ isOpen: Bool) -> SqlError {
    guard isOpen, transaction == .none, kind != .handleLost else { return self }
    var error = self
    error.transaction = .untouched
    return error
  }

  package static func message(of error: any Error) -> String { (error as? SqlError)?.message ?? "\(error)" }
}
