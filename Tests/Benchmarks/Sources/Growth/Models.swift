import Sqlable
import Synchronization

struct Item: Sqlable, Hashable {
  var id: Int?
  var name: String
  var price: Int?

  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let price = column("price", Int?.self)
  static let tableLayout = [id.column, name.column, price.column]
  static let tableIndexes = [Index(name)]

  init(id: Int? = nil, name: String, price: Int? = nil) { (self.id, self.name, self.price) = (id, name, price) }

  init(row: ReadRow) throws {
    id = try row.get(Item.id)
    name = try row.get(Item.name)
    price = try row.get(Item.price)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Item.id, id)
    row.set(Item.name, name)
    row.set(Item.price, price)
  }

  static func database(_ rows: Int = 0) throws -> SqliteDatabase {
    let db = try SqliteDatabase.inMemory()
    try db.createTable(Item.self)
    try Item.insert((0..<rows).map { Item(name: "item \($0)", price: $0) }).run(db)
    return db
  }
}

/// A model with `count` integer columns.
struct Wide<let count: Int>: Sqlable {
  var values: [Int]

  static var tableName: String { "wide_\(count)" }
  static var tableLayout: [Column] { WideColumns.shared.columns(count) }

  init(_ start: Int) { values = (0..<count).map { start + $0 } }

  init(row: ReadRow) throws { values = try Self.tableLayout.map { try row.get($0) } }

  func write(to row: inout RowWriter) throws {
    for (column, value) in zip(Self.tableLayout, values) { row.set(column, value) }
  }
}

/// The columns of all wide models, each declared once.
final class WideColumns: Sendable {
  static let shared = WideColumns()
  private let known = Mutex<[Int: [Column]]>([:])

  func columns(_ count: Int) -> [Column] {
    known.withLock { known in
      if let columns = known[count] { return columns }
      let columns = (0..<count).map { Column("c\($0)", .integer) }
      known[count] = columns
      return columns
    }
  }
}
