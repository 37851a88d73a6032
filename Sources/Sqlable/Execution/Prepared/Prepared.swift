/// A statement that stays compiled for one handle, to be run with other values each time.
///
/// ```swift
/// let byColor = try db.prepare(Bicycle.read().filter(Bicycle.color == Parameter("color")))
/// let reds = try byColor.run(["color": "red"])     // by name
/// let blues = try byColor.run("blue")              // by position: that of the names' first mention
/// ```
///
/// Nothing is built, rendered or looked up in a run; a select by key that is not prepared pays a third of a microsecond
/// for that. What is fixed in the statement stays bound. It belongs to its handle and follows its rules for threads,
/// throws `.closed` when the handle is closed, and lets go of its compiled statement then. It may be run inside its own
/// loop.
///
/// Values are held against the columns that they meet: what does not fit throws `.encoding`. An optional that is nil
/// binds NULL, which no comparison is true of.
public final class Prepared<Model: Sqlable, Output> {
  @usableFromInline let core: PreparedCore

  init(_ core: PreparedCore) { self.core = core }

  /// The names of the parameters, in the order of their first mention.
  public var parameterNames: [String] { core.names }

  /// The SQL, with `?` for every value.
  public var sql: String { core.sql }
}

extension SqliteDatabase {
  /// Compiles a statement once, for many runs; see ``Prepared``.
  ///
  /// For reads, counts, and updates and deletes by a condition. Throws `.invalidStatement` for a statement about
  /// structs, which brings its values along and is found compiled by itself, and `.schema` when table or column is
  /// missing.
  public func prepare<Model, Output>(_ statement: Statement<Model, Output>) throws -> Prepared<Model, Output> {
    Prepared(try PreparedCore(.statement(statement.tree, statement.tree.table), on: self))
  }
}

// MARK: - Running

extension Prepared {
  @inlinable
  func row(_ values: some PreparedValues) throws -> Model? {
    let reading = try core.beginReading(values)
    defer { core.db.endReading(reading) }
    return try reading.step() ? try Model(row: reading.row) : nil
  }
}

extension Prepared where Output == [Model] {
  /// Reads the rows, with values by position.
  // Disfavored: a dictionary literal would be taken for one value, which is stored as JSON.
  @_disfavoredOverload
  @inlinable
  public func run<each Value: SqlValue>(_ value: repeat each Value) throws -> [Model] {
    try rows(PositionedValues(repeat each value))
  }

  /// Reads the rows, with values by name.
  public func run(_ values: KeyValuePairs<String, any SqlValue>) throws -> [Model] { try rows(NamedValues(values)) }

  /// Reads the first row, or nil when there is none, with values by position. All rows are looked for where they are
  /// ordered without an index; `limit(1)` in the statement says that one is enough.
  @_disfavoredOverload
  @inlinable
  public func first<each Value: SqlValue>(_ value: repeat each Value) throws -> Model? {
    try row(PositionedValues(repeat each value))
  }

  /// Reads the first row, or nil when there is none, with values by name.
  public func first(_ values: KeyValuePairs<String, any SqlValue>) throws -> Model? { try row(NamedValues(values)) }

  @inlinable
  func rows(_ values: some PreparedValues) throws -> [Model] {
    let reading = try core.beginReading(values)
    defer { core.db.endReading(reading) }
    var models: [Model] = []
    while try reading.step() { models.append(try Model(row: reading.row)) }
    return models
  }

  /// Reads row after row without keeping them, until `body` returns ``Iteration/stop``.
  public func forEach(
    _ values: KeyValuePairs<String, any SqlValue> = [:], _ body: (Model) throws -> Iteration
  ) throws {
    let reading = try core.beginReading(NamedValues(values), isLoop: true)
    defer { core.db.endReading(reading) }
    while try reading.step() {
      if try body(Model(row: reading.row)) == .stop { return }
    }
  }
}

extension Prepared where Output == Model? {
  /// Reads the row, or nil when there is none, with values by position.
  // Disfavored: a dictionary literal would be taken for one value, which is stored as JSON.
  @_disfavoredOverload
  @inlinable
  public func run<each Value: SqlValue>(_ value: repeat each Value) throws -> Model? {
    try row(PositionedValues(repeat each value))
  }

  /// Reads the row, or nil when there is none, with values by name.
  public func run(_ values: KeyValuePairs<String, any SqlValue>) throws -> Model? { try row(NamedValues(values)) }
}

extension Prepared where Output == Bool {
  /// Tells whether there is such a row, with values by position.
  @_disfavoredOverload
  public func run<each Value: SqlValue>(_ value: repeat each Value) throws -> Bool {
    try core.run(PositionedValues(repeat each value)) != 0
  }

  /// Tells whether there is such a row, with values by name.
  public func run(_ values: KeyValuePairs<String, any SqlValue>) throws -> Bool {
    try core.run(NamedValues(values)) != 0
  }
}

extension Prepared where Output == Int {
  /// Runs it, with values by position: a count gives the number of rows, an update or delete that of the rows changed.
  @_disfavoredOverload
  @discardableResult
  public func run<each Value: SqlValue>(_ value: repeat each Value) throws -> Int {
    try core.run(PositionedValues(repeat each value))
  }

  /// Runs it, with values by name: a count gives the number of rows, an update or delete the number of rows changed.
  @discardableResult
  public func run(_ values: KeyValuePairs<String, any SqlValue>) throws -> Int { try core.run(NamedValues(values)) }
}
