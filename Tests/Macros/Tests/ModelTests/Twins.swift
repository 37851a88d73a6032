import Foundation
import Sqlable

// The same models twice: with macros and handwritten.

enum State: String, SqlValue, Codable { case new, used }

struct Size: SqlJSON, Equatable {
  var width: Int
  var height: Int
}

enum Drawn {
  @SqlEmbedded struct Place: Equatable {
    var street: String
    @Column("town", Collate.nocase) var city: String?
  }

  @Sqlable struct Maker: Equatable {
    @PrimaryKey let code: String
    @Unique var fullName: String
  }

  @Sqlable("products", options: [.strict]) struct Product: Equatable {
    @PrimaryKey(autoincrement: true) var id: Int?
    @Index(unique: true) var sku: String
    @Collate(.nocase) @FullText(tokenizer: .porter, prefixes: [2]) var name: String
    @FullText var text: String
    @Default var color = "black"
    @Default var state: State = .new
    @Check("price >= 0") @Index(name: "by_price", descending: true) var price: Double
    @ForeignKey<Maker>(onDelete: .cascade) var makerCode: String
    @ForeignKey<Maker>(column: \.fullName, onUpdate: .cascade, deferred: true) var makerName: String?
    @ForeignKey<Product>(onDelete: .setNull) var parentID: Int?
    @Generated("price * 2", stored: true) var doubled: Double?
    @Column("a label", String.self) @Generated("name || '!'") var label: String?
    @Column("sold", as: .date(.iso8601)) var soldAt: Date?
    @Embedded var home: Place
    @Embedded("w") var work: Place?
    var size: Size
    var tags: [String] = []
    var row = 0 { didSet {} }
    private(set) var `default`: Int?
    @Transient var isDirty = false

    var isSold: Bool { soldAt != nil }
    static let limit = 5
    static let tableConstraints: [TableConstraint] = [Unique(sku, name), Check("length(sku) > 1")]
  }
}

enum Written {
  struct Place: Equatable {
    var street: String
    var city: String?
  }

  struct Maker: Equatable {
    let code: String
    var fullName: String
  }

  struct Product: Equatable {
    var id: Int?
    var sku: String
    var name: String
    var text: String
    var color = "black"
    var state: State = .new
    var price: Double
    var makerCode: String
    var makerName: String?
    var parentID: Int?
    var doubled: Double?
    var label: String?
    var soldAt: Date?
    var home: Place
    var work: Place?
    var size: Size
    var tags: [String] = []
    var row = 0
    var `default`: Int?
    var isDirty = false
  }
}

extension Written.Place: SqlEmbedded {
  static let street = field("street", String.self)
  static let city = field("town", String?.self, Collate.nocase)
  static let fields = [street.column, city.column]

  init(row: EmbeddedRow) throws {
    street = try row.get(Written.Place.street)
    city = try row.get(Written.Place.city)
  }

  func write(to row: inout EmbeddedWriter) throws {
    row.set(Written.Place.street, street)
    row.set(Written.Place.city, city)
  }
}

extension Written.Maker: Sqlable {
  static let code = column("code", String.self, PrimaryKey())
  static let fullName = column("full_name", String.self, Unique())
  static let tableLayout = [code.column, fullName.column]

  init(row: ReadRow) throws {
    code = try row.get(Written.Maker.code)
    fullName = try row.get(Written.Maker.fullName)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Written.Maker.code, code)
    row.set(Written.Maker.fullName, fullName)
  }
}

extension Written.Product: Sqlable {
  static let tableName = "products"
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let sku = column("sku", String.self)
  static let name = column("name", String.self, Collate.nocase)
  static let text = column("text", String.self)
  static let color = column("color", String.self, Default("black"))
  static let state = column("state", State.self, Default(State.new))
  static let price = column("price", Double.self, Check("price >= 0"))
  static let makerCode = column("maker_code", String.self, ForeignKey<Written.Maker>(onDelete: .cascade))
  static let makerName = column(
    "maker_name", String?.self,
    ForeignKey<Written.Maker>(column: Written.Maker.fullName, onUpdate: .cascade, deferred: true))
  static let parentID = column("parent_id", Int?.self, ForeignKey<Written.Product>(onDelete: .setNull))
  static let doubled = column("doubled", Double?.self, Generated("price * 2", stored: true))
  static let label = column("a label", String.self, Generated("name || '!'"))
  static let soldAt = column("sold", Date?.self, as: .date(.iso8601))
  static let home = embedded("home", Written.Place.self)
  static let work = embedded("w", Written.Place?.self)
  static let size = column("size", Size.self)
  static let tags = column("tags", [String].self)
  static let row = column("row", Int.self)
  static let `default` = column("default", Int?.self)
  static let tableLayout: [Column] =
    [
      id.column, sku.column, name.column, text.column, color.column, state.column, price.column, makerCode.column,
      makerName.column, parentID.column, doubled.column, label.column, soldAt.column,
    ] + home.columns + work.columns + [size.column, tags.column, row.column, `default`.column]
  static let tableIndexes = [Index(sku, unique: true), Index(price.desc, name: "by_price")]
  static let tableConstraints: [TableConstraint] = [Unique(sku, name), Check("length(sku) > 1")]
  static let tableOptions: [TableOption] = [.strict]
  static let tableFullText = FullTextIndex(name, text, tokenizer: .porter, prefixes: [2])

  init(row: ReadRow) throws {
    id = try row.get(Written.Product.id)
    sku = try row.get(Written.Product.sku)
    name = try row.get(Written.Product.name)
    text = try row.get(Written.Product.text)
    color = try row.get(Written.Product.color)
    state = try row.get(Written.Product.state)
    price = try row.get(Written.Product.price)
    makerCode = try row.get(Written.Product.makerCode)
    makerName = try row.get(Written.Product.makerName)
    parentID = try row.get(Written.Product.parentID)
    doubled = try row.get(Written.Product.doubled)
    label = try row.get(Written.Product.label)
    soldAt = try row.get(Written.Product.soldAt)
    home = try row.get(Written.Product.home)
    work = try row.get(Written.Product.work)
    size = try row.get(Written.Product.size)
    tags = try row.get(Written.Product.tags)
    self.row = try row.get(Written.Product.row)
    `default` = try row.get(Written.Product.default)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Written.Product.id, id)
    row.set(Written.Product.sku, sku)
    row.set(Written.Product.name, name)
    row.set(Written.Product.text, text)
    row.set(Written.Product.color, color)
    row.set(Written.Product.state, state)
    row.set(Written.Product.price, price)
    row.set(Written.Product.makerCode, makerCode)
    row.set(Written.Product.makerName, makerName)
    row.set(Written.Product.parentID, parentID)
    row.set(Written.Product.soldAt, soldAt)
    row.set(Written.Product.home, home)
    row.set(Written.Product.work, work)
    row.set(Written.Product.size, size)
    row.set(Written.Product.tags, tags)
    row.set(Written.Product.row, self.row)
    row.set(Written.Product.default, `default`)
  }
}
