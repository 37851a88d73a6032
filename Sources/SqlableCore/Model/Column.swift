import Synchronization

/// An untyped column of a table. Statements check values against the column's type on every write, read and comparison.
///
/// ```swift
/// static let color = Column("color", .text, Default("black"))     // "color" TEXT NOT NULL DEFAULT 'black'
/// ```
///
/// Declare columns as `static let`. The name and the source line of the declaration identify a column. A filter on
/// another table's column is therefore an error even if the names match.
public struct Column: Sendable {
  @usableFromInline package let definition: ColumnDefinition

  /// Declares a column. The name can be any text, including SQL keywords and quotes.
  public init(
    _ name: String, _ type: ColumnType, _ options: any ColumnOption...,
    file: StaticString = #fileID, line: UInt = #line
  ) {
    self.init(name, type, options: options, file: file, line: line)
  }

  init(_ name: String, _ type: ColumnType, options: [any ColumnOption], file: StaticString, line: UInt) {
    definition = ColumnDefinition(name: name, type: type, options: options, file: file, line: line)
  }

  public var name: String { definition.name }
  public var type: ColumnType { definition.type }

  /// The placeholder for a result column that belongs to no model.
  static let unknown = Column("", .blob)

  /// The definition's address, shared by all copies. After ``ColumnDefinition/keep()`` the address is never reused.
  @usableFromInline
  var identity: UnsafeRawPointer { UnsafeRawPointer(Unmanaged.passUnretained(definition).toOpaque()) }
}

/// The declaration of a column. All copies of the column share this object, so that columns can be compared by address.
@usableFromInline
package final class ColumnDefinition: Sendable {
  package let name: String
  @usableFromInline package let type: ColumnType
  package let options: ColumnOptions
  let quotedName: [UInt8]
  @usableFromInline let nameHash: UInt32
  /// True if a `TableInfo` retains the definition. A `TableInfo` is never freed, so the definition's address is never
  /// reused.
  private let keeping = Atomic<Bool>(false)
  private let file: StaticString
  private let line: UInt

  var declaration: String { "\(file):\(line)" }

  @inline(never)
  init(name: String, type: ColumnType, options: [any ColumnOption], file: StaticString, line: UInt) {
    self.name = name
    self.type = type
    self.options = options.reduce(into: ColumnOptions()) { ($1 as? any AppliedOption)?.apply(to: &$0) }
    self.file = file
    self.line = line
    quotedName = name.quotedBytes()
    nameHash = ColumnDefinition.hash(of: name)
  }

  /// Makes the column of an embedded struct's field, with a prefixed name.
  init(embedding field: ColumnDefinition, name: String, isOptional: Bool, file: StaticString, line: UInt) {
    self.name = name
    type = isOptional ? .nullable(field.type) : field.type
    options = field.options
    self.file = file
    self.line = line
    quotedName = name.quotedBytes()
    nameHash = ColumnDefinition.hash(of: name)
  }

  private static func hash(of name: String) -> UInt32 {
    name.utf8.reduce(2_166_136_261) { ($0 ^ UInt32($1)) &* 16_777_619 }
  }

  var isKept: Bool { keeping.load(ordering: .relaxed) }
  func keep() { keeping.store(true, ordering: .relaxed) }

  /// True if both definitions come from the same declaration. A computed static property, the only kind that a generic
  /// type can have, makes a new object on each use.
  func isSame(as other: ColumnDefinition) -> Bool {
    self === other
      || (line == other.line && name.isExactly(other.name) && type == other.type
        && (file.utf8Start == other.file.utf8Start || file.description == other.file.description))
  }
}

extension Column {
  init(_ definition: ColumnDefinition) { self.definition = definition }
}

extension ColumnDefinition: Hashable {
  @usableFromInline
  package static func == (left: ColumnDefinition, right: ColumnDefinition) -> Bool { left.isSame(as: right) }

  @usableFromInline
  package func hash(into hasher: inout Hasher) { hasher.combine(name) }
}

/// Two columns are equal if they come from the same declaration.
///
/// If the context also accepts an expression, Swift chooses the operator that makes an expression:
/// `filter(Bicycle.name == Bicycle.color)`.
// `==` is synthesized, because the compiler tries a handwritten `==` before the operators that make an expression.
// Rejecting a chain of joins with a mistake would then take seconds.
extension Column: Hashable {
  /// Lets `switch column { case Bicycle.id: … }` compare columns.
  @inlinable
  public static func ~= (pattern: Column, column: Column) -> Bool {
    // Compare addresses first, for speed: valueForColumn(_:) compares every column of every row with each case.
    pattern.definition === column.definition
      || (pattern.definition.nameHash == column.definition.nameHash && pattern.isSame(as: column))
  }

  @usableFromInline
  func isSame(as other: Column) -> Bool { definition.isSame(as: other.definition) }
}

/// A column with a Swift type. Values and terms of another type do not compile.
///
/// ```swift
/// extension Car: Sqlable {
///   static let price = column("price", Double.self)              // "price" REAL NOT NULL
///   static let owner = column("owner_id", Int?.self)             // "owner_id" INTEGER
/// }
/// Car.read().filter(Car.price > 10_000)
/// ```
// Not Equatable: the compiler would try Equatable's `==` before the operators that make an expression, and would take
// seconds to reject a chain of joins with a mistake. The same applies to `TypedExpression`.
public struct TypedColumn<Model: Sqlable, Value: SqlValue>: Sendable {
  /// The untyped column, for `tableLayout`.
  public let column: Column

  init(_ column: Column) {
    self.column = column
  }

  public var name: String { column.name }

  /// Lets `switch column { case Car.id: … }` compare columns.
  @inlinable
  public static func ~= (pattern: TypedColumn, column: Column) -> Bool { pattern.column ~= column }
}

extension Sqlable {
  /// Declares a typed column. `Value` determines the SQL type; an optional type makes the column nullable.
  public static func column<Value: SqlValue>(
    _ name: String, _ type: Value.Type, _ options: any ColumnOption...,
    file: StaticString = #fileID, line: UInt = #line
  ) -> TypedColumn<Self, Value> {
    TypedColumn(Column(name, Value.columnType, options: options, file: file, line: line))
  }

  /// Declares a typed column with an explicit column type, such as `.date(.iso8601)`.
  public static func column<Value: SqlValue>(
    _ name: String, _ type: Value.Type, as columnType: ColumnType, _ options: any ColumnOption...,
    file: StaticString = #fileID, line: UInt = #line
  ) -> TypedColumn<Self, Value> {
    let type = Value.columnType.isNullable ? .nullable(columnType) : columnType
    return TypedColumn(Column(name, type, options: options, file: file, line: line))
  }
}

/// A ``Column`` or a ``TypedColumn``.
public protocol ColumnConvertible: Sendable {
  var column: Column { get }
}

extension TypedColumn: ColumnConvertible {}

extension Column: ColumnConvertible {
  public var column: Column { self }
}

extension [Column] {
  /// Returns a column's position. Compares objects, then declarations, because a computed property creates new objects.
  func position(of definition: ColumnDefinition) -> Int? {
    firstIndex { $0.definition === definition } ?? firstIndex { $0.definition.isSame(as: definition) }
  }
}

extension ColumnDefinition {
  /// The table or source line that declares the column, for an error about a table without this column.
  var origin: String {
    if let table = TableInfo.table(with: self) { return "; the column belongs to table \(table.name) (\(declaration))" }
    return "; the column at \(declaration) must be a static let of the model"
  }
}
