// Statements and queries, run on pools: a reader for what reads, the writer for what changes something.

extension Query {
  fileprivate var poolKind: PoolCall.Kind { kind.changesRows ? .write : .read }
}

extension Statement where Output == [Model] {
  /// Reads the rows, or makes the change that returns them.
  @discardableResult
  public func run(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) throws -> [Model] {
    try pool.perform(query.poolKind, at: .init(file: file, line: line)) { db in try run(db) }
  }

  /// Reads the rows, or makes the change that returns them.
  @discardableResult
  public func run(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) async throws -> [Model] {
    try await pool.performStatement(query.poolKind, at: .init(file: file, line: line)) { db in try run(db) }
  }
}

extension Statement where Output == Model? {
  /// Reads the row, or nil when there is none.
  public func run(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) throws -> Model? {
    try pool.perform(query.poolKind, at: .init(file: file, line: line)) { db in try run(db) }
  }

  /// Reads the row, or nil when there is none.
  public func run(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) async throws -> Model? {
    try await pool.performStatement(query.poolKind, at: .init(file: file, line: line)) { db in try run(db) }
  }
}

extension Statement where Output == Bool {
  /// Tells whether there is such a row.
  public func run(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) throws -> Bool {
    try pool.perform(query.poolKind, at: .init(file: file, line: line)) { db in try run(db) }
  }

  /// Tells whether there is such a row.
  public func run(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) async throws -> Bool {
    try await pool.performStatement(query.poolKind, at: .init(file: file, line: line)) { db in try run(db) }
  }
}

extension Statement where Output == Int {
  /// Runs it: a count gives the number of rows, an insert the row's id, an update or delete the number of rows changed.
  @discardableResult
  public func run(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) throws -> Int {
    try pool.perform(query.poolKind, at: .init(file: file, line: line)) { db in try run(db) }
  }

  /// Runs it: a count gives the number of rows, an insert the row's id, an update or delete the number of rows changed.
  @discardableResult
  public func run(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) async throws -> Int {
    try await pool.performStatement(query.poolKind, at: .init(file: file, line: line)) { db in try run(db) }
  }
}

extension Statement where Output == [Int] {
  /// Inserts the rows, all or none, and gives their ids in order.
  @discardableResult
  public func run(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) throws -> [Int] {
    try pool.perform(query.poolKind, at: .init(file: file, line: line)) { db in try run(db) }
  }

  /// Inserts the rows, all or none, and gives their ids in order.
  @discardableResult
  public func run(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) async throws -> [Int] {
    try await pool.performStatement(query.poolKind, at: .init(file: file, line: line)) { db in try run(db) }
  }
}

extension Select {
  /// Reads the rows.
  public func run(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) throws -> [Row] {
    try pool.perform(.read, at: .init(file: file, line: line)) { db in try run(db) }
  }

  /// Reads the first row, or nil when there is none.
  public func first(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) throws -> Row? {
    try pool.perform(.read, at: .init(file: file, line: line)) { db in try first(db) }
  }
}

extension Select {
  /// How many rows the query has.
  public func count(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) throws -> Int {
    try pool.perform(.read, at: .init(file: file, line: line)) { db in try count(db) }
  }

  /// How many rows the query has.
  public func count(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) async throws -> Int {
    try await pool.performStatement(.read, at: .init(file: file, line: line)) { db in try count(db) }
  }
}

extension ToMany {
  /// Reads the rows, each with those that refer to it.
  public func run(
    _ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line
  ) throws -> [(Parent, repeat [each Child])] {
    try pool.perform(.read, at: .init(file: file, line: line)) { db in try run(db) }
  }

  /// Reads the rows, each with those that refer to it.
  public func run(
    _ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line
  ) async throws -> [(Parent, repeat [each Child])] {
    try await pool.performStatement(.read, at: .init(file: file, line: line)) { db in try run(db) }
  }
}

extension Select where Row: Sendable {
  /// Reads the rows.
  public func run(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) async throws -> [Row] {
    try await pool.performStatement(.read, at: .init(file: file, line: line)) { db in try run(db) }
  }

  /// Reads the first row, or nil when there is none.
  public func first(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) async throws -> Row? {
    try await pool.performStatement(.read, at: .init(file: file, line: line)) { db in try first(db) }
  }
}

extension Returning {
  /// Makes the change, and gives what it returns.
  @discardableResult
  public func run(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) throws -> [Row] {
    try pool.perform(.write, at: .init(file: file, line: line)) { db in try run(db) }
  }
}

extension Returning where Row: Sendable {
  /// Makes the change, and gives what it returns.
  @discardableResult
  public func run(_ pool: SqlitePool, file: StaticString = #fileID, line: UInt = #line) async throws -> [Row] {
    try await pool.performStatement(.write, at: .init(file: file, line: line)) { db in try run(db) }
  }
}
