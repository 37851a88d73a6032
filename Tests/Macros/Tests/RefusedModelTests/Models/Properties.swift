import Foundation
import Sqlable

struct Site: SqlEmbedded {
  static let name = field("name", String.self)
  static let fields = [name.column]
  var name: String
  init(row: EmbeddedRow) throws { name = try row.get(Site.name) }
  func write(to row: inout EmbeddedWriter) throws { row.set(Site.name, name) }
}

@Sqlable struct Constant {
  var id: Int
  let a = 5  // refused: a is a let with an initial value
}

@Sqlable public struct PublicConstant {
  public var id: Int
  public let a = 5  // refused: a is a let with an initial value
}

@Sqlable final class ConstantOfClass {
  let id: Int
  let a = 5  // refused: a is a let with an initial value
}

@Sqlable struct Static {
  var id: Int
  @Unique static let a = 5  // refused: a static property is not stored
}

@Sqlable struct Computed {
  var id: Int
  @Index var a: Int { id }  // refused: a computed property is not stored
}

@Sqlable struct Lazy {
  var id: Int
  @Column("x") lazy var a = 5  // refused: a lazy property is not stored
}

@Sqlable struct Twice {
  var id: Int
  @Index @Index var a: Int  // refused: a has @Index twice
}

@Sqlable struct Unvalued {
  var id: Int
  @Transient var a: Int  // refused: @Transient a needs an initial value
}

@Sqlable final class UnvaluedClass {
  let id: Int
  @Transient let a: Int  // refused: @Transient a needs an initial value
}

@Sqlable struct TransientIndex {
  var id: Int
  @Transient @Index var a = 5  // refused: a is @Transient, so @Index has no effect
}

@Sqlable struct Member {
  var id: Int
  var tableName: String  // refused: a model already has a member tableName
}

@Sqlable struct MemberWrite {
  var id: Int
  var column: String  // refused: a model already has a member column
}

@Sqlable struct EmbeddedDefault {
  var id: Int
  @Embedded @Unique var a: Site  // refused: a is an embedded struct with several columns
}

@SqlEmbedded struct Nest {
  var id: Int
  @Embedded var a: Site  // refused: an embedded struct can't have an @Embedded property
}

@SqlEmbedded struct KeyInside {
  @PrimaryKey var id: Int  // refused: @PrimaryKey needs a table
}

@Sqlable struct ByHand {
  var id: Int
  @Unique var a: Int  // refused: ByHand already declares the column a
  static let a = column("a", Int.self)
}

@Sqlable struct IndexByHand {
  var id: Int
  @Index var a: Int  // refused: IndexByHand already declares tableIndexes; add Index(a) there
  static let tableIndexes = [Index(id)]
}

@Sqlable struct FullTextByHand {
  var id: Int
  @FullText var a: String  // refused: FullTextByHand already declares tableFullText; add a there
  var b: String
  static let tableFullText = FullTextIndex(b)
}

@Sqlable struct TextKey {
  var id: Int
  @PrimaryKey(autoincrement: true) var a: UUID?  // refused: autoincrement needs an integer key
}

@Sqlable struct Descending {
  @PrimaryKey(autoincrement: true, descending: true) var id: Int?  // refused: can't be descending
}

@Sqlable struct GeneratedDefault {
  var id: Int
  @Generated("1") @Default(5) var a: Int  // refused: a can't have both @Generated and @Default
}

@Sqlable struct NoDefault {
  var id: Int
  @Default var a: Int  // refused: @Default needs a value
}

@Sqlable struct DefaultNow {
  var id: Int
  @Default var a: Date = .now  // refused: @Default needs a constant
}

@Sqlable struct DefaultText {
  var id: Int
  @Default("x") var a: Int  // refused: a of type Int can't have the default "x"
}

@Sqlable struct DateText {
  var id: Int
  @Column(as: .date(.iso8601)) var a: String  // refused: can't store a of type String
}

@Sqlable struct SearchedNumber {
  var id: Int
  @FullText var a: Int  // refused: a full-text index needs text, not Int
}

@Sqlable struct EmptyName {
  var id: Int
  @Column("") var a: Int  // refused: the name of a column can't be empty
}

@Sqlable struct Conditional {
  var id: Int
  #if DEBUG
  var a = 5  // refused: a stored property inside #if can't be a column
  #else
  #endif
}

@Sqlable struct SameColumn {
  var id: Int
  var ownerID: Int
  var ownerId: Int  // refused: ownerId and ownerID have the same column owner_id
}

@Sqlable struct TwoKeys {
  @PrimaryKey var id: Int
  @PrimaryKey var a: Int  // refused: a table can't have two primary keys
}

@Sqlable struct HalfUnique {
  var id: Int
  @Index(unique: true, name: "x") var a: Int
  @Index(name: "x") var b: Int  // refused: a and b declare one index, but differ in unique
}

@Sqlable struct TwoTokenizers {
  var id: Int
  @FullText(tokenizer: .porter) var a: String
  @FullText(prefixes: [2]) var b: String  // refused: only one @FullText of a table can have arguments
}

@Sqlable(naming: true ? .verbatim : .snakeCase) struct Naming {  // refused: naming must be the literal
  var id: Int
}

@Sqlable("") struct NoName {  // refused: the name of a table can't be empty
  var id: Int
}

@Sqlable("x") struct NamedTwice {  // refused: NamedTwice already declares tableName
  var id: Int
  static let tableName = "y"
}

@Sqlable(options: [.strict]) struct StrictTwice {  // refused: StrictTwice already declares tableOptions
  var id: Int
  static let tableOptions: [TableOption] = []
}

// The compiler checks the argument at the attribute, and again where the column has it.
@Sqlable struct UnknownOption {  // refused: cannot find 'Uniqe' in scope
  var id: Int
  @Column("b", Uniqe()) var a: String  // refused: cannot find 'Uniqe' in scope
}

@Sqlable struct UnknownColumnType {  // refused: has no member 'txt'
  var id: Int
  @Column("b", as: .txt) var a: String?  // refused: has no member 'txt'
}

@Sqlable struct NumberForName {  // refused: does not conform to expected type 'ColumnOption'
  var id: Int
  @Column(5) var a: String  // refused: no exact matches in call to macro 'Column'
}

@Sqlable struct KeyLabel {  // refused: incorrect argument label
  @PrimaryKey(autoincremnt: true) var id: Int?  // refused: incorrect argument label
}

@Sqlable struct ForeignKeyLabel {  // refused: incorrect argument label
  var id: Int
  @ForeignKey<KeyLabel>(onDelet: .cascade) var a: Int  // refused: incorrect argument label
}

@SqlEmbedded struct FieldOption {  // refused: cannot find 'Uniqe' in scope
  var id: Int
  @Column("b", Uniqe()) var a: String  // refused: cannot find 'Uniqe' in scope
}
