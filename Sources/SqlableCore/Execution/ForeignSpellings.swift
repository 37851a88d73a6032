// Calls in the spelling of other libraries, above all GRDB. All are unavailable, and the compiler's error shows this
// library's spelling.

extension Statement {
  @available(*, unavailable, renamed: "filter(_:)")
  public consuming func `where`(_ condition: some SqlCondition) -> Statement { self }
}

extension Select {
  @available(*, unavailable, renamed: "filter(_:)")
  public consuming func `where`(_ condition: some SqlCondition) -> Select { self }
}

extension SelectStatement {
  @available(*, unavailable, renamed: "orderBy(_:)")
  public consuming func order<each Item: OrderingTerm>(_ item: repeat each Item) -> Select<Row> { asSelect() }

  @available(*, unavailable, renamed: "run(_:)")
  public func fetchAll(_ db: SqliteDatabase) throws -> [Row] { [] }

  @available(*, unavailable, renamed: "first(_:)")
  public func fetchOne(_ db: SqliteDatabase) throws -> Row? { nil }

  @available(*, unavailable, renamed: "count(_:)")
  public func fetchCount(_ db: SqliteDatabase) throws -> Int { 0 }
}

extension Sqlable {
  @available(*, unavailable, renamed: "read(_:)")
  public static func filter(_ condition: some SqlCondition) -> Statement<Self, [Self]> { read() }

  @available(*, unavailable, message: "use read().run(db)")
  public static func fetchAll(_ db: SqliteDatabase) throws -> [Self] { [] }

  @available(*, unavailable, message: "use byId(key).run(db), or read().first(db) for the first row")
  public static func fetchOne(_ db: SqliteDatabase, key: (any SqlValue)? = nil) throws -> Self? { nil }

  @available(*, unavailable, message: "use count().run(db)")
  public static func fetchCount(_ db: SqliteDatabase) throws -> Int { 0 }

  @available(*, unavailable, message: "use insert().run(db)")
  @discardableResult
  public func insert(_ db: SqliteDatabase) throws -> Int { 0 }

  @available(*, unavailable, message: "use update().run(db)")
  public func update(_ db: SqliteDatabase) throws {}

  @available(*, unavailable, message: "use save().run(db)")
  public func save(_ db: SqliteDatabase) throws {}

  @available(*, unavailable, message: "use delete().run(db)")
  public func delete(_ db: SqliteDatabase) throws {}
}

extension SqlDatabase {
  @available(*, unavailable, renamed: "transaction(_:)")
  @discardableResult
  public func write<Value>(_ body: (SqliteDatabase) throws -> Value) throws -> Value {
    try transaction { try body($0) }
  }

  @available(*, unavailable, renamed: "transaction(_:)")
  @discardableResult
  public func write<Value: Sendable>(_ body: @Sendable (SqliteDatabase) throws -> Value) async throws -> Value {
    try transaction { try body($0) }
  }
}
