/// A statement that stays compiled for one handle, to be run with other values each time.
///
/// ```swift
/// let byColor = try db.prepare(Bicycle.read().filter(Bicycle.color == Parameter("color")))
/// let reds = try byColor.run(["color": "red"])     // by name
/// let blues = try byColor.run("blue")              // by position: that of the names' first mention
/// ```
///
/// Nothing is built, rendered or looked up in a run; statements that are not prepared pay half a microsecond for that. What
/// is fixed in the statement stays bound. It belongs to its handle: it is used on the same thread, throws `.closed` when the
/// handle is closed, and lets go of its compiled statement then. It may be run inside its own loop.
///
/// Values are held against the columns that they meet: what does not fit throws `.encoding`. An optional that is nil binds
/// NULL, which no comparison is true of.
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
  /// For reads, counts, and updates and deletes by a condition. Throws `.invalidStatement` for a statement about structs,
  /// which brings its values along and is found compiled by itself, and `.schema` when table or column is missing.
  public func prepare<Model, Output>(_ statement: Statement<Model, Output>) throws -> Prepared<Model, Output> {
    Prepared(try PreparedCore(statement.query, of: TableInfo.of(Model.self), on: self))
  }
}

// MARK: - Running

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

  @inlinable
  func row(_ values: some PreparedValues) throws -> Model? {
    let reading = try core.beginReading(values)
    defer { core.db.endReading(reading) }
    return try reading.step() ? try Model(row: reading.row) : nil
  }
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

// MARK: - Values

/// The values of one run.
@usableFromInline
protocol PreparedValues {
  func bind(with binder: PreparedBinder) throws
}

/// Values in the order of the parameters.
@usableFromInline
struct PositionedValues<each Value: SqlValue>: PreparedValues {
  @usableFromInline let values: (repeat each Value)

  @inlinable
  init(_ value: repeat each Value) { values = (repeat each value) }

  @inlinable
  func bind(with binder: PreparedBinder) throws {
    var count = 0
    for value in repeat each values {
      try binder.bind(value, toPosition: count)
      count += 1
    }
    try binder.check(count: count)
  }
}

/// Values by the names of their parameters.
@usableFromInline
struct NamedValues: PreparedValues {
  private let values: KeyValuePairs<String, any SqlValue>

  init(_ values: KeyValuePairs<String, any SqlValue>) { self.values = values }

  @usableFromInline
  func bind(with binder: PreparedBinder) throws {
    var isGiven = Array(repeating: false, count: binder.core.names.count)
    for (name, value) in values {
      guard let number = binder.core.names.firstIndex(of: name) else {
        throw SqlError.misuse("the prepared statement has no parameter \(name)")
      }
      guard !isGiven[number] else { throw SqlError.misuse("the parameter \(name) is given twice") }
      isGiven[number] = true
      try binder.bind(value, toParameter: number)
    }
    if let missing = isGiven.firstIndex(of: false) {
      throw SqlError.misuse("the parameter \(binder.core.names[missing]) is not given")
    }
  }
}

/// Binds the values of one run, which stay until it is over.
@usableFromInline
struct PreparedBinder {
  fileprivate let core: PreparedCore
  fileprivate let statement: PreparedStatement
  fileprivate let parameters: ParameterBuffer

  /// Binds a value that is given by position.
  @usableFromInline
  func bind<Value: SqlValue>(_ value: Value, toPosition number: Int) throws {
    // A dictionary of values by name, held in a variable, would be bound as JSON without a word.
    if case .text(let start, let count) = try bind(value, toParameter: number), count > 0,
      start.pointee == UInt8(ascii: "{"), let named = value as? [String: Any],
      core.names.contains(where: named.keys.contains)
    {
      throw SqlError.misuse("values by name are written as a literal; a dictionary is one value, stored as JSON")
    }
  }

  /// Binds a value wherever the parameter of that number stands, and gives what was bound last.
  @discardableResult
  func bind<Value: SqlValue>(_ value: Value, toParameter number: Int) throws -> BoundValue {
    var bound = BoundValue.unset
    guard number < core.names.count else { return bound }
    for target in core.targets where target.number == number {
      let type = target.placeholder.column?.type ?? Value.columnType
      var cell = WriteCell(bytes: parameters.bytes, scope: parameters.bytes.pointee.current, type: type)
      do {
        if target.placeholder.isStored || !type.comparesInAnotherForm {
          try value.write(to: &cell)
        } else {
          try cell.set(type.comparable(value))
        }
        guard !cell.isStale else { throw SqlError.misuse("a value ran a statement of its handle while it was bound") }
        if target.placeholder.column != nil {
          let fits =
            target.placeholder.isStored
            ? type.stores(cell.parameter) : type.compares(with: cell.parameter.storageClass)
          guard fits else { throw type.mismatch(cell.parameter.storageClass) }
        }
      } catch {
        guard let column = target.placeholder.column else { throw error }
        throw SqlExpression.located(error, column: Column(column))
      }
      bound = cell.parameter
      try statement.bind(bound, at: target.index)
    }
    return bound
  }

  @usableFromInline
  func check(count: Int) throws {
    guard count == core.names.count else {
      throw SqlError.misuse("the prepared statement has \(core.names.count) parameters, and was given \(count) values")
    }
  }
}

// MARK: - The steps, the same for all models

/// The compiled statement of a ``Prepared``; its handle's lock is held whenever it changes.
@usableFromInline
final class PreparedCore {
  @usableFromInline let db: SqliteDatabase
  let names: [String]
  let sql: String
  fileprivate let targets: [Target]
  private let query: Query
  private let table: TableInfo
  private let kept: KeptStatement
  /// What is fixed in the statement, by its position counted from 1.
  private let fixed: [(index: Int32, value: SqlStorage)]
  /// The long lists that are fixed in it.
  private let lists: [(index: Int32, list: ValueList)]

  /// One place where the parameter of a number is bound.
  fileprivate struct Target {
    let number: Int
    let index: Int32
    let placeholder: Placeholder
  }

  init(_ query: Query, of table: TableInfo, on db: SqliteDatabase) throws {
    guard !query.kind.takesRows else {
      throw SqlError.invalidStatement(
        "a statement about structs brings its values along; it is run as it is, and compiled once by itself"
      ).at(table: table.name)
    }
    guard !query.returns else {
      throw SqlError.invalidStatement("a change that returns its rows can't be prepared").at(table: table.name)
    }
    self.db = db
    self.query = query
    self.table = table
    let (sql, parameters) = (SqlBuffer(), ParameterBuffer())
    let mark = parameters.mark
    try StatementWriter(table: table, sql: sql, parameters: parameters).write(query)
    let placeholders = parameters.placeholders(since: mark) ?? []
    let names = placeholders.reduce(into: [String]()) { names, next in
      if !names.contains(next.placeholder.name) { names.append(next.placeholder.name) }
    }
    targets = placeholders.map { index, placeholder in
      Target(number: names.firstIndex(of: placeholder.name) ?? 0, index: index, placeholder: placeholder)
    }
    self.names = names
    self.sql = sql.text
    var (fixed, lists): ([(Int32, SqlStorage)], [(Int32, ValueList)]) = ([], [])
    for (position, value) in parameters.parameters.enumerated() {
      let index = Int32(position + 1)
      if case .list(let list) = value { lists.append((index, list.takeUnretainedValue())) }
      if let value = SqlStorage(value) { fixed.append((index, value)) }
    }
    (self.fixed, self.lists) = (fixed, lists)
    withExtendedLifetime(parameters) {}
    kept = KeptStatement()
    try db.locked {
      let connection = try db.openConnection()
      do {
        kept.statement.value = try compile(connection)
        connection.keep(kept)
      } catch { throw placed(connection.labelled(error), in: table) }
    }
  }

  deinit { kept.abandon() }

  /// The statement at rest, with what is fixed bound.
  private func compile(_ connection: Connection) throws -> PreparedStatement {
    var text = sql
    let statement = try text.withUTF8 { try connection.compile($0) }
    for (index, value) in fixed { try statement.bindCopy(value, at: index) }
    for (index, list) in lists { try statement.bind(.list(Unmanaged.passUnretained(list)), at: index) }
    statement.isInUse = false
    return statement
  }

  /// The statement with the values bound; the lock is held.
  private func begin(_ values: some PreparedValues, _ connection: Connection) throws -> PreparedStatement {
    var found = kept.statement.value
    if found == nil {
      // Dropped with all others: observers came, or memory was to be released.
      found = try compile(connection)
      kept.statement.value = found
    }
    // Inside its own loop another one is compiled for the run.
    let statement = found.flatMap { $0.isInUse ? nil : $0 }
    let own = try statement ?? compile(connection)
    own.isInUse = true
    own.mark = connection.parameters.mark
    do {
      try values.bind(with: PreparedBinder(core: self, statement: own, parameters: connection.parameters))
    } catch {
      connection.finish(own)
      throw connection.labelled(error)
    }
    return own
  }

  @usableFromInline
  func beginReading(_ values: some PreparedValues, isLoop: Bool = false) throws -> Reading {
    try db.enter()
    do {
      let connection = try db.openConnection()
      try db.checkTransactionIsAlive(connection)
      let statement = try begin(values, connection)
      statement.expectColumns(table.identities, count: table.count)
      return db.reading(statement, isLoop: isLoop)
    } catch {
      db.unlockAndDeliver()
      throw placed(error, in: table)
    }
  }

  /// Runs what gives a number.
  @usableFromInline
  func run(_ values: some PreparedValues) throws -> Int {
    guard query.kind.changesRows else {
      let reading = try beginReading(values)
      defer { db.endReading(reading) }
      return try reading.step() ? Int(reading.statement.integer(at: 0)) : 0
    }
    do {
      try db.enter()
      defer { db.unlockAndDeliver() }
      let connection = try db.openConnection()
      try db.checkTransactionIsAlive(connection)
      let run = db.beginRun()
      defer { db.endRun(run) }
      // Before the write begins: a value's own code may write and observe too, and what it does is not the statement's.
      // Without values there is no such code, and what is compiled before the hook is there may not call it.
      let bound = targets.isEmpty ? nil : try begin(values, connection)
      defer { if let bound { connection.finish(bound) } }
      guard let write = try db.beginWrite(connection) else { return try db.writing { try change($0, bound, values) } }
      do { return try change(connection, bound, values) } catch { throw db.failed(error, write) }
    } catch { throw placed(error, in: table) }
  }

  private func change(
    _ connection: Connection, _ bound: PreparedStatement?, _ values: some PreparedValues
  ) throws -> Int {
    let statement = try bound ?? begin(values, connection)
    defer { if bound == nil { connection.finish(statement) } }
    while try statement.step() {}
    return connection.changes
  }
}
