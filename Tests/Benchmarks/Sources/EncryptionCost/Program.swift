import Foundation
import Sqlable
import SqlableBackup

struct Item: SqlCodable {
  var id: Int?
  var name: String
  var price: Double

  static let tableName = "item"
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let price = column("price", Double.self)
  static let tableLayout = [id.column, name.column, price.column]
}

/// Measures what encryption costs: opening, writing and reading a plain file and encrypted ones.
///
/// Each round works on new files, the plain one and the encrypted ones in turn; what is printed are medians in
/// milliseconds.
@main struct Program {
  static let usage = "EncryptionCost [--rows 100000] [--rounds 5] [--directory DIRECTORY]"

  static func main() throws {
    var (rows, rounds, directory) = (100_000, 5, NSTemporaryDirectory())
    var arguments = CommandLine.arguments.dropFirst()
    while let argument = arguments.popFirst() {
      switch (argument, arguments.popFirst()) {
      case ("--rows", let value?): rows = Int(value) ?? rows
      case ("--rounds", let value?): rounds = max(1, Int(value) ?? rounds)
      case ("--directory", let value?): directory = value
      default: return print(usage)
      }
    }
    let configurations: [(name: String, configuration: Configuration)] = try [
      ("plain", Configuration(key: .unencrypted)),
      ("raw key", Configuration(key: .raw([UInt8](0..<32)))),
      ("passphrase", Configuration(key: .passphrase("correct horse"))),
      ("raw key, memory security", Configuration(key: .raw([UInt8](0..<32)), cipher: .init(memorySecurity: true))),
    ]
    var times: [String: [String: [Double]]] = [:]
    // Memory security stays on for the process: those with it come last.
    for (name, configuration) in configurations {
      for _ in 0..<rounds {
        try trial(rows, directory + "/encryption-\(UUID().uuidString)", configuration) { step, time in
          times[name, default: [:]][step, default: []].append(time)
        }
      }
    }
    let steps = ["insert", "open", "read warm", "read cold", "points", "update", "rekey", "encrypt"]
    print((["file"] + steps).joined(separator: " | "))
    for (name, _) in configurations {
      let medians = steps.map { step in
        let sorted = (times[name]?[step] ?? []).sorted()
        return sorted.isEmpty ? "–" : String(format: "%.1f", sorted[sorted.count / 2])
      }
      print(([name] + medians).joined(separator: " | "))
    }
  }

  private static func trial(
    _ rows: Int, _ directory: String, _ configuration: Configuration, _ record: (String, Double) -> Void
  ) throws {
    func measure(_ step: String, _ body: () throws -> Void) rethrows {
      let time = try ContinuousClock().measure(body)
      record(step, Double(time.components.seconds) * 1_000 + Double(time.components.attoseconds) / 1e15)
    }
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let path = directory + "/a.sqlite"
    var db = try SqliteDatabase(filepath: path, configuration: configuration)
    try db.createTable(Item.self)
    let items = (1...rows).map { Item(id: $0, name: "Item number \($0)", price: Double($0) / 4) }
    try measure("insert") { _ = try Item.insert(items).run(db) }
    try db.close()
    try measure("open") { db = try SqliteDatabase(filepath: path, configuration: configuration) }
    try measure("read cold") { _ = try Item.read().run(db) }
    try measure("read warm") { _ = try Item.read().run(db) }
    try measure("points") {
      for number in 0..<10_000 { _ = try Item.byId(number * 7_919 % rows + 1).run(db) }
    }
    try measure("update") {
      for number in 0..<1_000 {
        _ = try Item.update(Item.price.set(to: Double(number))).filter(Item.id == number * 7_919 % rows + 1).run(db)
      }
    }
    if configuration.key != .unencrypted {
      try measure("rekey") { try db.rekey(to: .raw([UInt8](32..<64))) }
    } else {
      try measure("encrypt") { try db.encrypt(with: .raw([UInt8](32..<64))) }
    }
    try db.close()
  }
}
