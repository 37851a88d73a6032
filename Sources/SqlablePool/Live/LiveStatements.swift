// Live results of statements and queries.

import SqlableCore
import SqlableQueries

extension Statement where Output == [Model] {
  /// Returns a live result: the rows, at once and again after every commit that could change them.
  ///
  /// ```swift
  /// for try await bikes in Bicycle.read().filter(Bicycle.color == "red").updates(in: pool) { show(bikes) }
  /// ```
  ///
  /// A commit counts if it changes a column that the statement reads, or inserts or deletes rows, unless the filter
  /// shows that no changed row was or is in the result. The filter is not evaluated, and the commit counts, if the
  /// filter has subqueries or functions other than `lower`, `upper`, `length` and `abs`, or if the commit changes more
  /// than 256 rows of the table, or more than 32 that the filter's equalities don't decide. Commits of other processes
  /// and schema changes always count.
  ///
  /// With an order of columns and a limit, a commit that changes only rows behind a full page does not count.
  ///
  /// The rows are read when a loop asks for them, once for all loops over equal statements. A slow loop blocks nothing,
  /// and gets one result for all commits in between. A result is never older than the commit that caused it. The
  /// sequence ends when the pool is closed. It throws read errors and `CancellationError`, and `.invalidStatement` for
  /// a statement that writes.
  ///
  /// With `onlyChanges` it skips a result that equals the previous one, which is kept for that as bytes.
  public func updates(
    in pool: SqlitePool, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) -> LiveQuery<[Model]> {
    LiveQuery(
      pool,
      source(onlyChanges, .init(file: file, line: line)) { reading, notes in
        var models: [Model] = []
        while try reading.step() {
          notes.add(reading.statement)
          models.append(try reading.row.model())
        }
        return models
      })
  }
}

extension Statement where Output == Model? {
  /// Returns a live result: the row, or nil if there is none, at once and again after every commit that could change
  /// it.
  public func updates(
    in pool: SqlitePool, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) -> LiveQuery<Model?> {
    LiveQuery(
      pool,
      source(onlyChanges, .init(file: file, line: line)) { reading, notes in
        guard try reading.step() else { return nil }
        notes.add(reading.statement)
        return try reading.row.model()
      })
  }
}

extension Statement where Output == Int {
  /// Returns a live result: the number of rows, at once and again after every commit that could change it.
  public func updates(
    in pool: SqlitePool, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) -> LiveQuery<Int> {
    LiveQuery(
      pool,
      source(onlyChanges, .init(file: file, line: line)) { reading, notes in
        guard try reading.step() else { return 0 }
        notes.add(reading.statement)
        return Int(reading.statement.integer(at: 0))
      })
  }
}

extension Statement where Output == Bool {
  /// Returns a live result: whether there is such a row, at once and again after every commit that could change it.
  public func updates(
    in pool: SqlitePool, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) -> LiveQuery<Bool> {
    LiveQuery(
      pool,
      source(onlyChanges, .init(file: file, line: line)) { reading, notes in
        guard try reading.step() else { return false }
        notes.add(reading.statement)
        return reading.statement.integer(at: 0) != 0
      })
  }
}

extension Select where Row: Sendable {
  /// Returns a live result: the rows, at once and again after every commit that could change them. Filters are not
  /// evaluated for changed rows.
  public func updates(
    in pool: SqlitePool, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) -> LiveQuery<[Row]> {
    let source = LiveQuerySource<[Row]>(
      key: .init(self, [Row].self, onlyChanges: onlyChanges), callSite: .init(file: file, line: line),
      onlyChanges: onlyChanges, texts: { [try query.withValues().sql] },
      filtered: { nil },
      rows: { db, notes in
        let reading = try db.beginReading(query)
        defer { db.endReading(reading.rows) }
        var rows: [Row] = []
        while let row = try reading.next(read) {
          notes.add(reading.rows.statement)
          rows.append(row)
        }
        return rows
      })
    return LiveQuery(pool, source)
  }
}

extension AssociatedQuery {
  /// Returns a live result: the rows with what belongs to them, at once and again after every commit that could change
  /// them.
  public func updates(
    in pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line
  ) -> LiveQuery<[(Root, repeat each Part)]> {
    LiveQuery(pool, LiveQuerySource(of: self, .init(file: file, line: line)))
  }
}

extension StatementTree {
  /// The query of the live result.
  package var followed: SelectQuery {
    get throws {
      if case .select(let query) = self { return query }
      throw SqlError.invalidStatement("a statement that writes has no live result")
    }
  }
}

extension Statement {
  /// Returns the source of the live result; `rows` is called with the handle's lock held, before the first row.
  fileprivate func source<Value>(
    _ onlyChanges: Bool, _ callSite: CallSite,
    _ rows: @escaping @Sendable (StatementRun, inout LiveQueryNotes) throws -> Value
  ) -> LiveQuerySource<Value> {
    LiveQuerySource(
      key: .init(self, Value.self, onlyChanges: onlyChanges), callSite: callSite, onlyChanges: onlyChanges,
      texts: {
        _ = try tree.followed
        return [try withValues().sql]
      },
      filtered: { try tree.followed },
      rows: { db, notes in
        let reading = try db.beginReading(modelsOf: tree.followed)
        defer { db.endReading(reading) }
        return try rows(reading, &notes)
      })
  }
}
