import Sqlable
import Synchronization

/// Models of a database's tables.
///
/// Decoding a statement needs a type for each table, but the tables are known only at run time. So each table gets a
/// specialization of the generic type `DatabaseTable`, whose type argument encodes the table's number.
enum DatabaseModels {
  private static let declarations = Mutex<[DeclaredTable]>([])

  /// Returns models of the tables. Call this only once, because the library reads a model's declarations once per
  /// process.
  static func models(of tables: [DeclaredTable]) -> [any Sqlable.Type] {
    declarations.withLock { $0 = tables }
    return tables.indices.map { DatabaseModels.typeNumber($0 + 1).model }
  }

  fileprivate static func table(_ number: Int) -> DeclaredTable { declarations.withLock { $0[number - 1] } }

  /// Returns a type that stands for a positive number. The type has one level of nesting per binary digit of the
  /// number.
  private static func typeNumber(_ number: Int) -> any TypeNumber.Type {
    if number == 1 { return First.self }
    let half = typeNumber(number / 2)
    return number.isMultiple(of: 2) ? half.even : half.odd
  }
}

private protocol TypeNumber: Sendable {
  static var number: Int { get }
}

private enum First: TypeNumber {
  static var number: Int { 1 }
}

private enum Even<Half: TypeNumber>: TypeNumber {
  static var number: Int { Half.number * 2 }
}

private enum Odd<Half: TypeNumber>: TypeNumber {
  static var number: Int { Half.number * 2 + 1 }
}

extension TypeNumber {
  fileprivate static var even: any TypeNumber.Type { Even<Self>.self }
  fileprivate static var odd: any TypeNumber.Type { Odd<Self>.self }
  fileprivate static var model: any Sqlable.Type { DatabaseTable<Self>.self }
}

/// The model of the table with this number. Its rows are read as `DynamicRow`, not as structs.
private struct DatabaseTable<Number: TypeNumber>: Sqlable {
  private static var table: DeclaredTable { DatabaseModels.table(Number.number) }

  static var tableName: String { table.name }
  static var tableLayout: [Column] { table.columns }
  static var tableConstraints: [TableConstraint] { table.key.isEmpty ? [] : [PrimaryKeys(columns: table.key)] }
  static var tableOptions: [TableOption] { table.options }
  static var tableFullText: FullTextIndex { table.fullText }

  init(row: ReadRow) throws {
    throw SqlError(.misuse("a table of the database has no struct"), message: "a table of the database has no struct")
  }
}
