/// A property of a column beside its name and type: ``PrimaryKey``, ``Default``, ``Unique``, ``Check``, ``Collate``,
/// ``Generated``, ``ForeignKey``, ``Unindexed``.
public protocol ColumnOption: Sendable {
  func apply(to options: inout ColumnOptions)
}

/// What the options of a column say together.
public struct ColumnOptions: Sendable {
  var primaryKey: PrimaryKey?
  var isUnique = false
  var defaultValue: Default?
  var collation: Collate?
  var check: String?
  var generated: Generated?
  var foreignKey: ForeignKeyReference?
  var isUnindexed = false
}

/// Makes the column the table's primary key.
///
/// ```swift
/// Column("id", .integer, PrimaryKey(autoincrement: true))     // "id" INTEGER PRIMARY KEY AUTOINCREMENT
/// ```
///
/// An integer key that is left out gets the next free number; with `autoincrement` one that was never used before.
public struct PrimaryKey: ColumnOption, Hashable {
  let autoincrement: Bool
  let isDescending: Bool

  public init(autoincrement: Bool = false, descending: Bool = false) {
    self.autoincrement = autoincrement
    isDescending = descending
  }

  public func apply(to options: inout ColumnOptions) { options.primaryKey = self }
}

/// What is stored when the column is left out, in the form that the column has.
///
/// ```swift
/// Column("color", .text, Default("black"))     // "color" TEXT NOT NULL DEFAULT 'black'
/// ```
public struct Default: ColumnOption {
  /// The value in every form: a value can't be kept itself, since it need not be `Sendable`.
  private let forms: [ColumnType.Base: Result<DatabaseValue, SqlError>]

  public init(_ value: any SqlValue) {
    forms = ColumnType.Base.all.reduce(into: [:]) { forms, base in
      forms[base] = Result { try value.databaseValue(in: ColumnType(base)).checked() }.mapError {
        ($0 as? SqlError) ?? .misuse("the default can't be stored")
      }
    }
  }

  func value(in type: ColumnType) throws -> DatabaseValue {
    guard let form = forms[type.base] else { throw SqlError.misuse("a column of \(type.name) takes no default") }
    return try form.get()
  }

  public func apply(to options: inout ColumnOptions) { options.defaultValue = self }
}

/// How texts of the column are compared and ordered, unless a statement says otherwise.
public enum Collate: ColumnOption, Hashable {
  /// Byte by byte: SQLite's default.
  case binary
  /// Upper and lower case of the letters A to Z are the same.
  case nocase
  /// Spaces at the end do not count.
  case rtrim
  /// A ``Collation`` that is registered on the handle, by its name.
  case named(String)

  public func apply(to options: inout ColumnOptions) { options.collation = self }
}

extension Collate {
  // By bytes, as SQLite tells names apart.
  public static func == (left: Collate, right: Collate) -> Bool { left.sql == right.sql }
  public func hash(into hasher: inout Hasher) { hasher.combine(sql) }
}

extension Collate: RawRepresentable {
  /// The name of the collation.
  public var rawValue: String {
    switch self {
    case .binary: "BINARY"
    case .nocase: "NOCASE"
    case .rtrim: "RTRIM"
    case .named(let name): name
    }
  }

  public init(rawValue: String) {
    switch rawValue {
    case "BINARY": self = .binary
    case "NOCASE": self = .nocase
    case "RTRIM": self = .rtrim
    default: self = .named(rawValue)
    }
  }

  /// The name as SQL spells it.
  var sql: [UInt8] {
    if case .named(let name) = self { name.quotedBytes() } else { [UInt8](rawValue.utf8) }
  }
}

/// Makes the collation, which is to be registered on every handle that uses the column, the column's own.
extension Collation: ColumnOption {
  public func apply(to options: inout ColumnOptions) { options.collation = .named(name) }
}

/// A condition, in SQL, that every row must meet; a column's, or the table's.
///
/// ```swift
/// Column("price", .real, Check("price >= 0"))     // CHECK (price >= 0)
/// ```
///
/// Breaking it throws `.constraint(.check)`. NULL passes.
public struct Check: ColumnOption, TableConstraint, Hashable {
  let sql: String

  public init(_ sql: String) { self.sql = sql }

  public func apply(to options: inout ColumnOptions) { options.check = sql }
  public func write(to table: inout TableConstraints) { table.checks.append(sql) }
}

/// A column that SQLite computes from others. It can be read and filtered on, and is never written.
///
/// ```swift
/// Column("total", .real, Generated("price * amount", stored: true))
/// // … GENERATED ALWAYS AS (price * amount) STORED
/// ```
public struct Generated: ColumnOption, Hashable {
  let sql: String
  let isStored: Bool

  public init(_ sql: String, stored: Bool = false) {
    self.sql = sql
    isStored = stored
  }

  public func apply(to options: inout ColumnOptions) { options.generated = self }
}

/// What happens to a row when the row that it refers to is deleted, or changes its key.
public enum ForeignKeyAction: String, Sendable, Hashable {
  case noAction = "NO ACTION"
  case restrict = "RESTRICT"
  case setNull = "SET NULL"
  case setDefault = "SET DEFAULT"
  case cascade = "CASCADE"
}

/// Makes the column refer to a row of another table.
///
/// ```swift
/// Column("owner_id", .nullable(.integer), ForeignKey<Person>(onDelete: .setNull))
/// // "owner_id" INTEGER REFERENCES "person" ("id") ON DELETE SET NULL
/// ```
///
/// Without a column it refers to the other table's primary key. Breaking it throws `.constraint(.foreignKey)`.
public struct ForeignKey<Target: Sqlable>: ColumnOption {
  private let reference: ForeignKeyReference

  public init(onDelete: ForeignKeyAction = .noAction, onUpdate: ForeignKeyAction = .noAction, deferred: Bool = false) {
    reference = ForeignKeyReference(
      table: { Target.tableName }, columns: { nil }, primaryKey: { try TableInfo.of(Target.self).keyNames() },
      onDelete: onDelete, onUpdate: onUpdate, isDeferred: deferred)
  }

  /// Refers to a column of your choice, which must be unique.
  ///
  /// The column is looked up when the table is created, so tables may refer to one another, and to themselves.
  public init(
    column: @autoclosure @escaping @Sendable () -> any ColumnConvertible, onDelete: ForeignKeyAction = .noAction,
    onUpdate: ForeignKeyAction = .noAction, deferred: Bool = false
  ) {
    reference = ForeignKeyReference(
      table: { Target.tableName }, columns: { [column().column.name] },
      primaryKey: { try TableInfo.of(Target.self).keyNames() },
      onDelete: onDelete, onUpdate: onUpdate, isDeferred: deferred)
  }

  public func apply(to options: inout ColumnOptions) { options.foreignKey = reference }
}

/// A reference to another table. It asks the other model when it is needed, not when it is declared: two models that
/// refer to one another would wait for each other's static properties for ever.
struct ForeignKeyReference: Sendable {
  let table: @Sendable () -> String
  let columns: @Sendable () -> [String]?
  let primaryKey: @Sendable () throws -> [String]
  let onDelete: ForeignKeyAction
  let onUpdate: ForeignKeyAction
  let isDeferred: Bool
}
