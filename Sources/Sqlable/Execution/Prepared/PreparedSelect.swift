// Queries that stay compiled, like ``Prepared`` statements.

/// A query that stays compiled for one handle, and runs with other values each time.
///
/// ```swift
/// let dear = try db.prepare(Car.select(Car.name, Car.price).filter(Car.price > Parameter("least")))
/// let rows = try dear.run(50_000)     // [(String, Double)]
/// ```
///
/// Everything said about ``Prepared`` applies.
public final class PreparedSelect<Row> {
  @usableFromInline let core: PreparedSelectCore
  @usableFromInline let read: @Sendable (inout ResultRow) throws -> Row

  init(_ core: PreparedSelectCore, _ read: @escaping @Sendable (inout ResultRow) throws -> Row) {
    self.core = core
    self.read = read
  }

  /// The names of the parameters, in order of first mention.
  public var parameterNames: [String] { core.core.names }

  /// The SQL, with `?` for every value.
  public var sql: String { core.core.sql }
}

extension SqliteDatabase {
  /// Compiles a query once, for many runs; see ``PreparedSelect``. Throws `.schema` if a table or column is missing.
  public func prepare<Row>(
    _ query: Select<Row>, file: StaticString = #fileID, line: UInt = #line
  ) throws -> PreparedSelect<Row> {
    PreparedSelect(try PreparedSelectCore(query.query, on: self, at: CallSite(file: file, line: line)), query.read)
  }

  /// Compiles handwritten SQL once, for many runs that return the values of its column; see ``PreparedSelect``.
  ///
  /// ```swift
  /// let color = Parameter<String>("color")
  /// let names = try db.prepare("SELECT name FROM bicycle WHERE color = \(color)", as: String.self)
  /// let reds = try names.run("red")     // [String]
  /// ```
  ///
  /// Interpolated values that are not parameters stay bound. Throws `.misuse` for SQL that changes something, and for a
  /// result with other columns, which a run also throws if a schema change has made it one.
  public func prepare<Value: SqlValue>(
    _ sql: SQL, as type: Value.Type, file: StaticString = #fileID, line: UInt = #line
  ) throws -> PreparedSelect<Value> {
    let site = CallSite(file: file, line: line)
    return PreparedSelect(try PreparedSelectCore(sql, ResultLayout(of: type), on: self, at: site)) {
      try Value.next(of: &$0)
    }
  }

  /// Compiles handwritten SQL once, for many runs that return tuples; see `query(_:as:_:)` for what they hold.
  ///
  /// ```swift
  /// let counts = try db.prepare("SELECT color, count(*) FROM bicycle GROUP BY color", as: String.self, Int.self)
  /// ```
  public func prepare<First: SelectOutput, Second: SelectOutput, each Output: SelectOutput>(
    _ sql: SQL, as first: First.Type, _ second: Second.Type, _ type: repeat (each Output).Type,
    file: StaticString = #fileID, line: UInt = #line
  ) throws -> PreparedSelect<(First, Second, repeat each Output)> {
    let (layout, site) = (try ResultLayout(of: first, second, repeat each type), CallSite(file: file, line: line))
    return PreparedSelect(try PreparedSelectCore(sql, layout, on: self, at: site)) {
      (try First.next(of: &$0), try Second.next(of: &$0), repeat try (each Output).next(of: &$0))
    }
  }
}

// MARK: - Running

extension PreparedSelect {
  /// Reads the rows, with values by position.
  // Disfavored: otherwise a dictionary literal would be taken for one value, stored as JSON.
  @_disfavoredOverload
  @inlinable
  public func run<each Value: SqlValue>(_ value: repeat each Value) throws -> [Row] {
    try rows(PositionedValues(repeat each value))
  }

  /// Reads the rows, with values by name.
  public func run(_ values: KeyValuePairs<String, any SqlValue>) throws -> [Row] { try rows(NamedValues(values)) }

  @inlinable
  func rows(_ values: some PreparedValues) throws -> [Row] {
    let reading = try core.beginReading(values)
    defer { core.endReading(reading) }
    var rows: [Row] = []
    var isAtRow = try core.firstStep(of: reading)
    while isAtRow {
      rows.append(try reading.current(read))
      isAtRow = try reading.rows.step()
    }
    return rows
  }

  /// Reads the first row, with values by position; returns nil if there is none. If the rows are ordered without an
  /// index, SQLite finds all of them first; `limit(1)` in the query says that one is enough.
  @_disfavoredOverload
  @inlinable
  public func first<each Value: SqlValue>(_ value: repeat each Value) throws -> Row? {
    try row(PositionedValues(repeat each value))
  }

  /// Reads the first row, with values by name; returns nil if there is none.
  public func first(_ values: KeyValuePairs<String, any SqlValue>) throws -> Row? { try row(NamedValues(values)) }

  @inlinable
  func row(_ values: some PreparedValues) throws -> Row? {
    let reading = try core.beginReading(values)
    defer { core.endReading(reading) }
    return try core.firstStep(of: reading) ? try reading.current(read) : nil
  }

  /// Reads one row after another without keeping them, until `body` returns ``Iteration/stop``.
  public func forEach(
    _ values: KeyValuePairs<String, any SqlValue> = [:], _ body: (Row) throws -> Iteration
  ) throws {
    let reading = try core.beginReading(NamedValues(values), isLoop: true)
    defer { core.endReading(reading) }
    var isAtRow = try core.firstStep(of: reading)
    while isAtRow {
      if try body(reading.current(read)) == .stop { return }
      isAtRow = try reading.rows.step()
    }
  }
}

/// The compiled statement of a prepared query, with the layout of its rows.
@usableFromInline
final class PreparedSelectCore {
  let core: PreparedCore
  private let layout: ResultLayout
  private let isText: Bool

  init(_ query: SelectQuery, on db: SqliteDatabase, at site: CallSite) throws {
    layout = ResultLayout(query.clauses.columns)
    isText = false
    core = try PreparedCore(.query(query, layout), on: db, at: site)
  }

  init(_ sql: SQL, _ layout: ResultLayout, on db: SqliteDatabase, at site: CallSite) throws {
    self.layout = layout
    isText = true
    core = try PreparedCore(.sql(sql, layout), on: db, at: site)
  }

  @usableFromInline
  func beginReading(_ values: some PreparedValues, isLoop: Bool = false) throws -> SelectReading {
    SelectReading(rows: try core.beginReading(values, isLoop: isLoop), types: layout.types)
  }

  /// Takes the first step of a run; returns whether there is a row.
  @usableFromInline
  func firstStep(of reading: SelectReading) throws -> Bool {
    let isAtRow = try reading.rows.step()
    // This step may have recompiled the statement after a schema change; `*` in handwritten SQL then stands for other
    // columns.
    if isText { try reading.rows.statement.expect(.positioned(layout), isAtRow: isAtRow) }
    return isAtRow
  }

  @usableFromInline
  func endReading(_ reading: SelectReading) { core.db.endReading(reading.rows) }
}

extension SqliteDatabase {
  @available(*, unavailable, message: "say what the rows hold: prepare(_:as:)")
  public func prepare(_ sql: SQL) throws -> PreparedSelect<DynamicRow> { throw SqlError.misuse(sql.text) }
}
