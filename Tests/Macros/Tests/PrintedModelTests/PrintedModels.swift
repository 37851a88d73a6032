// Models of the tables in printed.sqlite, written by: sqlable models --macro

import Foundation
import Sqlable

@Sqlable(options: [.strict]) struct Berth {
  var deck: Int
  var number: Int
  var guest: String?
  @Column(DeclaredType("ANY")) var anyValue: Int?
  static let tableIndexes = [Index(guest, deck)]
  static let tableConstraints: [TableConstraint] = [PrimaryKeys(deck, number.desc)]
}

@Sqlable struct Countdown {
  @Column(Int.self) var number: Int?
  var note: String?
  static let tableConstraints: [TableConstraint] = [PrimaryKeys(number.desc)]
}

// Without a primary key: update(), delete() and save() throw.
@Sqlable struct LeftSide {
  @Unique var a: String?
  var b: String?
  static let tableConstraints: [TableConstraint] = [ForeignKeys([a], to: RightSide.self, [RightSide.b])]
}

@Sqlable(options: [.withoutRowid]) struct Maker {
  @PrimaryKey var code: String
  @Column("full name") @Unique var fullName: String
}

// Without a primary key: update(), delete() and save() throw.
@Sqlable(#"odd "table""#) struct OddTable {
  // declared INT, but holds INTEGER and TEXT
  @Column(as: .integer) var a: StoredValue?  // INT
}

@Sqlable struct Product {
  @PrimaryKey(autoincrement: true) var id: Int?
  @Index(unique: true, name: "by_sku") var sku: String  // VARCHAR(8)
  @Default(#"it's "\(x)""#) @Collate(.nocase) var name: String
  @Default(-0.25) @Index(descending: true) var price: Double
  var isSold: Bool?  // BOOLEAN
  @Column(as: .date(.unixSeconds), DeclaredType("TIMESTAMP")) var madeAt: Date?
  var picture: Data?
  @ForeignKey<Maker>(onDelete: .cascade) var makerCode: String
  var makerName: String?
  @ForeignKey<Product>(onDelete: .setNull) var parentId: Int?
  @Column(Double.self) @Generated("price * 2", stored: true) var doubled: Double?
  @Column("HTTPCode") var httpCode: Int?
  @Column("column") var columnValue: String?
  var `default`: String?
  var row: Int?
  static let tableConstraints: [TableConstraint] = [
    Unique(sku, name), Check("price > -1"), Check("length(sku) > 1"),
    ForeignKeys([makerName], to: Maker.self, [Maker.fullName], onUpdate: .cascade, deferred: true),
  ]
}

// Without a primary key: update(), delete() and save() throw.
@Sqlable struct RightSide {
  @Unique var b: String?
  static let tableConstraints: [TableConstraint] = [ForeignKeys([b], to: LeftSide.self, [LeftSide.a])]
}

@Sqlable struct Rule {
  @PrimaryKey(onConflict: .replace) var id: Int?
  @Default("x") @NotNull(onConflict: .replace, name: "filled") var a: String
  @Unique(onConflict: .ignore, name: "only_one") var b: String?
  @ForeignKey<Rule>(name: "parent") var c: Int?
}

@Sqlable(options: [.fullText(tokenizer: .porter)]) struct Memo {
  @PrimaryKey var rowid: Int?
  var title: String?
  @Unindexed var source: String?
}

// A view, which is only read.
struct Cheap {
  var id: Int?
  var price: Double?
}

extension Cheap: Sqlable {
  static let id = column("id", Int?.self)
  static let price = column("price", Double?.self)
  static let tableLayout = [id.column, price.column]
  static let tableOptions: [TableOption] = [.view(View(sql: "SELECT id, price FROM product"))]

  init(row: ReadRow) throws {
    id = try row.get(Cheap.id)
    price = try row.get(Cheap.price)
  }
}

/// A value of any storage class, which is written back as it was read.
///
/// Text that is not UTF-8 is read as a BLOB of its bytes.
struct StoredValue: SqlValue {
  var databaseValue: DatabaseValue { didSet { textBytes = nil } }
  /// The bytes of a text that is not UTF-8.
  private var textBytes: [UInt8]?

  static var columnType: ColumnType { .blob }

  init(databaseValue: DatabaseValue) { self.databaseValue = databaseValue }

  static func read(from cell: ReadCell) throws -> StoredValue {
    guard cell.storageClass == .text else { return StoredValue(databaseValue: try cell.databaseValue()) }
    let bytes = try cell.textBytes()
    if let text = String(validating: bytes, as: UTF8.self) { return StoredValue(databaseValue: .text(text)) }
    var value = StoredValue(databaseValue: .blob(Data(bytes)))
    value.textBytes = bytes
    return value
  }

  func write(to cell: inout WriteCell) throws {
    if let textBytes { cell.set(storedText: textBytes) } else { try cell.set(stored: databaseValue) }
  }
}
