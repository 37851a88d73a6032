/// An option of a column: ``PrimaryKey``, ``Default``, ``Unique``, ``Check``, ``Collate``, ``Generated``,
/// ``ForeignKey`` or ``Unindexed``.
public protocol ColumnOption: Sendable {
  func apply(to options: inout ColumnOptions)
}

/// The combined options of a column.
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
/// An integer key that an insert leaves out gets the next free number; with `autoincrement`, one that was never used.
/// Any other key is NOT NULL, even if the column's type is optional: an insert that leaves it out throws
/// `.constraint(.notNull)` unless the column has a default. In a table that was created without NOT NULL it throws
/// `.misuse`.
public struct PrimaryKey: ColumnOption, Hashable {
  let autoincrement: Bool
  let isDescending: Bool

  public init(autoincrement: Bool = false, descending: Bool = false) {
    self.autoincrement = autoincrement
    isDescending = descending
  }

  public func apply(to options: inout ColumnOptions) { options.primaryKey = self }
}

/// The value stored when an insert leaves the column out, in the form that the column's type stores.
///
/// ```swift
/// Column("color", .text, Default("black"))     // "color" TEXT NOT NULL DEFAULT 'black'
/// ```
///
/// A value that the column does not store throws `.encoding` when the model is first used. It is a constant: SQL
/// expressions such as the time of the insert can't be defaults.
public struct Default: ColumnOption {
  /// The value in every form. The value itself can't be kept: it need not be `Sendable`.
  private let forms: [ColumnType.Base: Result<DatabaseValue, SqlError>]

  public init(_ value: any SqlValue) {
    forms = ColumnType.Base.all.reduce(into: [:]) { forms, base in
      forms[base] = Result { try value.databaseValue(in: ColumnType(base)).checked() }.mapError {
        ($0 as? SqlError) ?? .misuse("the default can't be stored")
      }
    }
  }

  func value(in type: ColumnType) throws -> DatabaseValue {
    guard let form = forms[type.base] else { throw SqlError.misuse("a \(type.name) column can't have a default") }
    let value = try form.get()
    guard type.stores(value) else { throw type.mismatch(value.storageClass) }
    return value
  }

  /// An error about the default, with its place.
  static func located(_ error: any Error, table: String, column: Column) -> SqlError {
    var error = ((error as? SqlError) ?? .misuse("the default can't be stored")).at(table: table, column: column.name)
    if case .encoding(let mismatch) = error.kind {
      error.message = "the default of \(table).\(column.name) should be \(mismatch.expected), but is \(mismatch.found)"
    }
    return error
  }

  public func apply(to options: inout ColumnOptions) { options.defaultValue = self }
}

/// The collation by which text in the column is compared and ordered, unless a statement names another one.
public enum Collate: ColumnOption, Hashable {
  /// Byte by byte: SQLite's default.
  case binary
  /// Ignores the case of the letters A to Z.
  case nocase
  /// Ignores trailing spaces.
  case rtrim
  /// A ``Collation`` registered on the handle, by name.
  case named(String)

  public func apply(to options: inout ColumnOptions) { options.collation = self }
}

extension Collate {
  // By bytes: Swift's == equates different encodings of a character, SQLite does not.
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

  /// The name in SQL, quoted unless it is built in.
  var sql: [UInt8] {
    if case .named(let name) = self { name.quotedBytes() } else { [UInt8](rawValue.utf8) }
  }
}

/// Sets the column's collation. Register it on every handle that uses the column.
extension Collation: ColumnOption {
  public func apply(to options: inout ColumnOptions) { options.collation = .named(name) }
}

/// A condition in SQL that every row must satisfy, as an option of a column or a constraint of the table.
///
/// ```swift
/// Column("price", .real, Check("price >= 0"))     // CHECK (price >= 0)
/// ```
///
/// A row that violates it throws `.constraint(.check)`. A condition that is NULL passes.
public struct Check: ColumnOption, TableConstraint, Hashable {
  let sql: String

  public init(_ sql: String) { self.sql = sql }

  public func apply(to options: inout ColumnOptions) { options.check = sql }
  public func write(to table: inout TableConstraints) { table.checks.append(sql) }
}

/// Makes SQLite compute the column from others. It can be read and filtered on, but is never written.
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

/// The action on a row when the row that it references is deleted or its key changes.
public enum ForeignKeyAction: String, Sendable, Hashable, Codable {
  case noAction = "NO ACTION"
  case restrict = "RESTRICT"
  case setNull = "SET NULL"
  case setDefault = "SET DEFAULT"
  case cascade = "CASCADE"
}

/// Makes the column reference a row of another table.
///
/// ```swift
/// Column("owner_id", .nullable(.integer), ForeignKey<Person>(onDelete: .setNull))
/// // "owner_id" INTEGER REFERENCES "person" ("id") ON DELETE SET NULL
/// ```
///
/// Without a column it references the other table's primary key. A violation throws `.constraint(.foreignKey)`.
public struct ForeignKey<Target: Sqlable>: ColumnOption {
  private let reference: ForeignKeyReference

  public init(onDelete: ForeignKeyAction = .noAction, onUpdate: ForeignKeyAction = .noAction, deferred: Bool = false) {
    reference = ForeignKeyReference(
      table: { Target.tableName }, columns: { nil }, primaryKey: { try TableInfo.of(Target.self).keyNames() },
      onDelete: onDelete, onUpdate: onUpdate, isDeferred: deferred)
  }

  /// References a column of your choice, which must be unique.
  ///
  /// The closure runs when the table is created, so tables may reference one another and themselves.
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

/// A reference to another table. It reads the other model's properties when they are needed, not when it is declared:
/// two models that reference each other would otherwise deadlock initializing their static properties.
struct ForeignKeyReference: Sendable {
  let table: @Sendable () -> String
  let columns: @Sendable () -> [String]?
  let primaryKey: @Sendable () throws -> [String]
  let onDelete: ForeignKeyAction
  let onUpdate: ForeignKeyAction
  let isDeferred: Bool
}
