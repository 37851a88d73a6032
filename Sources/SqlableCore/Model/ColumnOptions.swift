/// An option of a column: ``PrimaryKey``, ``RowId``, ``NotNull``, ``Default``, ``Unique``, ``Check``, ``Collate``,
/// ``Collation``, ``Generated``, ``ForeignKey``, ``Unindexed`` or ``DeclaredType``.
public protocol ColumnOption: Sendable {}

/// An option that changes a column's definition. Every option of the library conforms.
package protocol AppliedOption: ColumnOption {
  func apply(to options: inout ColumnOptions)
}

package struct ColumnOptions: Sendable {
  package var primaryKey: PrimaryKey?
  package var isRowId = false
  package var notNull: ConstraintClauses?
  package var unique: ConstraintClauses?
  package var defaultValue: Default?
  package var collation: Collate?
  package var checks: [Check] = []
  package var generated: Generated?
  package var foreignKeys: [ForeignKeyReference] = []
  package var isUnindexed = false
  package var declaredType: DeclaredType?
  /// The contradiction in the options, such as `the option Default is given twice`; nil if the options are consistent.
  var defect: String?

  package var isUnique: Bool { unique != nil }

  var standInView: Bool { standInFullText && !isUnindexed && declaredType == nil }

  var standInFullText: Bool {
    let isConstrained = notNull != nil || unique != nil || !checks.isEmpty || !foreignKeys.isEmpty
    return !isConstrained && defaultValue == nil && collation == nil && generated == nil
      && primaryKey?.autoincrement != true
  }

  mutating func set<Option>(_ option: WritableKeyPath<ColumnOptions, Option?>, to value: Option, _ name: String) {
    if self[keyPath: option] != nil { defect = "the option \(name) is given twice" }
    self[keyPath: option] = value
  }
}

/// Makes the column the table's primary key.
///
/// ```swift
/// Column("id", .integer, PrimaryKey(autoincrement: true))     // "id" INTEGER PRIMARY KEY AUTOINCREMENT
/// ```
///
/// If an insert leaves out an integer key that is the rowid, SQLite chooses an unused number, usually the largest key
/// plus 1. With `autoincrement`, SQLite chooses a number that was never used.
///
/// Any other key is NOT NULL, even if the column's type is optional. Unless the column has a default, an insert that
/// leaves out this key throws `.constraint(.notNull)`. If the key is an integer, or if the existing table's key column
/// lacks NOT NULL, such an insert throws `.misuse`.
public struct PrimaryKey: ColumnOption, AppliedOption, Hashable {
  package let autoincrement: Bool
  package let isDescending: Bool
  package let clauses: ConstraintClauses

  /// - Parameters:
  ///   - autoincrement: True if SQLite never reuses the number of a deleted row. Only an ascending integer key can have
  ///     this option.
  ///   - descending: True if the key is in descending order. A descending integer key is not the rowid.
  ///   - onConflict: The policy for an insert or update with a key that exists: `PRIMARY KEY ON CONFLICT REPLACE`. A
  ///     statement's own policy takes precedence. An ignored insert returns 0.
  ///   - name: The constraint's name: `CONSTRAINT "name" PRIMARY KEY`.
  public init(
    autoincrement: Bool = false, descending: Bool = false, onConflict: ConflictPolicy? = nil, name: String? = nil
  ) {
    self.autoincrement = autoincrement
    isDescending = descending
    clauses = ConstraintClauses(name: name, onConflict: onConflict)
  }

  package func apply(to options: inout ColumnOptions) { options.set(\.primaryKey, to: self, "PrimaryKey") }
}

/// Makes the column SQLite's hidden rowid, as the key of a table that declares no key.
///
/// ```swift
/// static let rowid = column("rowid", Int?.self, RowId())     // SELECT "rowid", "text" FROM "note"
/// note.update()                                              // UPDATE "note" SET "text" = ? WHERE "rowid" = ?
/// ```
///
/// The column is named `rowid`, or `_rowid_` or `oid` if the table has another column named `rowid`. CREATE TABLE does
/// not contain the column. `VACUUM` can change the rowids of such a table, so don't store the rowids elsewhere. For
/// tables that your program creates, use ``PrimaryKey`` instead.
public struct RowId: ColumnOption, AppliedOption, Hashable {
  public init() {}

  package func apply(to options: inout ColumnOptions) {
    options.set(\.primaryKey, to: PrimaryKey(), "PrimaryKey")
    options.isRowId = true
  }
}

/// Sets the policy for a NULL in the column, or names the constraint. Even without this option, a column whose type is
/// not nullable is NOT NULL.
///
/// ```swift
/// Column("color", .text, Default("black"), NotNull(onConflict: .replace))
/// // "color" TEXT NOT NULL ON CONFLICT REPLACE DEFAULT 'black'
/// ```
///
/// With `.replace`, SQLite stores the column's default instead of NULL, if the column has a default. With `.ignore`,
/// SQLite skips the row. In all other cases the statement throws `.constraint(.notNull)`. A statement's own policy
/// takes precedence. Outside the primary key, a nullable column can't have this option.
public struct NotNull: ColumnOption, AppliedOption, Hashable {
  private let clauses: ConstraintClauses

  public init(onConflict: ConflictPolicy? = nil, name: String? = nil) {
    clauses = ConstraintClauses(name: name, onConflict: onConflict)
  }

  package func apply(to options: inout ColumnOptions) { options.set(\.notNull, to: clauses, "NotNull") }
}

/// The value that SQLite stores when an insert leaves out the column: a constant, the time of the insert, or the value
/// of an SQL expression.
///
/// ```swift
/// Column("color", .text, Default("black"))                           // "color" TEXT NOT NULL DEFAULT 'black'
/// Column("at", .date(.unixSeconds), Default(.now))
/// // "at" INTEGER NOT NULL DEFAULT (CAST(strftime('%s', 'now') AS INTEGER))
/// Column("token", .text, Default(sql: "hex(randomblob(8))"))         // … DEFAULT (hex(randomblob(8)))
/// ```
///
/// A constant is converted to the column's type. Every statement of the model throws `.encoding` if the column's type
/// can't store the constant, or if a column with the default `.now` is not a date column. A stored NULL is not replaced
/// by the default.
public struct Default: ColumnOption, AppliedOption {
  private enum Source {
    /// The constant as each column type stores it. The original value is not kept, because its type is not always
    /// `Sendable`.
    case value([ColumnType.Base: Result<DatabaseValue, SqlError>])
    case sql(String)
    case now
  }

  private let source: Source

  /// A time that SQLite computes while storing a row.
  public enum Time: Sendable, Hashable {
    /// The time of the insert in UTC, to the millisecond. All rows of one statement get the same time.
    case now
  }

  /// Makes the time of the insert the default, in the date format of the column.
  public init(_ time: Time) { source = .now }

  /// Makes the value of an SQL expression the default. SQLite evaluates the expression for each row.
  ///
  /// - Parameter sql: The expression, inserted unchanged. Write the expression in the program; never take it from user
  ///   input. Creating the table throws `.other` if the expression contains a column or a subquery.
  public init(sql: String) { source = .sql(sql) }

  /// Makes a constant the default.
  public init(_ value: any SqlValue) {
    func form(_ base: ColumnType.Base) -> Result<DatabaseValue, SqlError> {
      Result { try value.databaseValue(in: ColumnType(base)).checked() }.mapError {
        ($0 as? SqlError) ?? .misuse("SQLite can't store the default")
      }
    }
    var forms = ColumnType.Base.unscaled.reduce(into: [:]) { $0[$1] = form($1) }
    for scale in ColumnType.scales {
      let decimalForm = form(.decimal(scale: scale))
      forms[.decimal(scale: scale)] = decimalForm
      if case .success(let value) = decimalForm, value.storageClass != .integer { break }
    }
    source = .value(forms)
  }

  /// Returns the SQL of a default that SQLite computes; nil for a constant.
  package func expression(in type: ColumnType) throws -> String? {
    switch source {
    case .value: return nil
    case .sql(let text): return text
    case .now:
      guard let format = type.dateFormat else {
        throw SqlError.encoding(expected: type.name, found: "the current time")
      }
      return "\(format.function.start)'now'\(format.function.end)"
    }
  }

  package func constant(in type: ColumnType) throws -> DatabaseValue? {
    guard case .value(let forms) = source else { return nil }
    // Columns of every decimal scale store some constants alike, for example a text. For such a constant, `forms` has a
    // single entry for all scales, under scale 0.
    let other: ColumnType.Base = type.scale == nil ? type.base : .decimal(scale: 0)
    guard let form = forms[type.base] ?? forms[other] else {
      throw SqlError.misuse("a \(type.name) column can't have a default")
    }
    let value = try form.get()
    guard type.stores(value) else { throw type.mismatch(value.storageClass) }
    return value
  }

  package static func located(_ error: any Error, table: String, column: Column) -> SqlError {
    var error = ((error as? SqlError) ?? .misuse("SQLite can't store the default")).at(
      table: table, column: column.name)
    if case .encoding(let mismatch) = error.kind {
      error.message = "the default of \(table).\(column.name) should be \(mismatch.expected), but is \(mismatch.found)"
    }
    return error
  }

  package func apply(to options: inout ColumnOptions) { options.set(\.defaultValue, to: self, "Default") }
}

/// The collation that compares and orders text in the column, unless a statement names another collation.
public enum Collate: ColumnOption, AppliedOption, Hashable {
  /// Compares byte by byte: SQLite's default.
  case binary
  /// Ignores the case of the letters A to Z.
  case nocase
  /// Ignores trailing spaces.
  case rtrim
  /// The name of a ``Collation`` that is registered on the handle.
  case named(String)

  package func apply(to options: inout ColumnOptions) { options.set(\.collation, to: self, "Collate") }
}

extension Collate {
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

  /// The name in SQL. The name of a built-in collation is not quoted.
  package var sql: [UInt8] {
    if case .named(let name) = self { name.quotedBytes() } else { [UInt8](rawValue.utf8) }
  }
}

/// Sets the column's collation. Register the collation on every handle that uses the column.
extension Collation: ColumnOption, AppliedOption {
  package func apply(to options: inout ColumnOptions) { options.set(\.collation, to: .named(name), "Collate") }
}

/// A condition that every row must satisfy: an option of a column or a constraint of the table.
///
/// ```swift
/// Column("price", .real, Check("price >= 0"))                                           // CHECK (price >= 0)
/// static let tableConstraints: [TableConstraint] = [Check(Product.price >= 0)]          // CHECK ("price" >= 0.0)
/// ```
///
/// If the condition is false for a written row, the statement throws `.constraint(.check)`, or with `.ignore` skips the
/// row. If the condition is NULL, the row is stored. A column or table can have several checks.
public struct Check: ColumnOption, AppliedOption, TableConstraint, AppliedConstraint, Hashable {
  package let expression: DeclaredExpression
  package let clauses: ConstraintClauses

  /// Makes a check from an SQL condition.
  ///
  /// - Parameters:
  ///   - sql: The condition, inserted unchanged. Write the condition in the program; never take it from user input.
  ///   - name: The constraint's name: `CONSTRAINT "name" CHECK (…)`. The error message of a violation contains the
  ///     name.
  public init(_ sql: String, name: String? = nil) { self.init(expression: .sql(sql), name: name) }

  init(expression: DeclaredExpression, name: String?) {
    self.expression = expression
    clauses = ConstraintClauses(name: name)
  }

  package func apply(to options: inout ColumnOptions) { options.checks.append(self) }
  package func write(to table: inout TableConstraints) { table.checks.append(self) }
}

/// Makes SQLite compute the column from other columns. Statements can read and filter a generated column, but never
/// write it.
///
/// ```swift
/// Column("total", .real, Generated("price * amount", stored: true))
/// // … GENERATED ALWAYS AS (price * amount) STORED
/// ```
public struct Generated: ColumnOption, AppliedOption, Hashable {
  package let expression: DeclaredExpression
  package let isStored: Bool

  /// Computes the column with an SQL expression, which is inserted unchanged. Write the expression in the program;
  /// never take it from user input.
  public init(_ sql: String, stored: Bool = false) { self.init(expression: .sql(sql), isStored: stored) }

  init(expression: DeclaredExpression, isStored: Bool) {
    self.expression = expression
    self.isStored = isStored
  }

  package func apply(to options: inout ColumnOptions) { options.set(\.generated, to: self, "Generated") }
}

/// The action on referencing rows when the referenced row is deleted or its key changes.
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
/// Without a column, the option references the other table's primary key. A violation throws
/// `.constraint(.foreignKey)`. The referenced column must be the other model's key or a unique column. With any other
/// column, every statement of this model throws `.misuse`. A column can have several foreign keys.
public struct ForeignKey<Target: Sqlable>: ColumnOption, AppliedOption {
  private let reference: ForeignKeyReference

  /// References the primary key. `name` is the constraint's name: `CONSTRAINT "name" REFERENCES …`.
  public init(
    onDelete: ForeignKeyAction = .noAction, onUpdate: ForeignKeyAction = .noAction, deferred: Bool = false,
    name: String? = nil
  ) {
    reference = ForeignKeyReference(
      to: Target.self, columns: { nil }, onDelete: onDelete, onUpdate: onUpdate, isDeferred: deferred, name: name)
  }

  /// References a unique column.
  ///
  /// The closure does not run before the model is used, so two tables can reference each other, and a table can
  /// reference itself.
  public init(
    column: @autoclosure @escaping @Sendable () -> any ColumnConvertible, onDelete: ForeignKeyAction = .noAction,
    onUpdate: ForeignKeyAction = .noAction, deferred: Bool = false, name: String? = nil
  ) {
    reference = ForeignKeyReference(
      to: Target.self, columns: { [column().column.name] }, onDelete: onDelete, onUpdate: onUpdate,
      isDeferred: deferred, name: name)
  }

  package func apply(to options: inout ColumnOptions) { options.foreignKeys.append(reference) }
}

/// A reference to another model. The other model is read on first use: otherwise two models that reference each other
/// would deadlock.
package struct ForeignKeyReference: Sendable {
  /// Returns the referenced model's declarations, unchecked.
  let target: @Sendable () -> TableInfo
  package let table: @Sendable () -> String
  /// The columns that the declaration names; nil if the declaration references the primary key.
  let named: @Sendable () -> [String]?
  package let onDelete: ForeignKeyAction
  package let onUpdate: ForeignKeyAction
  package let isDeferred: Bool
  package let clauses: ConstraintClauses

  init<Target: Sqlable>(
    to model: Target.Type, columns: @escaping @Sendable () -> [String]?, onDelete: ForeignKeyAction,
    onUpdate: ForeignKeyAction, isDeferred: Bool, name: String?
  ) {
    target = { TableInfo.declared(Target.self) }
    table = { Target.tableName }
    named = columns
    (self.onDelete, self.onUpdate, self.isDeferred) = (onDelete, onUpdate, isDeferred)
    clauses = ConstraintClauses(name: name)
  }

  /// The referenced columns; empty if the referenced model has no key.
  package var columns: [String] {
    if let named = named() { return named }
    let target = target()
    return target.key.map { target.columns[$0].name }
  }
}
