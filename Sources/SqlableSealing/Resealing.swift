#if Crypto
import FoundationEssentials
import Sqlable

/// The progress of a key rotation.
public struct ResealProgress: Sendable, Hashable {
  /// The number of rows read so far.
  public internal(set) var rows = 0
  /// The number of values resealed so far.
  public internal(set) var resealed = 0
  /// True if the last row was reached.
  public internal(set) var isDone = false
}

extension SqliteDatabase {
  /// Reseals the values of a column with the ring's current key, in transactions of `rows` rows.
  ///
  /// ```swift
  /// let keys = try KeyRing(newKey, older: [oldKey])
  /// try db.reseal(Patient.diagnosis, with: keys) { progress in print(progress.rows) }
  /// // SELECT rowid, "diagnosis" FROM "patient" WHERE (rowid) > (?) ORDER BY rowid LIMIT 500
  /// // UPDATE "patient" SET "diagnosis" = ? WHERE (rowid) = (?)
  /// ```
  ///
  /// Rows are read in the order of the rowid, or of the primary key if there is no rowid. A value that the current key
  /// has sealed does not change. After an error or a crash, a second call therefore continues the rotation. A value of
  /// the other form, ``Sealed`` or ``Sealed/Deterministic``, is converted to the column's form. NULL stays NULL.
  /// Triggers run, and observers are notified of updates.
  ///
  /// After the rotation, no value of the column needs an older key, unless a program with an older key ring still
  /// writes. Rows in backups still need the older keys.
  ///
  /// Throws the errors of opening a value, with table, column and row, and `.misuse` if `rows` is less than 1.
  /// Transactions before the error stay committed. Inside an open transaction, the whole rotation belongs to that
  /// transaction.
  ///
  /// - Parameters:
  ///   - rows: The number of rows that a transaction reads.
  ///   - earlierPlace: The earlier names of the column and its table. Values that were sealed under these names can
  ///     then be opened.
  ///   - progress: Called after each transaction. If the closure throws, the rotation ends.
  @discardableResult
  public func reseal<Model, Value: SealedCell>(
    _ column: TypedColumn<Model, Value>, with keys: KeyRing, rows: Int = 500, from earlierPlace: SealedPlace? = nil,
    progress: (ResealProgress) throws -> Void = { _ in }
  ) throws -> ResealProgress {
    try ResealRun(column, keys, rows, earlierPlace).all(progress) { run in try transaction { db in try run.next(db) } }
  }
}

extension SqlitePool {
  /// Reseals the values of a column with the ring's current key. Other writes can run between the rotation's
  /// transactions; see ``SqliteDatabase/reseal(_:with:rows:from:progress:)``. Blocks the thread.
  @discardableResult
  public func reseal<Model, Value: SealedCell>(
    _ column: TypedColumn<Model, Value>, with keys: KeyRing, rows: Int = 500, from earlierPlace: SealedPlace? = nil,
    file: StaticString = #fileID, line: UInt = #line, progress: (ResealProgress) throws -> Void = { _ in }
  ) throws -> ResealProgress {
    try ResealRun(column, keys, rows, earlierPlace).all(progress) { run in
      try transaction(file: file, line: line) { db in try run.next(db) }
    }
  }

  /// Reseals the values of a column with the ring's current key, without blocking the thread. `progress` should not
  /// block the thread either.
  ///
  /// Throws `CancellationError` if the task is cancelled; earlier transactions stay committed.
  @discardableResult
  public func reseal<Model, Value: SealedCell>(
    _ column: TypedColumn<Model, Value>, with keys: KeyRing, rows: Int = 500, from earlierPlace: SealedPlace? = nil,
    file: StaticString = #fileID, line: UInt = #line, progress: @Sendable (ResealProgress) throws -> Void = { _ in }
  ) async throws -> ResealProgress {
    var run = try ResealRun(column, keys, rows, earlierPlace)
    while !run.progress.isDone {
      run = try await transaction(file: file, line: line) { [run] db in try run.next(db) }
      try progress(run.progress)
    }
    return run.progress
  }
}

private struct ResealRun: Sendable {
  private let sealedPlace: SealedPlace
  private let earlierPlace: SealedPlace?
  private let isDeterministic: Bool
  private let keys: KeyRing
  private let limit: Int
  /// The SQL names of the columns that identify a row.
  private var names: [String] = []
  /// The values of `names` in the last row read; empty before the first row.
  private var position: [DatabaseValue] = []
  private(set) var progress = ResealProgress()

  init<Model, Value: SealedCell>(
    _ column: TypedColumn<Model, Value>, _ keys: KeyRing, _ limit: Int, _ earlierPlace: SealedPlace?
  ) throws {
    guard limit > 0 else {
      throw SqlError.misuse("the argument `rows` of reseal must be at least 1")
    }
    (sealedPlace, isDeterministic) = (column.sealedPlace, Value.isDeterministic)
    (self.keys, self.limit, self.earlierPlace) = (keys, limit, earlierPlace)
  }

  func all(
    _ progress: (ResealProgress) throws -> Void, _ step: (ResealRun) throws -> ResealRun
  ) throws -> ResealProgress {
    var run = self
    while !run.progress.isDone {
      run = try step(run)
      try progress(run.progress)
    }
    return run.progress
  }

  /// Reads the next rows and reseals their values; call inside a transaction.
  func next(_ db: SqliteDatabase) throws -> ResealRun {
    var run = self
    if run.names.isEmpty { run.names = try db.running { try $0.rowNames(ofTable: sealedPlace.table) } }
    let rows = try db.query(run.page) { row in
      try (0...run.names.count).map { try row.get(at: $0, as: StoredCell.self).databaseValue }
    }
    for row in rows {
      run.position = Array(row.dropLast())
      do {
        guard case .blob(let bytes)? = row.last else {
          guard row.last != .null else { continue }
          throw SqlError.decoding(expected: "a sealed value", found: "\(row.last?.storageClass ?? .null)")
        }
        guard let sealed = try reseal(bytes) else { continue }
        try db.execute(run.update(to: sealed))
        run.progress.resealed += 1
      } catch let error as SqlError {
        guard error.rowId == nil, run.position.count == 1, case .integer(let id)? = run.position.first else {
          throw sealedPlace.located(error)
        }
        var located = sealedPlace.located(error)
        located.rowId = Int(id)
        throw located
      }
    }
    run.progress.rows += rows.count
    run.progress.isDone = rows.count < limit
    return run
  }

  private func reseal(_ bytes: Data) throws -> Data? {
    let bytes = try SealedForm.checked(bytes, isDeterministic: nil)
    let isCurrent =
      SealedForm.keyId(of: bytes) == keys.current.id && SealedForm.isDeterministic(bytes) == isDeterministic
    guard let earlierPlace else {
      guard !isCurrent else { return nil }
      return try seal(SealedForm.open(bytes, in: sealedPlace, with: keys))
    }
    do {
      let content = try SealedForm.open(bytes, in: sealedPlace, with: keys)
      return isCurrent ? nil : try seal(content)
    } catch let error as SqlError where error.kind == .notAuthentic {
      return try seal(SealedForm.open(bytes, in: earlierPlace, with: keys))
    }
  }

  private func seal(_ content: Data) throws -> Data {
    try SealedForm.seal(content, in: sealedPlace, by: keys.current, isDeterministic: isDeterministic)
  }

  private var page: SQL {
    var sql = SQL.StringInterpolation(literalCapacity: 0, interpolationCount: 0)
    let key = names.joined(separator: ", ")
    sql.appendLiteral("SELECT \(key), ")
    sql.appendInterpolation(column: sealedPlace.column)
    sql.appendLiteral(" FROM ")
    sql.appendInterpolation(table: sealedPlace.table)
    if !position.isEmpty {
      sql.appendLiteral(" WHERE (\(key)) > (")
      sql.appendInterpolation(position)
      sql.appendLiteral(")")
    }
    sql.appendLiteral(" ORDER BY \(key) LIMIT \(limit)")
    return SQL(stringInterpolation: sql)
  }

  private func update(to bytes: Data) -> SQL {
    var sql = SQL.StringInterpolation(literalCapacity: 0, interpolationCount: 0)
    sql.appendLiteral("UPDATE ")
    sql.appendInterpolation(table: sealedPlace.table)
    sql.appendLiteral(" SET ")
    sql.appendInterpolation(column: sealedPlace.column)
    sql.appendLiteral(" = ")
    sql.appendInterpolation(bytes)
    sql.appendLiteral(" WHERE (\(names.joined(separator: ", "))) = (")
    sql.appendInterpolation(position)
    sql.appendLiteral(")")
    return SQL(stringInterpolation: sql)
  }
}

private struct StoredCell: SqlValue {
  let databaseValue: DatabaseValue
  static let columnType = ColumnType.nullable(.blob)
}

extension Connection {
  /// Returns the SQL names of columns that identify a row and are never NULL: a name of the rowid, or the primary key.
  fileprivate func rowNames(ofTable name: String) throws -> [String] {
    let shape = try keyShape(ofTable: name)
    if !shape.isWithoutRowid, let rowid = String.rowidName(avoiding: shape.row.names) { return [rowid] }
    guard !shape.names.isEmpty else {
      throw SqlError(
        .schema(.missingTable(name)), message: "table \(name) does not exist, or has no rowid or primary key")
    }
    return shape.names
  }
}
#endif
