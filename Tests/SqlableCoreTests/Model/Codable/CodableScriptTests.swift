import Foundation
import SqlableCodable
import SqlableCore
import Testing

@testable import SqlableTestSupport

/// Models whose `init(from:)` and `encode(to:)` follow random scripts: keys in any order and several times, with types
/// that fit and types that don't. The containers must return the same values and errors as a result with its columns in
/// another order, and as a model that is read and written by hand.
@Suite struct CodableScriptTests {
  fileprivate enum Key: String, CodingKey, CaseIterable {
    case id, int, real, flag, text, date, data, grade, rig, absent
  }

  fileprivate struct TextKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }
    init(stringValue: String) { self.stringValue = stringValue }
    init?(intValue: Int) { nil }
  }

  fileprivate enum Grade: Int, Codable, SqlValue, CaseIterable { case low, high }
  fileprivate enum Rig: String, Codable, CaseIterable { case sloop, ketch }

  fileprivate static let layout = [
    Column("id", .integer, PrimaryKey()), Column("int", .nullable(.integer)), Column("real", .nullable(.real)),
    Column("flag", .nullable(.boolean)), Column("text", .nullable(.text)), Column("date", .nullable(.date)),
    Column("data", .nullable(.blob)), Column("grade", .nullable(.integer)), Column("rig", .nullable(.text)),
  ]

  /// Columns without types store any value unchanged.
  private static let table: SQL = """
    CREATE TABLE scripted (id INTEGER PRIMARY KEY, int, real, flag, text, date, data, grade, rig)
    """

  fileprivate static func column(_ key: Key) -> Column? { layout.first { $0.name == key.rawValue } }

  @TaskLocal fileprivate static var scripts: [Int: Script] = [:]

  // MARK: Reading

  fileprivate struct Read: SqlCodable {
    var log: [String]
    static let tableName = "scripted"
    static let tableLayout = CodableScriptTests.layout

    init(from decoder: any Decoder) throws {
      let first = try decoder.container(keyedBy: Key.self)
      let id = try first.decode(Int.self, forKey: .id)
      let script = CodableScriptTests.scripts[id] ?? Script()
      log = ["\(id)"]
      for step in script.steps {
        log.append(
          try script.outcome {
            switch step.container {
            case .first: try step.read(step.key, from: first)
            case .other: try step.read(step.key, from: decoder.container(keyedBy: Key.self))
            case .text:
              try step.read(
                TextKey(stringValue: step.key.rawValue), from: decoder.container(keyedBy: TextKey.self))
            }
          })
      }
    }

    func encode(to encoder: any Encoder) throws { throw CancellationError() }
  }

  fileprivate struct ReadByHand: Sqlable {
    var log: [String]
    static let tableName = "scripted"
    static let tableLayout = CodableScriptTests.layout

    init(row: ReadRow) throws {
      for column in CodableScriptTests.layout { row.skip(column) }
      let id = try row.get(CodableScriptTests.layout[0]) as Int
      let script = CodableScriptTests.scripts[id] ?? Script()
      log = ["\(id)"]
      for step in script.steps { log.append(try script.outcome { try step.read(from: row) }) }
    }
  }

  @Test func containersReadTheSameValuesAsOtherWaysOfReading() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    for _ in 1...times(30) {
      let scripts = Dictionary(uniqueKeysWithValues: (1...20).map { ($0, Script(&random)) })
      let rows = (1...20).map { id in "(\(id), \((1...8).map { _ in value(&random) }.joined(separator: ", ")))" }
      try CodableScriptTests.$scripts.withValue(scripts) {
        try withDatabase { db in
          try db.execute(CodableScriptTests.table)
          try db.execute(SQL(verbatim: "INSERT INTO scripted VALUES \(rows.joined(separator: ", "))"))
          try compareReads(db)
        }
      }
    }
  }

  private func compareReads(_ db: SqliteDatabase) throws {
    let id = CodableScriptTests.layout[0]
    let reversed = "SELECT rig, grade, data, date, text, flag, real, int, id FROM scripted WHERE id = "
    for (number, script) in CodableScriptTests.scripts where script.throwsErrors {
      let outcomes = [
        outcome { try Read.read().filter(id == number).run(db).map(\.log) },
        outcome { try db.query(SQL(verbatim: reversed + "\(number)"), as: Read.self).map(\.log) },
        outcome { try ReadByHand.read().filter(id == number).run(db).map(\.log) },
      ]
      #expect(outcomes[0] == outcomes[1])
      #expect(outcomes[0] == outcomes[2])
    }
    let silent = CodableScriptTests.scripts.mapValues { Script(steps: $0.steps) }
    try CodableScriptTests.$scripts.withValue(silent) {
      let logs = try Read.read().orderBy(id).run(db).map(\.log)
      #expect(logs.count == 20)
      #expect(try db.query(SQL(verbatim: reversed + "id ORDER BY id"), as: Read.self).map(\.log) == logs)
      #expect(try ReadByHand.read().orderBy(id).run(db).map(\.log) == logs)
    }
  }

  private func outcome(_ body: () throws -> [[String]]) -> String {
    do { return "\(try body())" } catch { return describe(error) }
  }

  private func value(_ random: inout SeededGenerator) -> String {
    random.pick([
      "NULL", "NULL", "0", "1", "1", "300", "-1", "1099511627776", "1.5", "1e300", "0.0", "''", "'sloop'", "'ketch'",
      "'2014-05-13T16:53:20.000Z'", "x'00ff'", "x''", "CAST(x'ff' AS TEXT)", "1400000000.25",
    ])
  }

  // MARK: Writing

  fileprivate struct Written: SqlCodable {
    var id: Int
    static let tableName = "scripted"
    static let tableLayout = CodableScriptTests.layout

    init(id: Int) { self.id = id }
    init(from decoder: any Decoder) throws { throw CancellationError() }

    func encode(to encoder: any Encoder) throws {
      var first = encoder.container(keyedBy: Key.self)
      try first.encode(id, forKey: .id)
      for step in CodableScriptTests.scripts[id]?.steps ?? [] {
        switch step.container {
        case .first: try step.write(step.key, to: &first)
        case .other:
          var other = encoder.container(keyedBy: Key.self)
          try step.write(step.key, to: &other)
        case .text:
          var other = encoder.container(keyedBy: TextKey.self)
          try step.write(TextKey(stringValue: step.key.rawValue), to: &other)
        }
      }
    }
  }

  fileprivate struct WrittenByHand: Sqlable {
    var id: Int
    static let tableName = "scripted"
    static let tableLayout = CodableScriptTests.layout

    init(id: Int) { self.id = id }
    init(row: ReadRow) throws { throw CancellationError() }

    func write(to row: inout RowWriter) throws {
      for column in CodableScriptTests.layout { row.skip(column) }
      row.set(CodableScriptTests.layout[0], id)
      for step in CodableScriptTests.scripts[id]?.steps ?? [] { step.write(to: &row) }
    }
  }

  @Test func containersWriteTheSameRowsAsWritingByHand() throws {
    var random = SeededGenerator(seed: SeededGenerator.seed)
    try withDatabase { db in
      try db.execute(CodableScriptTests.table)
      var successes = 0
      for _ in 1...times(100) {
        let scripts = Dictionary(uniqueKeysWithValues: (1...5).map { ($0, Script(&random, writes: true)) })
        try CodableScriptTests.$scripts.withValue(scripts) {
          let one = try (1...5).map { id in
            (
              try rows(db) { try Written(id: id).insert().run(db) },
              try rows(db) { try WrittenByHand(id: id).insert().run(db) }
            )
          }
          for (coded, byHand) in one { #expect(coded == byHand) }
          let batch = (1...5).filter { !one[$0 - 1].0.hasPrefix("error") }
          successes += batch.count
          let coded = try rows(db) { try Written.insert(batch.map { Written(id: $0) }).run(db) }
          #expect(try coded == rows(db) { try WrittenByHand.insert(batch.map { WrittenByHand(id: $0) }).run(db) })
        }
      }
      #expect(successes > 0)
    }
  }

  /// Returns the rows that `insert` has stored, or its error. Deletes the rows.
  private func rows(_ db: SqliteDatabase, _ insert: () throws -> Void) throws -> String {
    do { try insert() } catch { return "error: " + describe(error) }
    let columns = Key.allCases.filter { $0 != .absent }.map { "quote(\($0.rawValue))" }.joined(separator: " || ' ' || ")
    let rows = try db.query(SQL(verbatim: "SELECT \(columns) FROM scripted ORDER BY id"), as: String.self)
    try db.execute("DELETE FROM scripted")
    return rows.joined(separator: "\n")
  }
}

/// The error without its SQL, which differs between the ways of reading.
private func describe(_ error: any Error) -> String {
  guard let error = error as? SqlError else { return "\(error)" }
  return "\(error.kind) \(error.message) \(error.table ?? "") \(error.column ?? "") \(error.rowId ?? 0)"
}

/// The steps of one row.
private struct Script: Sendable {
  var steps: [Step] = []
  var throwsErrors = false

  init(steps: [Step] = []) { self.steps = steps }

  init(_ random: inout SeededGenerator, writes: Bool = false) {
    steps = (0..<Int.random(in: 0...12, using: &random)).map { _ in Step(&random, writes: writes) }
    throwsErrors = random.chance(30)
  }

  func outcome(_ body: () throws -> String) throws -> String {
    do { return try body() } catch {
      if throwsErrors { throw error }
      return describe(error)
    }
  }
}

/// One call of a container.
private struct Step: Sendable {
  enum Container: CaseIterable { case first, other, text }
  enum Kind: CaseIterable { case int, small, real, flag, text, date, data, grade, rig, null }

  let key: CodableScriptTests.Key
  let kind: Kind
  let container: Container
  let isOptional: Bool
  /// Chooses the value to write.
  let number: Int

  init(_ random: inout SeededGenerator, writes: Bool) {
    let picked = random.pick(CodableScriptTests.Key.allCases.filter { $0 != .absent && !(writes && $0 == .id) })
    let fitting = Kind.allCases.first { "\($0)" == picked.rawValue } ?? .int
    key = picked
    kind = random.chance(60) ? fitting : random.pick(Kind.allCases)
    container = random.chance(80) ? .first : random.pick(Container.allCases)
    isOptional = random.chance(40)
    number = Int.random(in: 0...3, using: &random)
  }

  func read<Key: CodingKey>(_ key: Key, from container: KeyedDecodingContainer<Key>) throws -> String {
    guard container.contains(key) else { return "absent" }
    func optional<Value>(_ value: Value?) -> String { value.map { "\($0)" } ?? "nil" }
    func value<Value: Decodable>(_ type: Value.Type) throws -> String {
      if isOptional { return optional(try container.decodeIfPresent(type, forKey: key)) }
      return "\(try container.decode(type, forKey: key))"
    }
    // The methods of the frequent types are not those that generic code calls.
    switch kind {
    case .int where isOptional: return optional(try container.decodeIfPresent(Int.self, forKey: key))
    case .int: return "\(try container.decode(Int.self, forKey: key))"
    case .small where isOptional: return optional(try container.decodeIfPresent(Int8.self, forKey: key))
    case .small: return "\(try container.decode(Int8.self, forKey: key))"
    case .real where isOptional: return optional(try container.decodeIfPresent(Double.self, forKey: key))
    case .real: return "\(try container.decode(Double.self, forKey: key))"
    case .flag where isOptional: return optional(try container.decodeIfPresent(Bool.self, forKey: key))
    case .flag: return "\(try container.decode(Bool.self, forKey: key))"
    case .text where isOptional: return optional(try container.decodeIfPresent(String.self, forKey: key))
    case .text: return "\(try container.decode(String.self, forKey: key))"
    case .date: return try value(Date.self)
    case .data: return try value(Data.self)
    case .grade: return try value(CodableScriptTests.Grade.self)
    case .rig: return try value(CodableScriptTests.Rig.self)
    case .null: return "\(try container.decodeNil(forKey: key))"
    }
  }

  func read(from row: ReadRow) throws -> String {
    guard let column = CodableScriptTests.column(key) else { return "absent" }
    func value<Value: SqlValue>(_ type: Value.Type) throws -> String {
      if isOptional { return (try row.get(column) as Value?).map { "\($0)" } ?? "nil" }
      return "\(try row.get(column) as Value)"
    }
    switch kind {
    case .int: return try value(Int.self)
    case .small: return try value(Int8.self)
    case .real: return try value(Double.self)
    case .flag: return try value(Bool.self)
    case .text: return try value(String.self)
    case .date: return try value(Date.self)
    case .data: return try value(Data.self)
    case .grade: return try value(CodableScriptTests.Grade.self)
    case .rig: return try value(RawRig.self)
    // Invalid UTF-8 is not NULL.
    case .null: return "\((try? row.get(column) as Anything) == .null)"
    }
  }

  private var reals: [Double] { [0, 1.5, -1e300, .nan] }
  private var texts: [String] { ["", "sloop", "Gjøa", String(repeating: "x", count: 300)] }
  private var date: Date? { number == 0 ? nil : Date(timeIntervalSince1970: Double(number) * 1e9 + 0.25) }

  func write<Key: CodingKey>(_ key: Key, to container: inout KeyedEncodingContainer<Key>) throws {
    let ints = [0, 1, 300, -1]
    let isNil = number == 0
    switch kind {
    case .int where isOptional: try container.encodeIfPresent(isNil ? nil : number, forKey: key)
    case .int: try container.encode(ints[number], forKey: key)
    case .small where isOptional: try container.encodeIfPresent(isNil ? nil : Int8(number), forKey: key)
    case .small: try container.encode(Int8(number), forKey: key)
    case .real where isOptional: try container.encodeIfPresent(isNil ? nil : reals[number], forKey: key)
    case .real: try container.encode(reals[number], forKey: key)
    case .flag where isOptional: try container.encodeIfPresent(isNil ? nil : number == 1, forKey: key)
    case .flag: try container.encode(number == 1, forKey: key)
    case .text where isOptional: try container.encodeIfPresent(isNil ? nil : texts[number], forKey: key)
    case .text: try container.encode(texts[number], forKey: key)
    case .date where isOptional: try container.encodeIfPresent(date, forKey: key)
    case .date: try container.encode(date ?? .distantPast, forKey: key)
    case .data: try container.encode(Data(texts[number].utf8), forKey: key)
    case .grade: try container.encode(number == 1 ? CodableScriptTests.Grade.high : .low, forKey: key)
    case .rig: try container.encode(number == 1 ? CodableScriptTests.Rig.ketch : .sloop, forKey: key)
    case .null: try container.encodeNil(forKey: key)
    }
  }

  func write(to row: inout RowWriter) {
    guard let column = CodableScriptTests.column(key) else { return }
    let ints = [0, 1, 300, -1]
    let isNil = number == 0
    switch kind {
    case .int: row.set(column, isOptional ? (isNil ? nil : number) : ints[number])
    case .small: row.set(column, isOptional && isNil ? nil : Int8(number))
    case .real: row.set(column, isOptional && isNil ? nil : reals[number])
    case .flag: row.set(column, isOptional && isNil ? nil : number == 1)
    case .text: row.set(column, isOptional && isNil ? nil : texts[number])
    case .date: row.set(column, isOptional ? date : date ?? .distantPast)
    case .data: row.set(column, Data(texts[number].utf8))
    case .grade: row.set(column, number == 1 ? CodableScriptTests.Grade.high : .low)
    case .rig: row.set(column, number == 1 ? "ketch" : "sloop")
    case .null: row.set(column, Int?.none)
    }
  }
}

/// Reads the raw value of `Rig` with the errors that `Rig` has.
private struct RawRig: SqlValue, CustomStringConvertible {
  let rig: CodableScriptTests.Rig
  static let columnType = ColumnType.text
  var databaseValue: DatabaseValue { .text(rig.rawValue) }
  var description: String { rig.rawValue }
  init(databaseValue: DatabaseValue) throws {
    guard let rig = CodableScriptTests.Rig(rawValue: try String(databaseValue: databaseValue)) else {
      throw SqlError.decoding(expected: "a raw value of Rig", found: "an unknown raw value")
    }
    self.rig = rig
  }
}

/// A value of any storage class.
private struct Anything: SqlValue, Equatable {
  var databaseValue: DatabaseValue
  static let columnType = ColumnType.blob
  static let null = Anything(databaseValue: .null)
}
