import SqlableCore

/// A statement that creates a trigger: SQL that SQLite runs for each row that other statements change.
///
/// ```swift
/// let trigger = Trigger(
///   "bicycle_sold", after: .update(of: Bicycle.ownerId), on: Bicycle.self,
///   when: Bicycle.ownerId.new != Bicycle.ownerId.old,
///   run: Sale.insert(Sale.bicycleId, Sale.price, from: Bicycle.select(Bicycle.id, Bicycle.price)
///     .filter(Bicycle.id == Bicycle.id.new)))
/// try trigger.ifNotExists().run(db)
/// // CREATE TRIGGER IF NOT EXISTS "bicycle_sold" AFTER UPDATE OF "owner_id" ON "bicycle" FOR EACH ROW
/// //   WHEN "new"."owner_id" <> "old"."owner_id" BEGIN INSERT INTO "sale" … ; END
/// ```
///
/// A trigger runs for each changed row that its event and condition describe, including changes by other programs. The
/// trigger belongs to the transaction of the change: an error in the trigger undoes the change. The condition and the
/// statements use ``Column/old`` and ``Column/new``. Values in the condition and statements become literals.
/// ``DropStatement/trigger(_:)`` drops the trigger.
///
/// Running this statement throws `.misuse` if the trigger contains a parameter, a statement of structs, or a statement
/// that returns rows. A trigger on a view or full-text table also throws `.misuse`. A missing column throws `.schema`.
/// An existing trigger with the same name throws `.other`.
public struct Trigger: Sendable, Hashable {
  @ByteComparedName private var givenName: String?
  private let time: Time
  private let event: Event
  unowned(unsafe) let table: TableInfo
  private let condition: SqlExpression?
  private let trees: [StatementTree]
  private var isLenient = false

  private enum Time: String {
    case before, after
  }

  /// The change that fires a trigger.
  public struct Event: Sendable, Hashable {
    fileprivate enum Kind: String {
      case insert, update, delete
    }

    fileprivate let kind: Kind
    fileprivate var columns: [ColumnReference] = []

    public static let insert = Event(kind: .insert)
    public static let update = Event(kind: .update)
    public static let delete = Event(kind: .delete)

    /// An update that sets any of these columns, even to the current value.
    public static func update(of columns: any ColumnConvertible...) -> Event {
      Event(kind: .update, columns: columns.map { ColumnReference($0.column) })
    }

    fileprivate var rows: [TriggerRow] {
      switch kind {
      case .insert: [.new]
      case .update: [.old, .new]
      case .delete: [.old]
      }
    }
  }

  /// Creates a trigger that runs its statements after a row is changed.
  ///
  /// `table` names a table other than the model's own. The trigger does not fire if the condition is false or NULL for
  /// the row.
  public init<Model: Sqlable, each Target: Sqlable, each Output>(
    _ name: String, after event: Event, on model: Model.Type, in table: String? = nil,
    when condition: (any SqlCondition)? = nil, run statement: repeat Statement<each Target, each Output>
  ) {
    var trees: [StatementTree] = []
    for statement in repeat each statement { trees.append(statement.tree) }
    self.init(name, .after, event, TableInfo.unchecked(model), table, condition?.expression, trees)
  }

  /// Creates a trigger that runs its statements before a row is changed.
  ///
  /// If the trigger changes the same row, SQLite's behaviour is undefined.
  public init<Model: Sqlable, each Target: Sqlable, each Output>(
    _ name: String, before event: Event, on model: Model.Type, in table: String? = nil,
    when condition: (any SqlCondition)? = nil, run statement: repeat Statement<each Target, each Output>
  ) {
    var trees: [StatementTree] = []
    for statement in repeat each statement { trees.append(statement.tree) }
    self.init(name, .before, event, TableInfo.unchecked(model), table, condition?.expression, trees)
  }

  private init(
    _ name: String, _ time: Time, _ event: Event, _ model: TableInfo, _ table: String?, _ condition: SqlExpression?,
    _ trees: [StatementTree]
  ) {
    givenName = name
    (self.time, self.event, self.condition, self.trees) = (time, event, condition, trees)
    self.table = table.map(model.named) ?? model
  }

  package var name: String { givenName ?? "" }

  /// Returns the statement with IF NOT EXISTS, which does nothing if any trigger with this name exists, even a
  /// different trigger.
  public func ifNotExists() -> Trigger {
    var trigger = self
    trigger.isLenient = true
    return trigger
  }

  public static func == (left: Trigger, right: Trigger) -> Bool {
    left._givenName == right._givenName && left.time == right.time && left.event == right.event
      && left.table === right.table && left.condition == right.condition && left.trees == right.trees
      && left.isLenient == right.isLenient
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(givenName)
    hasher.combine(event)
    hasher.combine(trees)
  }
}

extension Trigger: DefinitionStatement, WrittenDefinition {
  package func texts(for db: SqliteDatabase?) throws -> [String] {
    guard let db else { return [try text(isLenient: isLenient) { $0.literal }] }
    return try db.running { [try create(for: $0, isLenient: isLenient)] }
  }

  func create(for connection: Connection, isLenient: Bool = false) throws -> String {
    try text(isLenient: isLenient) { try connection.literal($0, isConstant: false) }
  }

  /// - Parameter real: Formats a number so that SQLite reads exactly the same number.
  private func text(isLenient: Bool, real: (Double) throws -> String) throws -> String {
    try check()
    let (sql, parameters) = (SqlBuffer(), ParameterBuffer(lists: .literal))
    let scope = try Scope(triggeredBy: table, event.rows)
    var head = "CREATE TRIGGER \(isLenient ? "IF NOT EXISTS " : "")\(name.quotedName) \(time.rawValue.uppercased())"
    head += " \(event.kind.rawValue.uppercased())"
    if !event.columns.isEmpty {
      let names = try event.columns.map { column in
        guard table.position(of: column) != nil else { throw scope.missing(column) }
        return column.name.quotedName
      }
      head += " OF " + names.joined(separator: ", ")
    }
    sql.append(text: head + " ON ")
    sql.append(table)
    sql.append(" FOR EACH ROW ")
    if let condition {
      sql.append("WHEN ")
      try Renderer(scope, sql: sql, parameters: parameters).write(condition)
      sql.append(" ")
    }
    sql.append("BEGIN ")
    for tree in trees {
      try StatementWriter(table: tree.table, sql: sql, parameters: parameters, outer: scope).write(tree)
      sql.append("; ")
    }
    sql.append("END")
    guard parameters.firstPlaceholder == nil else { throw wrong("can't contain a parameter") }
    return try StatementWithValues(sql: sql.text, parameters: parameters).withLiterals(real: real)
  }

  private func check() throws {
    try table.checkDeclarations()
    guard !name.isEmpty, !name.utf8.contains(0) else { throw wrong("has a name that is empty or contains a NUL byte") }
    guard table.view == nil else { throw wrong("can't be on a view") }
    guard table.fullText?.isExternal != false else { throw wrong("can't be on a full-text table") }
    guard !trees.isEmpty else { throw wrong("has no statements") }
    for tree in trees {
      guard tree.changesRows else { throw wrong("can't contain a query; use an insert, update or delete") }
      guard !tree.takesRows else {
        throw wrong("can't contain a statement that takes structs; insert the rows of a query")
      }
      guard tree.returned == nil else { throw wrong("can't contain RETURNING") }
    }
  }

  private func wrong(_ message: String) -> SqlError {
    SqlError.misuse("trigger \(name) \(message)").at(table: table.name)
  }
}
