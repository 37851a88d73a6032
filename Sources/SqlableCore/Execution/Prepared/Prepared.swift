/// A statement or query that stays compiled for one handle and runs repeatedly with different values.
///
/// ```swift
/// let byColor = try db.prepare(Bicycle.read().filter(Bicycle.color == Parameter("color")))
/// let reds = try byColor.run(["color": "red"])     // by name
/// let blues = try byColor.run("blue")              // by position, in order of first mention
/// let dear = try db.prepare(Car.select(Car.name, Car.price).filter(Car.price > Parameter("least")))
/// let rows = try dear.run(50_000)                  // [(String, Double)]
/// ```
///
/// `run` binds the values, runs the statement to its end and resets it; there are no separate calls for these steps.
/// `forEach` reads one row after another.
///
/// A run does not build, render or look up the statement, which saves a third of a microsecond in a select by key. The
/// statement's constants stay bound. A prepared statement belongs to its handle and follows the handle's rules for
/// threads. Closing the handle releases the compiled statement; later runs throw `.closed`. A prepared statement can
/// run inside its own loop. Traced events report the file and line of the call to `prepare`.
///
/// Each value is checked against the column that the value is compared with or stored in. A value that does not fit
/// throws `.encoding`. A nil binds NULL, for which only IS and IS NOT can be true.
public final class Prepared<Row, Output> {
  @usableFromInline let core: PreparedCore
  @usableFromInline let read: @Sendable (StatementRun) throws -> Row

  @usableFromInline
  init(_ core: PreparedCore, _ read: @escaping @Sendable (StatementRun) throws -> Row) {
    self.core = core
    self.read = read
  }

  fileprivate convenience init(
    _ core: PreparedCore, _ layout: ResultLayout, _ read: @escaping @Sendable (inout ResultRow) throws -> Row
  ) {
    self.init(core) { reading in
      var row = ResultRow(reading.row, types: layout.types)
      return try read(&row)
    }
  }

  /// The names of the parameters, in order of first mention.
  public var parameterNames: [String] { core.names }

  /// The SQL, with `?` for every bound value.
  public var sql: String { core.sql }
}

extension Prepared: CustomStringConvertible {
  /// The SQL, with `?` for every bound value.
  public var description: String { sql }
}

extension SqliteDatabase {
  /// Compiles a statement once, for many runs; see ``Prepared``.
  ///
  /// Accepts reads, counts, and updates and deletes with a condition. Throws `.invalidStatement` for a change that
  /// returns rows, and for a statement that takes structs: `run` already caches the compiled form of such a statement.
  /// Throws `.schema` if the table or a column is missing.
  @inlinable
  public func prepare<Model, Output>(
    _ statement: Statement<Model, Output>, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Prepared<Model, Output> {
    Prepared(try PreparedCore(statement.tree, on: self, file, line)) { try $0.row.model() }
  }

  /// Compiles a query once, for many runs; see ``Prepared``. Throws `.schema` if a table or column is missing.
  public func prepare<Row>(
    _ query: Select<Row>, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Prepared<Row, [Row]> {
    let layout = ResultLayout(query.query.clauses.columns)
    let site = CallSite(file: file, line: line)
    return Prepared(try PreparedCore(.query(query.query, layout), on: self, at: site), layout, query.read)
  }

  /// Compiles handwritten SQL once, for many runs that return the values of a single column; see ``Prepared``.
  ///
  /// ```swift
  /// let color = Parameter<String>("color")
  /// let names = try db.prepare("SELECT name FROM bicycle WHERE color = \(color)", as: String.self)
  /// let reds = try names.run("red")     // [String]
  /// ```
  ///
  /// Interpolated values that are not parameters stay bound. As in other SQL text, a parameter's value is not converted
  /// for a column: a date, for example, is bound as seconds since 1970. Throws `.misuse` for SQL that changes the
  /// database, and for a result that does not have exactly one column. A run also throws `.misuse` if a schema change
  /// has changed the number of columns.
  public func prepare<Value: SqlValue>(
    _ sql: SQL, as type: Value.Type, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Prepared<Value, [Value]> {
    let (layout, site) = (try ResultLayout(of: type), CallSite(file: file, line: line))
    return Prepared(try PreparedCore(.sql(sql, .positioned(layout)), on: self, at: site), layout) {
      try Value.next(of: &$0)
    }
  }

  /// Compiles handwritten SQL once, for many runs that return tuples; see `query(_:as:_:)` for the types.
  ///
  /// ```swift
  /// let counts = try db.prepare("SELECT color, count(*) FROM bicycle GROUP BY color", as: String.self, Int.self)
  /// ```
  public func prepare<First: SelectOutput, Second: SelectOutput, each Output: SelectOutput>(
    _ sql: SQL, as first: First.Type, _ second: Second.Type, _ type: repeat (each Output).Type,
    file: StaticString = #fileID, line: UInt = #line
  ) throws -> Prepared<(First, Second, repeat each Output), [(First, Second, repeat each Output)]> {
    let (layout, site) = (try ResultLayout(of: first, second, repeat each type), CallSite(file: file, line: line))
    return Prepared(try PreparedCore(.sql(sql, .positioned(layout)), on: self, at: site), layout) {
      (try First.next(of: &$0), try Second.next(of: &$0), repeat try (each Output).next(of: &$0))
    }
  }

  /// Compiles handwritten SQL once, for many runs that return structs. Columns are matched by name, in any order;
  /// additional columns are ignored.
  ///
  /// ```swift
  /// let color = Parameter<String>("color")
  /// let painted = try db.prepare("SELECT * FROM bicycle WHERE color = \(color)", as: Bicycle.self)
  /// let reds = try painted.run("red")     // [Bicycle]
  /// ```
  public func prepare<Model: Sqlable>(
    _ sql: SQL, as model: Model.Type, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Prepared<Model, [Model]> {
    let (columns, site) = (ExpectedColumns.named(try TableInfo.of(model)), CallSite(file: file, line: line))
    return Prepared(try PreparedCore(.sql(sql, columns), on: self, at: site)) { try $0.row.model() }
  }

  /// Compiles handwritten SQL once, for many runs that return rows with all columns.
  public func prepare(
    _ sql: SQL, as type: DynamicRow.Type, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Prepared<DynamicRow, [DynamicRow]> {
    let (layout, site) = (ResultLayout([]), CallSite(file: file, line: line))
    return Prepared(try PreparedCore(.sql(sql, .unknown), on: self, at: site), layout) { try DynamicRow.next(of: &$0) }
  }

  /// Compiles a handwritten INSERT, REPLACE, UPDATE or DELETE once, for many runs that return the number of changed
  /// rows; see ``Prepared``.
  ///
  /// ```swift
  /// let (name, color) = (Parameter<String>("name"), Parameter<String>("color"))
  /// let paint = try db.prepare("UPDATE bicycle SET color = \(color) WHERE name = \(name)")
  /// let count = try paint.run(["name": "Norco", "color": "red"])     // Int
  /// ```
  ///
  /// As in other SQL text, a value is not converted for a column: a date, for example, is bound as seconds since 1970.
  /// The number of changed rows does not include rows that triggers and foreign keys change. Throws `.misuse` for SQL
  /// that is none of these four statements. To prepare a query, pass the type of its rows, as in `prepare(_:as:)`.
  /// Throws `.invalidStatement` for RETURNING.
  public func prepare(
    _ sql: SQL, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Prepared<Never, Int> {
    Prepared(try PreparedCore(.sql(sql, nil), on: self, at: CallSite(file: file, line: line))) { _ in
      throw SqlError.misuse("a prepared change returns no rows")
    }
  }
}

// MARK: - Running

extension Prepared {
  /// Runs the statement with values by position. Returns the statement's output: rows, a row or nil, a Bool, or the
  /// number of rows counted or changed.
  // Disfavored because a dictionary literal would otherwise be one value, stored as JSON.
  @_disfavoredOverload
  @discardableResult
  @inlinable
  public func run<each Value: SqlValue>(_ value: repeat each Value) throws -> Output {
    try output(PositionedValues(repeat each value))
  }

  /// Runs the statement with values by name. Returns the statement's output: rows, a row or nil, a Bool, or the number
  /// of rows counted or changed.
  @discardableResult
  public func run(_ values: KeyValuePairs<String, any SqlValue>) throws -> Output { try output(NamedValues(values)) }

  @inlinable
  func output(_ values: some PreparedValues) throws -> Output {
    if Output.self == [Row].self { return try identical(rows(values)) }
    if Output.self == Row?.self { return try identical(row(values)) }
    let number = try core.run { try values.bind(with: $0) }
    return Output.self == Bool.self ? try identical(number != 0) : try identical(number)
  }

  @inlinable
  func rows(_ values: some PreparedValues) throws -> [Row] {
    let reading = try beginReading(values)
    defer { core.endReading(reading) }
    var rows: [Row] = []
    var isAtRow = try core.firstStep(of: reading)
    while isAtRow {
      rows.append(try read(reading))
      isAtRow = try reading.step()
    }
    return rows
  }

  @inlinable
  func beginReading(_ values: some PreparedValues) throws -> StatementRun {
    if let single = values as? PositionedValues<Int> { return try core.beginReading(integer: single.values) }
    return try core.beginReading { try values.bind(with: $0) }
  }

  @inlinable
  func row(_ values: some PreparedValues) throws -> Row? {
    let reading = try beginReading(values)
    defer { core.endReading(reading) }
    return try core.firstStep(of: reading) ? try read(reading) : nil
  }
}

extension Prepared where Output == [Row] {
  /// Reads the first row, with values by position; returns nil if there is no row. Unless an index provides the order,
  /// SQLite first sorts all rows. With `limit(1)` in the statement, SQLite only searches for the first row.
  @_disfavoredOverload
  @inlinable
  public func first<each Value: SqlValue>(_ value: repeat each Value) throws -> Row? {
    try row(PositionedValues(repeat each value))
  }

  /// Reads the first row, with values by name; returns nil if there is no row.
  public func first(_ values: KeyValuePairs<String, any SqlValue>) throws -> Row? { try row(NamedValues(values)) }

  /// Reads one row after another without keeping them, until `body` returns ``Iteration/stop``.
  public func forEach(
    _ values: KeyValuePairs<String, any SqlValue> = [:], _ body: (Row) throws -> Iteration
  ) throws {
    let reading = try core.beginReading(isLoop: true) { try NamedValues(values).bind(with: $0) }
    defer { core.endReading(reading) }
    var isAtRow = try core.firstStep(of: reading)
    while isAtRow {
      if try body(read(reading)) == .stop { return }
      isAtRow = try reading.step()
    }
  }
}
