import SqlableCore
import SqlableQueries

extension Statement where Output == [Model] {
  /// Returns a live result: the current rows, and new rows after every commit that could change the result.
  ///
  /// ```swift
  /// for try await bikes in Bicycle.read().filter(Bicycle.color == "red").updates(in: pool) { show(bikes) }
  /// ```
  ///
  /// A commit can change the result if the commit inserts or deletes rows, or changes a column that the statement
  /// reads. If the filter shows that no changed row was or is in the result, the pool ignores the commit.
  ///
  /// In the following cases the pool can't use the filter, and reads again after every commit that can change the
  /// result:
  ///
  /// - The filter has a subquery, SQL text, CASE, a cast, or functions other than `lower`, `upper`, `length` and `abs`.
  /// - The table has a column of type ANY or a VIRTUAL generated column, or the file's texts are UTF-16.
  /// - The commit changes more than 256 rows of the table, or rows with more than 1 MiB of texts and blobs.
  /// - The commit changes more than 32 rows for which SQLite must evaluate the filter.
  ///
  /// Schema changes, and commits of other processes to tables without a change log, trigger a new read.
  ///
  /// If the statement is ordered by columns and has a limit, the pool also ignores a commit that changes only rows
  /// after a full page.
  ///
  /// The pool reads the rows when a loop requests them, once for all loops over equal statements. A slow loop blocks
  /// nothing, and receives one result for all commits in between. A result always includes the commit that triggered
  /// the read. The sequence ends when the pool closes. The sequence throws read errors, `CancellationError`, and
  /// `.invalidStatement` for a statement that writes.
  ///
  /// With `onlyChanges`, the sequence skips a result that equals the previous result. For this comparison, each loop
  /// stores the previous result as bytes.
  public func updates(
    in database: some LocalDatabase, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) -> LiveQuery<[Model]> {
    LiveQuery(
      database,
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
  /// Returns a live result: the current row or nil, and a new value after every commit that could change the row.
  public func updates(
    in database: some LocalDatabase, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) -> LiveQuery<Model?> {
    LiveQuery(
      database,
      source(onlyChanges, .init(file: file, line: line)) { reading, notes in
        guard try reading.step() else { return nil }
        notes.add(reading.statement)
        return try reading.row.model()
      })
  }
}

extension Statement where Output == Int {
  /// Returns a live result: the current number of rows, and a new number after every commit that could change the
  /// count.
  public func updates(
    in database: some LocalDatabase, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) -> LiveQuery<Int> {
    LiveQuery(
      database,
      source(onlyChanges, .init(file: file, line: line)) { reading, notes in
        guard try reading.step() else { return 0 }
        notes.add(reading.statement)
        return Int(reading.statement.integer(at: 0))
      })
  }
}

extension Statement where Output == Bool {
  /// Returns a live result: true if a row exists, and a new value after every commit that could change the answer.
  public func updates(
    in database: some LocalDatabase, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) -> LiveQuery<Bool> {
    LiveQuery(
      database,
      source(onlyChanges, .init(file: file, line: line)) { reading, notes in
        guard try reading.step() else { return false }
        notes.add(reading.statement)
        return reading.statement.integer(at: 0) != 0
      })
  }
}

extension Select where Row: Sendable {
  /// Returns a live result: the current rows, and new rows after every commit that could change the result.
  ///
  /// Filters are not evaluated for changed rows.
  public func updates(
    in database: some LocalDatabase, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
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
    return LiveQuery(database, source)
  }
}

extension SqlRows where Row: Sendable {
  /// Returns a live result of SQL text: the current rows, and new rows after every commit that could change the result.
  ///
  /// ```swift
  /// let names = SQL("SELECT name FROM bicycle WHERE color = \(color)").rows(as: String.self)
  /// for try await reds in names.updates(in: pool) { show(reds) }
  /// ```
  ///
  /// The pool ignores a commit that changes no table or column that the SQL reads. Conditions are not evaluated for
  /// changed rows. Loops over equal texts with equal values and one type of rows share their reads. The sequence throws
  /// `.invalidStatement` for SQL other than a query, and the errors of running the query.
  public func updates(
    in database: some LocalDatabase, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) -> LiveQuery<[Row]> {
    let source = LiveQuerySource<[Row]>(
      key: .init(key, [Row].self, onlyChanges: onlyChanges), callSite: .init(file: file, line: line),
      onlyChanges: onlyChanges, texts: { [try followed] },
      filtered: { nil },
      rows: { db, notes in try read(db) { notes.add($0) } })
    return LiveQuery(database, source)
  }
}

extension AssociatedQuery {
  /// Returns a live result: the current rows with their associated rows, and new rows after every commit that could
  /// change the result.
  public func updates(
    in database: some LocalDatabase, file: StaticString = #fileID, line: UInt = #line
  ) -> LiveQuery<[(Root, repeat each Part)]> {
    LiveQuery(database, LiveQuerySource(of: self, .init(file: file, line: line)))
  }
}

extension StatementTree {
  /// The query of the live result; throws for a statement that is not a query.
  package var followed: SelectQuery {
    get throws {
      if case .select(let query) = self { return query }
      throw SqlError.invalidStatement("a statement that writes has no live result")
    }
  }
}

extension Statement {
  /// Returns the source of the statement's live result. `rows` reads the rows of one run, while the handle is locked.
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
