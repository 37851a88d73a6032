// Statements and queries whose results follow what is committed.

extension Statement where Output == [Model] {
  /// The rows, at once, and again after every commit that could change them.
  ///
  /// ```swift
  /// for try await bikes in Bicycle.read().filter(Bicycle.color == "red").updates(in: pool) { show(bikes) }
  /// ```
  ///
  /// A commit could when it changed a column that the statement reads, or rows came or went; not when its filter says
  /// that none of the changed rows was or is among them. Filters with subqueries and functions, and commits of more
  /// than 256 rows of the table, or of 32 that the values it demands leave open, are not asked. Commits of other
  /// processes, and changes of the schema, always could.
  ///
  /// With an order of columns and a limit, neither could a commit that changed rows behind a full page only.
  ///
  /// The rows are read when loops ask for them, once for all loops over equal statements. A slow loop holds up nobody,
  /// and gets the latest of what it slept through, in one. What it gets is never older than the commit that caused it.
  /// It ends with the loop, and when the pool is closed; an error of reading comes out, and so does
  /// `CancellationError`. A statement that changes something throws `.invalidStatement`.
  ///
  /// - Parameter onlyChanges: Whether a result that is the same as the one before it is left out. The one before it is
  ///   kept for that, as bytes.
  public func updates(
    in pool: SqlitePool, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) -> Updates<[Model]> {
    Updates(
      pool,
      source(onlyChanges, .init(file: file, line: line)) { reading, notes in
        var models: [Model] = []
        while try reading.step() {
          notes.add(reading.statement)
          models.append(try Model(row: reading.row))
        }
        return models
      })
  }
}

extension Statement where Output == Model? {
  /// The row, or nil when there is none, at once, and again after every commit that could change it.
  public func updates(
    in pool: SqlitePool, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) -> Updates<Model?> {
    Updates(
      pool,
      source(onlyChanges, .init(file: file, line: line)) { reading, notes in
        guard try reading.step() else { return nil }
        notes.add(reading.statement)
        return try Model(row: reading.row)
      })
  }
}

extension Statement where Output == Int {
  /// The number of rows, at once, and again after every commit that could change it.
  public func updates(
    in pool: SqlitePool, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) -> Updates<Int> {
    Updates(
      pool,
      source(onlyChanges, .init(file: file, line: line)) { reading, notes in
        guard try reading.step() else { return 0 }
        notes.add(reading.statement)
        return Int(reading.statement.integer(at: 0))
      })
  }
}

extension Statement where Output == Bool {
  /// Whether there is such a row, at once, and again after every commit that could change it.
  public func updates(
    in pool: SqlitePool, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) -> Updates<Bool> {
    Updates(
      pool,
      source(onlyChanges, .init(file: file, line: line)) { reading, notes in
        guard try reading.step() else { return false }
        notes.add(reading.statement)
        return reading.statement.integer(at: 0) != 0
      })
  }
}

extension Select where Row: Sendable {
  /// The rows, at once, and again after every commit that could change them; a filter is not asked.
  public func updates(
    in pool: SqlitePool, onlyChanges: Bool = false, file: StaticString = #fileID, line: UInt = #line
  ) -> Updates<[Row]> {
    let source = ResultSource<[Row]>(
      key: .init(self, [Row].self, onlyChanges: onlyChanges), place: .init(file: file, line: line),
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
    return Updates(pool, source)
  }
}

extension ToMany {
  /// The rows with those that refer to them, at once, and again after every commit that could change them.
  public func updates(
    in pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line
  ) -> Updates<[(Parent, repeat [each Child])]> {
    let source = ResultSource<[(Parent, repeat [each Child])]>(
      key: .init(self, [(Parent, repeat [each Child])].self, onlyChanges: false), place: .init(file: file, line: line),
      onlyChanges: false,
      texts: {
        var texts = [try parents.withValues().sql]
        for child in repeat each children { texts.append(try child.statement.withValues().sql) }
        return texts
      },
      filtered: { nil },
      rows: { db, _ in try run(db) })
    return Updates(pool, source)
  }
}

extension Statement {
  /// The read whose result is followed.
  private var followed: SelectQuery {
    get throws {
      if case .select(let query) = tree { return query }
      throw SqlError.invalidStatement("a statement that changes something has no result to follow")
    }
  }

  /// How a read is read again; `rows` gets it with the handle's lock held, before its first row.
  fileprivate func source<Value>(
    _ onlyChanges: Bool, _ place: PoolCall.CallSite,
    _ rows: @escaping @Sendable (StatementRun, inout ResultNotes) throws -> Value
  ) -> ResultSource<Value> {
    ResultSource(
      key: .init(self, Value.self, onlyChanges: onlyChanges), place: place, onlyChanges: onlyChanges,
      texts: {
        _ = try followed
        return [try withValues().sql]
      },
      filtered: { try followed },
      rows: { db, notes in
        let reading = try db.beginReading(modelsOf: followed)
        defer { db.endReading(reading) }
        return try rows(reading, &notes)
      })
  }
}
