// Tests/Fuzzing has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlableTestSupport
#endif

/// Damages documents: replaces, removes, adds, swaps and nests their parts.
struct DocumentDamage {
  var random: SeededGenerator
  /// Every part of every document, as material for replacements.
  private let parts: [FuzzJSON]
  /// The parts that are terms, and the parts that are values.
  private let terms: [FuzzJSON]
  private let values: [FuzzJSON]
  /// The values that any document has for each key.
  private let standing: [String: [FuzzJSON]]
  private let keys: [String]
  /// Scalars for any place, and for each scalar its possible replacements.
  private let scalars: [String]
  private let alike: [String: [String]]

  /// Collects the parts of documents. `groups` has scalars that may replace one another.
  init(
    _ documents: [FuzzJSON], scalars: [String] = [], keys: [String] = [], alike groups: [[String]] = [],
    random: SeededGenerator
  ) {
    self.random = random
    var parts: [FuzzJSON] = []
    for document in documents { document.collect(into: &parts) }
    self.parts = parts
    terms = parts.filter(\.isTerm)
    values = parts.filter(\.isValue)
    var standing: [String: [FuzzJSON]] = [:]
    for case .object(let members) in parts {
      for member in members { standing[member.key, default: []].append(member.value) }
    }
    self.standing = standing
    self.keys = (Set(standing.keys).union(DocumentDamage.keys).union(keys)).sorted()
    self.scalars = DocumentDamage.scalars + scalars
    var alike: [String: [String]] = [:]
    let found = standing.keys.sorted().map { key in
      Set((standing[key] ?? []).compactMap { if case .scalar(let text) = $0 { text } else { nil } }).sorted()
    }
    for group in found + groups where group.count > 1 {
      for scalar in group { alike[scalar, default: []] += group }
    }
    self.alike = alike
  }

  /// Returns the document with a change at one random part.
  mutating func changed(_ json: FuzzJSON) -> FuzzJSON {
    let place = Int.random(in: 0..<json.count, using: &random)
    return json.replacing(place) { damaged($0) }
  }

  /// Returns the document with a part of another document at a random place.
  mutating func spliced(_ json: FuzzJSON, with other: FuzzJSON) -> FuzzJSON {
    var parts: [FuzzJSON] = []
    other.collect(into: &parts)
    let place = Int.random(in: 0..<json.count, using: &random)
    return json.replacing(place) { old in
      let fitting = parts.filter { $0.isTerm == old.isTerm && $0.isValue == old.isValue }
      return random.pick(fitting.isEmpty ? parts : fitting)
    }
  }

  private mutating func damaged(_ json: FuzzJSON) -> FuzzJSON {
    // Half of the changes replace a term by a term or a value by a value, so the document may still decode.
    if random.chance(50) {
      if json.isTerm { return random.chance(70) ? random.pick(terms) : nested(json) }
      if json.isValue { return random.pick(values) }
      if case .scalar(let text) = json {
        return .scalar(random.pick(alike[text] ?? [text, "null", "0", "1", "3", "\"a%\"", "[]"]))
      }
    }
    switch (Int.random(in: 0..<12, using: &random), json) {
    case (0, _), (1, _): return random.pick(parts)
    case (2, _): return .scalar(random.pick(scalars))
    case (3, _): return random.pick([.array([json]), .object([(key: "_0", value: json)]), .array([json, json])])
    case (4, _): return nested(json)
    case (_, .object(var members)) where !members.isEmpty:
      let index = Int.random(in: 0..<members.count, using: &random)
      switch Int.random(in: 0..<8, using: &random) {
      case 0: members.remove(at: index)
      case 5, 6: if let others = standing[members[index].key] { members[index].value = random.pick(others) }
      case 7:
        let key = random.pick(keys)
        members.append((key, random.pick(standing[key] ?? parts)))
      case 1: members.append((members[index].key, random.pick(parts)))
      case 2: members[index].key = random.pick(keys)
      case 3: members[index].value = random.pick(parts)
      default: members.append((random.pick(keys), members[index].value))
      }
      return .object(members)
    case (_, .array(var elements)):
      guard !elements.isEmpty, random.chance(60) else { return .array(elements + [random.pick(parts)]) }
      let index = Int.random(in: 0..<elements.count, using: &random)
      switch Int.random(in: 0..<4, using: &random) {
      case 0: elements.remove(at: index)
      case 1: elements.append(elements[index])
      case 2: elements.swapAt(index, 0)
      default: elements[index] = random.pick(parts)
      }
      return .array(elements)
    case (_, .scalar(let text)) where text.hasPrefix("\"") && random.chance(30):
      return .scalar(random.chance(50) ? text.uppercased() : text.replacingOccurrences(of: "e", with: "e\u{301}"))
    default: return .scalar(random.pick(scalars))
    }
  }

  /// Wraps a term in other terms, a few or many times.
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

  // MARK: Scalars and keys

  private static let scalars = [
    "null", "true", "false", "0", "1", "-1", "2", "0.5", "-0.0", "1e999", "9223372036854775807", "-9223372036854775808",
    "9223372036854775808", "1e18", "[]", "{}", #""""#, #""x""#, #""sqlite_master""#, #""sqlite_schema""#, #""rowid""#,
    #""read""#, #""first""#, #""count""#, #""exists""#, #""insert""#, #""insertMany""#, #""insertQuery""#, #""save""#,
    #""update""#, #""assign""#, #""deleteRow""#, #""delete""#, #""ignore""#, #""replace""#, #""abort""#, #""fail""#,
    #""asc""#, #""descNullsFirst""#, #""+""#, #""IS NOT""#, #""||""#, #""GLOB""#, #""->>""#, #""->""#, #""/""#,
    #""%""#, #""<<""#, #""lower""#, #""abs""#, #""load_extension""#, #""NOCASE""#, #""own""#, #""inf""#,
    #""a\u0000b""#, #""\"; DROP TABLE secret; --""#, #""' OR 1=1 --""#, #""?1""#, #""$.a[0]""#, #""[""#,
    #""\ud800""#, #""é""#, #""e\u0301""#, #""%%""#, #""AQI=""#, #"{"integer":"9223372036854775807"}"#,
    #"{"integer":"1"}"#, #"{"real":0.5}"#, #"{"blob":"AQI="}"#, #"{"null":true}"#, #"{"null":false}"#,
    #"{"parameter":"p"}"#, #"{"function":"load_extension","arguments":["x"]}"#, #"{"column":"name","of":"excluded"}"#,
    #"{"registered":"sqlable_values","arguments":[]}"#, #"{"case":[[1,2]],"else":3}"#, #"{"cast":1,"as":"text"}"#,
    #"{"->>":["{}",["a",0]]}"#, #"{"datePart":1,"part":"year"}"#, #"{"values":[[1]]}"#,
  ]

  private static let keys = [
    "read", "first", "count", "exists", "insert", "save", "update", "delete", "sqlable", "from", "select", "distinct",
    "where", "groupBy", "having", "compounds", "orderBy", "limit", "offset", "values", "indexedBy", "notIndexed",
    "table", "model", "query", "into", "row", "rows", "columns", "onConflict", "upsert", "returning", "set", "all",
    "target", "column", "to", "of",
    "and", "or", "not", "negative", "isNull", "between", "in", "like", "escape", "collate", "as", "function",
    "registered", "arguments", "filter", "over", "case", "else", "cast", "exists", "=", "<", "IS", "+", "||", "GLOB",
    "->", "->>", "asc", "desc", "integer", "real", "null", "blob", "colour", "",
    "where\u{301}", "WHERE", "ignore", "union", "unionAll", "jsonEach", "recursive", "join", "on", "search",
  ]
}
