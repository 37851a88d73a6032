/// The only error type of this library, with the kind of failure, its location and the state of the transaction.
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
  /// The kind of the failure, for a `switch`.
  public var kind: Kind {
    get { details.kind }
    set { details.kind = newValue }
  }
  /// SQLite's primary result code (`SQLITE_BUSY` is 5); 0 if the error does not come from SQLite.
  public var code: Int {
    get { details.code }
    set { details.code = newValue }
  }
  /// SQLite's extended result code (`SQLITE_CONSTRAINT_UNIQUE` is 2067); 0 if the error does not come from SQLite.
  public var extendedCode: Int {
    get { details.extendedCode }
    set { details.extendedCode = newValue }
  }
  /// The description of the failure, in one sentence.
  public var message: String {
    get { details.message }
    set { details.message = newValue }
  }
  /// The statement that failed, with `?` for every bound value.
  public var sql: String? {
    get { details.sql }
    set { details.sql = newValue }
  }
  /// The UTF-8 byte offset in `sql` of the text that SQLite could not parse, if known. SQLite reports the offset since
  /// 3.38.
  public var offset: Int? {
    get { details.offset }
    set { details.offset = newValue }
  }
  /// The table that caused the failure, if known.
  public var table: String? {
    get { details.table }
    set { details.table = newValue }
  }
  /// The column that caused the failure, if known.
  public var column: String? {
    get { details.column }
    set { details.column = newValue }
  }
  /// The id of the row that caused the failure, if known.
  public var rowId: Int? {
    get { details.rowId }
    set { details.rowId = newValue }
  }
  /// The index of the failed struct in a batch; nil if the statement is not a batch.
  public var batchIndex: Int? {
    get { details.batchIndex }
    set { details.batchIndex = newValue }
  }
  /// The location of the failure in a decoded document: `read.where.and[1]`.
  public var documentPath: String? {
    get { details.documentPath }
    set { details.documentPath = newValue }
  }
  /// The fate of the transaction that was open when the error occurred.
  public var transaction: TransactionFate {
    get { details.transaction }
    set { details.transaction = newValue }
  }
  /// The label in the handle's `Configuration`.
  public var label: String? {
    get { details.label }
    set { details.label = newValue }
  }
  var isTraced: TracedMark {
    get { details.isTraced }
    set { details.isTraced = newValue }
  }
  private var box: Box

  // Not inlined: errors are created in hundreds of places, and inlining would repeat this code in each of them.
  @inline(never)
  package init(_ kind: Kind, message: String) {
    self.init(kind, message: message, code: 0)
  }

  @inline(never)
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
    box = Box(
      Details(
        kind: kind, code: code, extendedCode: extendedCode, message: message, sql: sql, offset: offset, table: table,
        column: column, rowId: rowId, batchIndex: batchIndex, documentPath: documentPath, transaction: transaction,
        label: label))
  }

  /// True if a retry can succeed, because another connection held a lock or a cluster had no leader.
  ///
  /// If `transaction` is `.untouched`, retry only the statement. If `transaction` is `.rolledBack`, retry the whole
  /// transaction. Also retry the whole transaction for `extendedCode` 517 in a deferred transaction. That transaction
  /// could not write, because another connection has written since the transaction's first read.
  ///
  /// Outside a transaction, 517 occurs in a loop over rows of the same handle, if another connection has committed
  /// since the loop started. No retry can succeed until the loop ends, so this property is false.
  public var isRetryable: Bool {
    kind == .unavailable || kind == .busy && !(extendedCode == 517 && transaction == .none)
  }
}

// An error has the size of one pointer, because every statement stores an optional error.
extension SqlError {
  private struct Details: Sendable, Hashable {
    var kind: Kind
    var code: Int
    var extendedCode: Int
    var message: String
    var sql: String?
    var offset: Int?
    var table: String?
    var column: String?
    var rowId: Int?
    var batchIndex: Int?
    var documentPath: String?
    var transaction: TransactionFate
    var label: String?
    var isTraced = TracedMark()
  }

  /// `@unchecked Sendable` is sound: the details are changed only through a unique reference.
  private final class Box: @unchecked Sendable {
    @exclusivity(unchecked) var details: Details

    init(_ details: Details) { self.details = details }
  }

  private var details: Details {
    _read { yield box.details }
    _modify {
      if !isKnownUniquelyReferenced(&box) { copyBox() }
      yield &box.details
    }
  }

  @inline(never)
  private mutating func copyBox() { box = Box(box.details) }

  public static func == (left: SqlError, right: SqlError) -> Bool {
    left.box === right.box || left.details == right.details
  }

  public func hash(into hasher: inout Hasher) { hasher.combine(details) }
}

extension Error {
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
    /// Another connection held a lock for too long, or wrote after the first read of a deferred transaction.
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
    /// The file is not an SQLite database, or has a format that this version of SQLite does not support.
    case notADatabase
    /// The handle's key or cipher settings do not match the file, or the file is not encrypted. Also thrown if the key
    /// ring lacks the key of a sealed value.
    case wrongKey
    /// A sealed value fails authentication. The value was sealed by another key with the same number, belongs to
    /// another column, or was changed.
    case notAuthentic
    /// The statement was interrupted.
    case interrupted
    /// A deadline passed.
    case timeout
    /// A cluster had no leader within the call's time limit, or lost its leader too often. The call stored no change.
    case unavailable
    /// A cluster did not answer after the commit was sent. The transaction might be stored or not. The library never
    /// retries such a commit automatically; `transaction(id:)` makes a retry safe.
    case outcomeUnknown
    /// The schema of the database differs from the model.
    case schema(SchemaProblem)
    /// A stored value can't be read as the expected Swift type.
    case decoding(Mismatch)
    /// A Swift value can't be stored in the column.
    case encoding(Mismatch)
    /// A required row does not exist, or a row for a dictionary has a NULL key.
    case notFound
    /// A result has several rows where one is allowed, or several rows with the same key.
    case notUnique
    /// The statement is invalid, for the given reason, and has stored no change.
    case invalidStatement(String)
    /// SQLite could not parse the statement.
    case syntax
    /// A value or a row exceeds SQLite's size limit.
    case tooBig
    /// SQLite ran out of memory.
    case outOfMemory
    /// The library was called incorrectly, for the given reason.
    case misuse(String)
    /// The handle or pool is closed.
    case closed
    /// SQLite could not roll back the handle's transaction, and has stored nothing of this transaction. Close the
    /// handle and open a new handle.
    case handleLost
    /// The change log can't continue from a position, or a consumer lost its lease.
    case changeLog(ChangeLogProblem)
    /// The name of a tenant is invalid, or the tenant is missing, exists already or was deleted.
    case tenant(TenantProblem)
    /// Any other SQLite error, such as an error of a built-in function; see `code` and `message`.
    case other
  }

  public enum Constraint: Sendable, Hashable {
    case unique, primaryKey, foreignKey, notNull, check, rowId, trigger, dataType, other
  }

  public enum SchemaProblem: Sendable, Hashable {
    case missingTable(String)
    case missingColumn(String)
    /// The model and the database differ in another way, or the schema uses something that the handle rejects
    /// (``Configuration/trustsSchema``).
    case mismatch(String)
  }

  /// Two types that do not match. Contains names of types and storage classes, but no values.
  public struct Mismatch: Sendable, Hashable {
    public var expected: String
    public var found: String

    public init(expected: String, found: String) {
      self.expected = expected
      self.found = found
    }
  }

  public enum TransactionFate: Sendable, Hashable {
    /// No transaction was open. The failed statement's changes are rolled back. But if the statement, a table or a
    /// trigger uses the conflict policy FAIL, the changes to rows before the failed row are kept. This exception also
    /// applies to `untouched`.
    case none
    /// The transaction is still open and contains the changes of earlier statements. The failed statement's changes are
    /// rolled back.
    case untouched
    /// The whole transaction is rolled back.
    case rolledBack
    /// Either the whole transaction is stored, or nothing. A cluster did not answer after the commit was sent, or the
    /// disk failed while SQLite synced the commit or released the lock (`.io`).
    case unknown
  }
}

extension SqlError {
  @inline(never)
  package static func misuse(_ message: String) -> SqlError {
    SqlError(.misuse(message), message: message)
  }

  package static func unprepared(_ parameter: String) -> SqlError {
    misuse("parameter \(parameter) has no value; use binding(_:), or prepare the statement")
  }

  @inline(never)
  package static func invalidStatement(_ message: String) -> SqlError {
    SqlError(.invalidStatement(message), message: message)
  }

  /// Returns the error for a stored value of the wrong type. The caller adds the location.
  @usableFromInline
  @inline(never)
  package static func decoding(expected: String, found: String) -> SqlError {
    SqlError(
      .decoding(Mismatch(expected: expected, found: found)), message: "expected \(expected), found \(found)")
  }

  /// Returns the error for a Swift value of the wrong type. The caller adds the location.
  @usableFromInline
  @inline(never)
  package static func encoding(expected: String, found: String) -> SqlError {
    SqlError(
      .encoding(Mismatch(expected: expected, found: found)), message: "expected \(expected), found \(found)")
  }

  /// Returns the error with the handle's label, unless the error has a label.
  @inline(never)
  package func labelled(_ label: String?) -> SqlError {
    var error = self
    error.label = error.label ?? label
    return error
  }

  /// Returns the error with its location. Parts of the location that are already known are not replaced.
  package func at(table: String?, column: String? = nil, rowId: Int? = nil) -> SqlError {
    var error = self
    error.table = error.table ?? table
    error.column = error.column ?? column
    error.rowId = error.rowId ?? rowId
    return error
  }

  /// Returns the error with the fate `.untouched` if a transaction is open. An error that already has a fate, and the
  /// error `.handleLost`, are returned unchanged.
  func inTransaction(_ isOpen: Bool) -> SqlError {
    guard isOpen, transaction == .none, kind != .handleLost else { return self }
    var error = self
    error.transaction = .untouched
    return error
  }

  package static func message(of error: any Error) -> String { (error as? SqlError)?.message ?? "\(error)" }
}
