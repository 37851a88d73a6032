/// A statement that stays compiled for one handle, and runs with other values each time.
///
/// ```swift
/// let byColor = try db.prepare(Bicycle.read().filter(Bicycle.color == Parameter("color")))
/// let reds = try byColor.run(["color": "red"])     // by name
/// let blues = try byColor.run("blue")              // by position, in order of first mention
/// ```
///
/// A run builds, renders and looks up nothing; without preparing, that takes a select by key a third of a microsecond.
/// Constants of the statement stay bound. It belongs to its handle and follows its rules for threads. When the handle
/// is closed it releases its compiled statement, and throws `.closed`. It can run inside its own loop. Its traced
/// events have the file and line where it was prepared.
///
/// Values are checked against the columns they are compared with or stored in: one that does not fit throws
/// `.encoding`. An optional that is nil binds NULL, for which no comparison is true.
public final class Prepared<Model: Sqlable, Output> {
  @usableFromInline let core: PreparedCore

  init(_ core: PreparedCore) { self.core = core }

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
  public func prepare<Model, Output>(
    _ statement: Statement<Model, Output>, file: StaticString = #fileID, line: UInt = #line
  ) throws -> Prepared<Model, Output> {
    Prepared(
      try PreparedCore(
        .statement(statement.tree, statement.tree.table), on: self, at: CallSite(file: file, line: line)))
  }
}

// MARK: - Running

extension Prepared {
  @inlinable
  func row(_ values: some PreparedValues) throws -> Model? {
    let reading = try core.beginReading(values)
    defer { core.endReading(reading) }
    return try reading.step() ? try reading.row.model() : nil
  }
}

extension Prepared where Output == [Model] {
  /// Reads the rows, with values by position.
  // Disfavored: otherwise a dictionary literal would be taken for one value, stored as JSON.
  @_disfavoredOverload
  @inlinable
  public func run<each Value: SqlValue>(_ value: repeat each Value) throws -> [Model] {
    try rows(PositionedValues(repeat each value))
  }

  /// Reads the rows, with values by name.
  public func run(_ values: KeyValuePairs<String, any SqlValue>) throws -> [Model] { try rows(NamedValues(values)) }

  /// Reads the first row, with values by position; returns nil if there is none. If the rows are ordered without an
  /// index, SQLite finds all of them first; `limit(1)` in the statement says that one is enough.
  @_disfavoredOverload
  @inlinable
  public func first<each Value: SqlValue>(_ value: repeat each Value) throws -> Model? {
    try row(PositionedValues(repeat each value))
  }

  /// Reads the first row, with values by name; returns nil if there is none.
  public func first(_ values: KeyValuePairs<String, any SqlValue>) throws -> Model? { try row(NamedValues(values)) }

  @inlinable
  func rows(_ values: some PreparedValues) throws -> [Model] {
    let reading = try core.beginReading(values)
    defer { core.endReading(reading) }
    var models: [Model] = []
    while try reading.step() { models.append(try reading.row.model()) }
    return models
  }

  /// Reads one row after another without keeping them, until `body` returns ``Iteration/stop``.
  public func forEach(
    _ values: KeyValuePairs<String, any SqlValue> = [:], _ body: (Model) throws -> Iteration
  ) throws {
    let reading = try core.beginReading(NamedValues(values), isLoop: true)
    defer { core.endReading(reading) }
    while try reading.step() {
      if try body(reading.row.model()) == .stop { return }
    }
  }
}

extension Prepared where Output == Model? {
  /// Reads the row, with values by position; returns nil if there is none.
  // Disfavored: otherwise a dictionary literal would be taken for one value, stored as JSON.
  @_disfavoredOverload
  @inlinable
  public func run<each Value: SqlValue>(_ value: repeat each Value) throws -> Model? {
    try row(PositionedValues(repeat each value))
  }

  /// Reads the row, with values by name; returns nil if there is none.
  public func run(_ values: KeyValuePairs<String, any SqlValue>) throws -> Model? { try row(NamedValues(values)) }
}

extension Prepared where Output == Bool {
  /// Returns whether there is such a row, with values by position.
  @_disfavoredOverload
  public func run<each Value: SqlValue>(_ value: repeat each Value) throws -> Bool {
    try core.run(PositionedValues(repeat each value)) != 0
  }

  /// Returns whether there is such a row, with values by name.
  public func run(_ values: KeyValuePairs<String, any SqlValue>) throws -> Bool {
    try core.run(NamedValues(values)) != 0
  }
}

extension Prepared where Output == Int {
  /// Runs the statement, with values by position: a count returns the number of rows, an update or delete the number of
  /// rows changed.
  @_disfavoredOverload
  @discardableResult
  public func run<each Value: SqlValue>(_ value: repeat each Value) throws -> Int {
    try core.run(PositionedValues(repeat each value))
  }

  /// Runs the statement, with values by name: a count returns the number of rows, an update or delete the number of
  /// rows changed.
  @discardableResult
  public func run(_ values: KeyValuePairs<String, any SqlValue>) throws -> Int { try core.run(NamedValues(values)) }
}
