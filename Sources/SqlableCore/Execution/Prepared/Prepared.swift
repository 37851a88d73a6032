/// A statement or query that stays compiled for one handle, and runs with other values each time.
///
/// ```swift
/// let byColor = try db.prepare(Bicycle.read().filter(Bicycle.color == Parameter("color")))
/// let reds = try byColor.run(["color": "red"])     // by name
/// let blues = try byColor.run("blue")              // by position, in order of first mention
/// let dear = try db.prepare(Car.select(Car.name, Car.price).filter(Car.price > Parameter("least")))
/// let rows = try dear.run(50_000)                  // [(String, Double)]
/// ```
///
/// A run builds, renders and looks up nothing; without preparing, that takes a select by key a third of a microsecond.
/// Constants of the statement stay bound. It belongs to its handle and follows its rules for threads. When the handle
/// is closed it releases its compiled statement, and throws `.closed`. It can run inside its own loop. Its traced
/// events have the file and line where it was prepared.
///
/// Values are checked against the columns they are compared with or stored in: one that does not fit throws
/// `.encoding`. An optional that is nil binds NULL, for which no comparison is true.
public final class Prepared<Row, Output> {
  @usableFromInline let core: PreparedCore
  /// Reads the current row.
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

  /// The SQL, with `?` for every value.
  public var sql: String { core.sql }
}

extension SqliteDatabase {
  /// Compiles a statement once, for many runs; see ``Prepared``.
  ///
  /// Takes reads, counts, and updates and deletes by a condition. Throws `.invalidStatement` for a statement about
  /// structs, which carries its values and stays compiled in the statement cache anyway, and `.schema` if the table or
  /// a column is missing.
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

  /// Compiles handwritten SQL once, for many runs that return the values of its column; see ``Prepared``.
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
  ) throws -> Prepared<Value, [Value]> {
    let (layout, site) = (try ResultLayout(of: type), CallSite(file: file, line: line))
    return Prepared(try PreparedCore(.sql(sql, layout), on: self, at: site), layout) { try Value.next(of: &$0) }
  }

  /// Compiles handwritten SQL once, for many runs that return tuples; see `query(_:as:_:)` for what they hold.
  ///
  /// ```swift
  /// let counts = try db.prepare("SELECT color, count(*) FROM bicycle GROUP BY color", as: String.self, Int.self)
  /// ```
  public func prepare<First: SelectOutput, Second: SelectOutput, each Output: SelectOutput>(
    _ sql: SQL, as first: First.Type, _ second: Second.Type, _ type: repeat (each Output).Type,
    file: StaticString = #fileID, line: UInt = #line
  ) throws -> Prepared<(First, Second, repeat each Output), [(First, Second, repeat each Output)]> {
    let (layout, site) = (try ResultLayout(of: first, second, repeat each type), CallSite(file: file, line: line))
    return Prepared(try PreparedCore(.sql(sql, layout), on: self, at: site), layout) {
      (try First.next(of: &$0), try Second.next(of: &$0), repeat try (each Output).next(of: &$0))
    }
  }

  @available(*, unavailable, message: "the type of the rows is missing; use prepare(_:as:)")
  public func prepare(_ sql: SQL) throws -> Prepared<DynamicRow, [DynamicRow]> { throw SqlError.misuse(sql.text) }
}

// MARK: - Running

extension Prepared {
  /// Runs it with values by position: a read returns the rows, a count their number, an update or delete the number of
  /// rows changed.
  // Disfavored: otherwise a dictionary literal would be taken for one value, stored as JSON.
  @_disfavoredOverload
  @discardableResult
  @inlinable
  public func run<each Value: SqlValue>(_ value: repeat each Value) throws -> Output {
    try output(PositionedValues(repeat each value))
  }

  /// Runs it with values by name: a read returns the rows, a count their number, an update or delete the number of rows
  /// changed.
  @discardableResult
  public func run(_ values: KeyValuePairs<String, any SqlValue>) throws -> Output { try output(NamedValues(values)) }

  @inlinable
  func output(_ values: some PreparedValues) throws -> Output {
    if Output.self == [Row].self { return try identical(rows(values)) }
    if Output.self == Row?.self { return try identical(row(values)) }
    let number = try core.run(values)
    return Output.self == Bool.self ? try identical(number != 0) : try identical(number)
  }

  @inlinable
  func rows(_ values: some PreparedValues) throws -> [Row] {
    let reading = try core.beginReading(values)
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
  func row(_ values: some PreparedValues) throws -> Row? {
    let reading = try core.beginReading(values)
    defer { core.endReading(reading) }
    return try core.firstStep(of: reading) ? try read(reading) : nil
  }
}

extension Prepared where Output == [Row] {
  /// Reads the first row, with values by position; returns nil if there is none. If the rows are ordered without an
  /// index, SQLite finds all of them first; `limit(1)` in the statement says that one is enough.
  @_disfavoredOverload
  @inlinable
  public func first<each Value: SqlValue>(_ value: repeat each Value) throws -> Row? {
    try row(PositionedValues(repeat each value))
  }

  /// Reads the first row, with values by name; returns nil if there is none.
  public func first(_ values: KeyValuePairs<String, any SqlValue>) throws -> Row? { try row(NamedValues(values)) }

  /// Reads one row after another without keeping them, until `body` returns ``Iteration/stop``.
  public func forEach(
    _ values: KeyValuePairs<String, any SqlValue> = [:], _ body: (Row) throws -> Iteration
  ) throws {
    let reading = try core.beginReading(NamedValues(values), isLoop: true)
    defer { core.endReading(reading) }
    var isAtRow = try core.firstStep(of: reading)
    while isAtRow {
      if try body(read(reading)) == .stop { return }
      isAtRow = try reading.step()
    }
  }
}
