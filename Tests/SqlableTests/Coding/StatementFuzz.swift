import Foundation
import Sqlable

/// Makes damaged documents of statements.
struct StatementFuzz {
  var random: SeededGenerator
  private let documents: [(json: FuzzJSON, type: FuzzType)]
  /// Every part of every document, to be put elsewhere.
  private let parts: [FuzzJSON]
  /// Those of them that are terms, and those that are values.
  private let terms: [FuzzJSON]
  private let values: [FuzzJSON]

  init(seed: UInt64) {
    random = SeededGenerator(seed: seed)
    documents = StatementFuzz.valid()
    var parts: [FuzzJSON] = []
    for (json, _) in documents { json.collect(into: &parts) }
    self.parts = parts
    terms = parts.filter(\.isTerm)
    values = parts.filter(\.isValue)
  }

  /// A document, and the type that the one it was made of had.
  mutating func next() -> (String, FuzzType) {
    var (json, type) = random.pick(documents)
    for _ in 0..<random.pick([0, 1, 1, 1, 2, 2, 3, 5]) { json = changed(json) }
    var text = ""
    json.write(to: &text)
    // Now and then damage below the level of the structure.
    if random.chance(2), !text.isEmpty {
      var bytes = Array(text.utf8)
      bytes[Int.random(in: 0..<bytes.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
      text = String(decoding: bytes, as: UTF8.self)
    }
    return (text, type)
  }

  /// The document with a change at one place, any of its parts being as likely.
  private mutating func changed(_ json: FuzzJSON) -> FuzzJSON {
    var place = Int.random(in: 0..<json.count, using: &random)
    return changed(json, at: &place)
  }

  private mutating func changed(_ json: FuzzJSON, at place: inout Int) -> FuzzJSON {
    defer { place -= 1 }
    if place == 0 { return damaged(json) }
    place -= 1
    switch json {
    case .object(var members):
      for index in members.indices {
        let count = members[index].value.count
        if place < count {
          members[index].value = changed(members[index].value, at: &place)
          return .object(members)
        }
        place -= count
      }
      return json
    case .array(var elements):
      for index in elements.indices {
        let count = elements[index].count
        if place < count {
          elements[index] = changed(elements[index], at: &place)
          return .array(elements)
        }
        place -= count
      }
      return json
    case .scalar: return json
    }
  }

  private mutating func damaged(_ json: FuzzJSON) -> FuzzJSON {
    // Half of the changes leave a document that may well decode: a term or a value in the place of another.
    if random.chance(50) {
      if json.isTerm { return random.chance(70) ? random.pick(terms) : nested(json) }
      if json.isValue { return random.pick(values) }
      if case .scalar(let text) = json { return .scalar(random.pick(StatementFuzz.alike(text))) }
    }
    switch (Int.random(in: 0..<12, using: &random), json) {
    case (0, _), (1, _): return random.pick(parts)
    case (2, _): return .scalar(random.pick(StatementFuzz.scalars))
    case (3, _): return random.pick([.array([json]), .object([(key: "_0", value: json)]), .array([json, json])])
    case (4, _): return nested(json)
    case (_, .object(var members)) where !members.isEmpty:
      let index = Int.random(in: 0..<members.count, using: &random)
      switch Int.random(in: 0..<5, using: &random) {
      case 0: members.remove(at: index)
      case 1: members.append((members[index].key, random.pick(parts)))
      case 2: members[index].key = random.pick(StatementFuzz.keys)
      case 3: members[index].value = random.pick(parts)
      default: members.append((random.pick(StatementFuzz.keys), members[index].value))
      }
      return .object(members)
    case (_, .array(var elements)):
      guard !elements.isEmpty, random.chance(60) else { return .array(elements + [random.pick(parts)]) }
      let index = Int.random(in: 0..<elements.count, using: &random)
      if random.chance(50) { elements.remove(at: index) } else { elements.append(elements[index]) }
      return .array(elements)
    case (_, .scalar(let text)) where text.hasPrefix("\"") && random.chance(30):
      return .scalar(random.chance(50) ? text.uppercased() : text.replacingOccurrences(of: "e", with: "e\u{301}"))
    default: return .scalar(random.pick(StatementFuzz.scalars))
    }
  }

  /// A term inside others, a few or many times.
  private mutating func nested(_ json: FuzzJSON) -> FuzzJSON {
    let name = random.pick(["not", "negative", "isNull", "and", "or", "function", "collate", "=", "||", "GLOB", "in"])
    var (json, count) = (json, json.count)
    let depth = random.chance(10) ? random.pick([99, 101, 600]) : random.pick([1, 1, 2, 2, 5, 40])
    for _ in 0..<depth {
      let members: [(key: String, value: FuzzJSON)] =
        switch name {
        case "and", "or": [(name, .array([json, count < 40 ? json : .scalar("1")]))]
        case "function": [(name, .scalar(#""abs""#)), ("arguments", .array([json]))]
        case "collate": [(name, json), ("as", .scalar(#""NOCASE""#))]
        case "=", "||", "GLOB": [(name, .array([json, .scalar(#""x""#)]))]
        case "in": [(name, .array([json, .array([])]))]
        default: [(name, json)]
        }
      json = .object(members)
      count = count < 40 ? json.count : count + 3
    }
    return json
  }

  // MARK: What it is made of

  /// Scalars that may stand where this one does.
  private static func alike(_ scalar: String) -> [String] {
    let groups =
      [
        ["id", "name", "price", "amount"], ["ignore", "replace", "abort"], ["lower", "upper", "length", "abs", "trim"],
        ["BINARY", "NOCASE", "RTRIM"], ["fuzz_item", "archive", "FUZZ_ITEM", "Archive", "secret"],
        ["inner", "left", "cross"], ["integer", "real", "text", "blob", "integer?"],
      ].map { $0.map { "\"\($0)\"" } } + [["true", "false"], ["null", "0", "1", "2"]]
    return groups.first { $0.contains(scalar) } ?? [scalar, "null", "0", "1", "3", "\"a%\"", "[]"]
  }

  private static let scalars = [
    "null", "true", "false", "0", "1", "-1", "2", "0.5", "-0.0", "1e999", "9223372036854775807", "-9223372036854775808",
    "9223372036854775808", "1e18", "[]", "{}", #""""#, #""x""#, #""id""#, #""ID""#, #""name""#, #""nom""#, #""price""#,
    #""amount""#, #""fuzz_item""#, #""FUZZ_ITEM""#, #""archive""#, #""Archive""#, #""secret""#, #""sqlite_master""#,
    #""sqlite_schema""#, #""temp.fuzz_item""#, #""main.secret""#, #""rowid""#, #""read""#, #""first""#, #""count""#,
    #""exists""#, #""insert""#, #""insertMany""#, #""insertQuery""#, #""save""#, #""update""#, #""assign""#,
    #""deleteRow""#, #""delete""#, #""ignore""#, #""replace""#, #""abort""#, #""fail""#, #""asc""#,
    #""descNullsFirst""#, #""+""#, #""IS NOT""#, #""||""#, #""GLOB""#, #""->>""#, #""->""#, #""/""#, #""%""#, #""<<""#,
    #""lower""#, #""abs""#, #""load_extension""#, #""NOCASE""#, #""own""#, #""inf""#, #""a\u0000b""#,
    #""\"; DROP TABLE secret; --""#, #""' OR 1=1 --""#, #""?1""#, #""$.a[0]""#, #""[""#, #""\ud800""#, #""é""#,
    #""e\u0301""#, #""%""#, #""%%""#, #""AQI=""#, #"{"integer":"9223372036854775807"}"#, #"{"integer":"1"}"#,
    #"{"real":0.5}"#, #"{"blob":"AQI="}"#, #"{"null":true}"#, #"{"null":false}"#, #"{"column":"name"}"#,
    #"{"parameter":"p"}"#, #"{"function":"load_extension","arguments":["x"]}"#, #"{"query":{"from":"fuzz_item"}}"#,
    #"{"exists":{"from":"secret"}}"#, #"{"column":"name","of":"excluded"}"#, #"{"column":"name","of":"fuzz_item"}"#,
    #"{"registered":"sqlable_values","arguments":[]}"#, #"{"from":"fuzz_item","limit":1}"#,
    #"{"case":[[1,2]],"else":3}"#, #"{"cast":1,"as":"text"}"#, #"[{"column":"id"},{"from":"fuzz_item"}]"#,
    #"{"->>":["{}",["a",0]]}"#, #"{"datePart":1,"part":"year"}"#, #"{"values":[[1]]}"#,
  ]

  private static let keys = [
    "read", "first", "count", "exists", "insert", "save", "update", "delete", "sqlable", "from", "select", "distinct",
    "where", "groupBy", "having", "compounds", "orderBy", "limit", "offset", "values", "table", "model", "query",
    "into", "row", "rows", "columns", "onConflict", "upsert", "returning", "set", "all", "target", "column", "to", "of",
    "and", "or", "not", "negative", "isNull", "between", "in", "like", "escape", "collate", "as", "function",
    "registered", "arguments", "filter", "over", "case", "else", "cast", "exists", "=", "<", "IS", "+", "||", "GLOB",
    "->", "->>", "asc", "desc", "integer", "real", "null", "blob", "id", "name", "price", "amount", "colour", "",
    "where\u{301}", "WHERE", "ignore", "union", "unionAll", "jsonEach", "recursive", "join", "on", "search",
  ]

  /// Statements of every form that has one as data.
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
    func add(_ value: some Encodable, _ type: FuzzType) {
      guard let data = try? JSONEncoder().encode(value), let json = FuzzJSON(data) else { return }
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
      item.delete(),
      Item.delete(filter).orderBy(Item.id).limit(2), Item.deleteAll().in("archive"), update.filter(second),
      update.in("archive").orderBy(Item.amount).limit(1, offset: 1), Item.delete(Item.id ∈ [1, 2, 3]),
      update.onConflict(.replace),
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

/// JSON with what a tree of Foundation can't hold: keys that are there twice, and scalars that are none.
indirect enum FuzzJSON {
  case object([(key: String, value: FuzzJSON)])
  case array([FuzzJSON])
  case scalar(String)

  init?(_ data: Data) {
    guard let object = try? JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed) else { return nil }
    self.init(object)
  }

  private init(_ object: Any) {
    switch object {
    case let members as [String: Any]:
      self = .object(members.sorted { $0.key < $1.key }.map { ($0.key, FuzzJSON($0.value)) })
    case let elements as [Any]: self = .array(elements.map { FuzzJSON($0) })
    default:
      let data = try? JSONSerialization.data(withJSONObject: object, options: .fragmentsAllowed)
      self = .scalar(data.map { String(decoding: $0, as: UTF8.self) } ?? "null")
    }
  }

  /// How many parts it has, itself included.
  var count: Int {
    switch self {
    case .object(let members): members.reduce(1) { $0 + $1.value.count }
    case .array(let elements): elements.reduce(1) { $0 + $1.count }
    case .scalar: 1
    }
  }

  /// Whether it has the look of a term.
  var isTerm: Bool {
    guard case .object(let members) = self, !isValue, members.count < 4 else { return false }
    let others: Set = [
      "from", "table", "into", "target", "to", "sqlable", "asc", "desc", "ascNullsLast", "descNullsFirst", "id", "name",
    ]
    return !members.contains { others.contains($0.key) }
  }

  /// Whether it has the look of a value.
  var isValue: Bool {
    switch self {
    case .scalar(let text): !["true", "false", "null"].contains(text)
    case .object(let members):
      members.count == 1 && ["null", "integer", "real", "blob"].contains(members[0].key)
    case .array: false
    }
  }

  func collect(into parts: inout [FuzzJSON]) {
    parts.append(self)
    switch self {
    case .object(let members): for member in members { member.value.collect(into: &parts) }
    case .array(let elements): for element in elements { element.collect(into: &parts) }
    case .scalar: break
    }
  }

  func write(to text: inout String) {
    switch self {
    case .object(let members):
      text += "{"
      for (index, member) in members.enumerated() {
        text += (index > 0 ? ",\"" : "\"") + member.key + "\":"
        member.value.write(to: &text)
      }
      text += "}"
    case .array(let elements):
      text += "["
      for (index, element) in elements.enumerated() {
        if index > 0 { text += "," }
        element.write(to: &text)
      }
      text += "]"
    case .scalar(let scalar): text += scalar
    }
  }
}
