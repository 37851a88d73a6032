import Foundation
import SqlableCore
import SqlableDocuments
import SqlableQueries

@testable import SqlableTestSupport

/// A generator of damaged statement documents.
struct StatementFuzz {
  private let documents: [(json: FuzzJSON, type: FuzzType)]
  private var damage: DocumentDamage

  init(seed: UInt64) {
    documents = StatementFuzz.valid()
    damage = DocumentDamage(
      documents.map(\.json), scalars: StatementFuzz.scalars, keys: ["id", "name", "price", "amount"],
      alike: StatementFuzz.alike, random: SeededGenerator(seed: seed))
  }

  var random: SeededGenerator {
    get { damage.random }
    set { damage.random = newValue }
  }

  /// Returns a document, and the type of the valid document that it derives from.
  mutating func next() -> (String, FuzzType) {
    var (json, type) = random.pick(documents)
    for _ in 0..<random.pick([0, 1, 1, 1, 2, 2, 3, 5]) { json = damage.changed(json) }
    var text = ""
    json.write(to: &text)
    // Now and then, damage a single byte.
    if random.chance(2), !text.isEmpty {
      var bytes = Array(text.utf8)
      bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      text = String(decoding: bytes, as: UTF8.self)
    }
    return (text, type)
  }

  // MARK: Scalars and statements

  /// Groups of scalars that may replace one another.
  private static let alike =
    [
      ["id", "name", "price", "amount"], ["ignore", "replace", "abort"], ["lower", "upper", "length", "abs", "trim"],
      ["BINARY", "NOCASE", "RTRIM"], ["fuzz_item", "archive", "FUZZ_ITEM", "Archive", "secret"],
      ["inner", "left", "right", "full", "cross"], ["integer", "real", "text", "blob", "integer?"],
    ].map { $0.map { "\"\($0)\"" } } + [["true", "false"], ["null", "0", "1", "2"]]

  /// Scalars that name tables and columns of these tests.
  private static let scalars = [
    #""id""#, #""ID""#, #""name""#, #""nom""#, #""price""#, #""amount""#, #""fuzz_item""#, #""FUZZ_ITEM""#,
    #""archive""#, #""Archive""#, #""secret""#, #""temp.fuzz_item""#, #""main.secret""#, #"{"column":"name"}"#,
    #"{"query":{"from":"fuzz_item"}}"#, #"{"exists":{"from":"secret"}}"#, #"{"column":"name","of":"fuzz_item"}"#,
    #"{"from":"fuzz_item","limit":1}"#, #"[{"column":"id"},{"from":"fuzz_item"}]"#,
  ]

  /// Returns a valid document of every form.
  private static func valid() -> [(json: FuzzJSON, type: FuzzType)] {
    typealias Item = FuzzItem
    let filter =
      Item.id > 1 && (Item.name.like("a!%", escape: "!") || !(Item.name ∈ ["x", "y"]) || Item.amount + 1 == 2)
    let second =
      Item.price.between(0.5, and: 2) || Item.amount.isNull || Item.name.collate(.nocase) < "m"
      || Item.name.length() % 2 == 0
    let item = Item(id: 2, name: "new", price: 1.5)
    let upsert = item.insert().onConflict(Item.name, update: Item.price, Item.amount, where: Item.amount < 2)
    let setting = item.insert().onConflict(
      Item.id, set: Item.amount.set(to: Item.amount * 2 + 1), Item.price.set(to: nil))
    let update = Item.updateAll(Item.amount.set(to: Item.id - 1), Item.name.set(to: Item.name.concatenated("x")))
    var all: [(FuzzJSON, FuzzType)] = []
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    func add(_ value: some Encodable, _ type: FuzzType) {
      guard let data = try? encoder.encode(value), let json = FuzzJSON(data) else { return }
      all.append((json, type))
    }
    add(Item.read().filter(filter).orderBy(Item.name.lowercase().collate(.nocase), .desc).limit(3, offset: 1), .rows)
    add(Item.read().in("archive").filter(second).orderBy(-Item.id), .rows)
    add(Item.read().orderBy(Item.price.asc.nullsLast, Item.amount.desc).first(), .first)
    add(Item.byId(2), .first)
    add(Item.exists().filter(second && filter), .exists)
    add(Item.exists().in("archive").filter(Item.amount.in(Array(1...50))), .exists)
    add(Item.count().filter(filter).limit(2), .number)
    add(Item.count().in("archive").filter(Item.name.uppercase() == "X"), .number)
    for statement in [
      item.insert(), Item(name: "n").insert().ignoreOnConflict(), item.insert().replaceOnConflict(), upsert, setting,
      item.insert(Item.name, Item.price), item.save(), item.update(), item.update(Item.price, Item.amount),
      item.delete(), Item.delete(filter).orderBy(Item.id).limit(2), Item.deleteAll().in("archive"),
      update.filter(second), update.in("archive").orderBy(Item.amount).limit(1, offset: 1),
      Item.delete(Item.id ∈ [1, 2, 3]), update.onConflict(.replace),
    ] { add(statement, .number) }
    add(Item.insert([Item(name: "a"), Item(name: "b", price: 2), item]), .ids)
    add(Item.insert(), .ids)
    let other = Alias(Item.self, "other")
    for term in [
      exists(other.read().filter(other[Item.amount] == Item.id)), Item.id.in(Item.select(Item.amount).limit(2)),
      Case.when(Item.id > 1, then: 1).else(2) == 1, Item.name.jsonContains("x"),
      Item.name.substr(1, 2).coalesce(Item.name) == "ne", Item.amount.cast(to: Double.self) > 0.5,
      scalar(Item.select(Item.amount.max())) == 2,
    ] { add(Item.read().filter(term).orderBy(Item.id), .rows) }
    add(Item.insert(Item.name, from: Item.select(Item.name.concatenated("z")).in("archive")), .number)
    add(Item.insert([Item(name: "a")]).onConflict(.ignore), .ids)
    for statement in [
      item.insert().returning(), upsert.returning(), item.save().returning(), item.update().returning(),
      item.delete().returning(), Item.delete(filter).returning(), update.filter(second).returning(),
      update.in("archive").returning(), Item.insert([item, Item(name: "c")]).returning(),
    ] {
      add(ReturningStatement(statement), .returning)
      add(ReturningStatement(statement.first()), .returningFirst)
    }
    return all
  }
}
