// Queries that stay compiled, as ``Prepared`` statements do.

/// A query that stays compiled for one handle, to be run with other values each time.
///
/// ```swift
/// let dear = try db.prepare(Car.select(Car.name, Car.price).filter(Car.price > Parameter("least")))
/// let rows = try dear.run(50_000)     // [(String, Double)]
/// ```
///
/// All that is said of ``Prepared`` is true of it.
public final class PreparedSelect<each Output: SelectOutput> {
  @usableFromInline let core: PreparedSelectCore

  init(_ core: PreparedSelectCore) { self.core = core }

  /// The names of the parameters, in the order of their first mention.
  public var parameterNames: [String] { core.core.names }

  /// The SQL, with `?` for every value.
  public var sql: String { core.core.sql }
}

/// A query of one thing a row that stays compiled; see ``PreparedSelect``.
public final class PreparedSingleSelect<Output: SelectOutput> {
  @usableFromInline let core: PreparedSelectCore

  init(_ core: PreparedSelectCore) { self.core = core }

  /// The names of the parameters, in the order of their first mention.
  public var parameterNames: [String] { core.core.names }

  /// The SQL, with `?` for every value.
  public var sql: String { core.core.sql }
}

extension SqliteDatabase {
  /// Compiles a query once, for many runs; see ``PreparedSelect``. Throws `.schema` when table or column is missing.
  public func prepare<each Output>(_ query: Select<repeat each Output>) throws -> PreparedSelect<repeat each Output> {
    PreparedSelect<repeat each Output>(try PreparedSelectCore(query.query, on: self))
  }

  /// Compiles a query once, for many runs; see ``PreparedSelect``. Throws `.schema` when table or column is missing.
  public func prepare<Output>(_ query: SingleSelect<Output>) throws -> PreparedSingleSelect<Output> {
    PreparedSingleSelect(try PreparedSelectCore(query.query, on: self))
  }
}

extension SqliteDatabase {
  /// Compiles SQL written by hand once, for many runs that give the first column of its rows; see ``PreparedSelect``.
  ///
  /// ```swift
  /// let names = try db.prepare("SELECT name FROM bicycle WHERE color = \(Parameter<String>("color"))", as: String.self)
  /// let reds = try names.run("red")     // [String]
  /// ```
  ///
  /// What is interpolated beside parameters stays bound. Throws `.misuse` for SQL that changes something.
  public func prepare<Value: SqlValue>(_ sql: SQL, as type: Value.Type) throws -> PreparedSingleSelect<Value> {
    var description = ResultDescription()
    description.addValue()
    return PreparedSingleSelect(try PreparedSelectCore(sql, ResultLayout(description), on: self))
  }

  /// Compiles SQL written by hand once, for many runs that give tuples; see `query(_:as:_:)` for what they hold.
  ///
  /// ```swift
  /// let counts = try db.prepare("SELECT color, count(*) FROM bicycle GROUP BY color", as: String.self, Int.self)
  /// ```
  public func prepare<First: SelectOutput, Second: SelectOutput, each Output: SelectOutput>(
    _ sql: SQL, as first: First.Type, _ second: Second.Type, _ type: repeat (each Output).Type
  ) throws -> PreparedSelect<First, Second, repeat each Output> {
    var description = ResultDescription()
    try First.describe(in: &description)
    try Second.describe(in: &description)
    repeat try (each Output).describe(in: &description)
    return PreparedSelect<First, Second, repeat each Output>(
      try PreparedSelectCore(sql, ResultLayout(description), on: self))
  }
}

// MARK: - Running

extension PreparedSelect {
  /// Reads the rows, with values by position.
  // Disfavored: a dictionary literal would be taken for one value, which is stored as JSON.
  @_disfavoredOverload
  @inlinable
  public func run<each Value: SqlValue>(_ value: repeat each Value) throws -> [(repeat each Output)] {
    try rows(PositionedValues(repeat each value))
  }

  /// Reads the rows, with values by name.
  public func run(_ values: KeyValuePairs<String, any SqlValue>) throws -> [(repeat each Output)] {
    try rows(NamedValues(values))
  }

  @inlinable
  func rows(_ values: some PreparedValues) throws -> [(repeat each Output)] {
    let reading = try core.beginReading(values)
    defer { core.endReading(reading) }
    var rows: [(repeat each Output)] = []
    while try reading.rows.step() {
      var row = reading.row
      rows.append((repeat try (each Output).next(of: &row)))
    }
    return rows
  }

  /// Reads row after row without keeping them, until `body` returns ``Iteration/stop``.
  public func forEach(
    _ values: KeyValuePairs<String, any SqlValue> = [:], _ body: (repeat each Output) throws -> Iteration
  ) throws {
    let reading = try core.beginReading(NamedValues(values), isLoop: true)
    defer { core.endReading(reading) }
    while try reading.rows.step() {
      var row = reading.row
      if try body(repeat (each Output).next(of: &row)) == .stop { return }
    }
  }
}

extension PreparedSingleSelect {
  /// Reads the rows, with values by position.
  // Disfavored: a dictionary literal would be taken for one value, which is stored as JSON.
  @_disfavoredOverload
  @inlinable
  public func run<each Value: SqlValue>(_ value: repeat each Value) throws -> [Output] {
    try rows(PositionedValues(repeat each value))
  }

  /// Reads the rows, with values by name.
  public func run(_ values: KeyValuePairs<String, any SqlValue>) throws -> [Output] { try rows(NamedValues(values)) }

  @inlinable
  func rows(_ values: some PreparedValues) throws -> [Output] {
    let reading = try core.beginReading(values)
    defer { core.endReading(reading) }
    var rows: [Output] = []
    while try reading.rows.step() {
      var row = reading.row
      rows.append(try Output.next(of: &row))
    }
    return rows
  }

  /// Reads row after row without keeping them, until `body` returns ``Iteration/stop``.
  public func forEach(
    _ values: KeyValuePairs<String, any SqlValue> = [:], _ body: (Output) throws -> Iteration
  ) throws {
    let reading = try core.beginReading(NamedValues(values), isLoop: true)
    defer { core.endReading(reading) }
    while try reading.rows.step() {
      var row = reading.row
      if try body(Output.next(of: &row)) == .stop { return }
    }
  }
}

/// The compiled statement of a prepared query, with what its rows are like.
@usableFromInline
final class PreparedSelectCore {
  let core: PreparedCore
  private let layout: ResultLayout

  init(_ query: SelectQuery, on db: SqliteDatabase) throws {
    layout = ResultLayout(query)
    core = try PreparedCore(.query(query, layout), on: db)
  }

  init(_ sql: SQL, _ layout: ResultLayout, on db: SqliteDatabase) throws {
    self.layout = layout
    core = try PreparedCore(.sql(sql, layout), on: db)
  }

  @usableFromInline
  func beginReading(_ values: some PreparedValues, isLoop: Bool = false) throws -> SelectReading {
    SelectReading(rows: try core.beginReading(values, isLoop: isLoop), types: layout.types)
  }

  @usableFromInline
  func endReading(_ reading: SelectReading) { core.db.endReading(reading.rows) }
}
