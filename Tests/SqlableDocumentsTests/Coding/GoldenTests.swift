import Foundation
import SqlableCore
import Testing

@testable import SqlableDocumentsTestSupport
@testable import SqlableTestSupport

/// Documents that every later version must read: `NAME.json`, with the SQL and its values in `NAME.sql`.
///
/// `SQLABLE_GOLDEN=write swift test --filter GoldenTests` writes the missing files of the corpus. An existing file
/// never changes: a change in the meaning of a document requires a new version of the format.
@Suite struct GoldenTests {
  static let directory = Repository.root.appending(path: "Tests/SqlableDocumentsTests/Coding/Golden/v1")

  static func names() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasSuffix(".json") }
      .map { String($0.dropLast(5)) }.sorted()
  }

  private func file(_ name: String) -> URL { GoldenTests.directory.appending(path: name) }

  /// Returns the SQL, then one line for each value.
  private func text(_ sql: String, _ bindings: [DatabaseValue]) -> String {
    ([sql] + bindings.map { "-- \($0.goldenText)" }).joined(separator: "\n") + "\n"
  }

  private func writeMissing() throws {
    for document in try StatementCorpus.all() {
      let target = file(document.name + ".json")
      guard !FileManager.default.fileExists(atPath: target.path) else { continue }
      try document.json.write(to: target)
      try Data(text(document.sql, document.bindings).utf8).write(to: file(document.name + ".sql"))
    }
  }

  // Older SQLite versions get other SQL for an upsert.
  @Test(.needs(35, "RETURNING")) func everyGoldenFileDecodesUnchanged() throws {
    if ProcessInfo.processInfo.environment["SQLABLE_GOLDEN"] == "write" { try writeMissing() }
    let names = try GoldenTests.names()
    #expect(names.count >= 100)
    for name in names {
      let data = try Data(contentsOf: file(name + ".json"))
      let expected = try String(contentsOf: file(name + ".sql"), encoding: .utf8)
      let statement = try CorpusStatement(json: data)
      #expect(text(statement.sql, statement.bindings) == expected, "\(name)")
      #expect(statement.json == data, "\(name): \(String(decoding: statement.json, as: UTF8.self))")
    }
  }

  /// The encoder writes the same bytes as the golden file of the same name.
  @Test func theCorpusEncodesUnchanged() throws {
    for document in try StatementCorpus.all() {
      let data = try? Data(contentsOf: file(document.name + ".json"))
      #expect(data == document.json, "\(document.name): \(String(decoding: document.json, as: UTF8.self))")
    }
  }
}

extension DatabaseValue {
  /// The value as an SQL literal on one line.
  fileprivate var goldenText: String {
    switch self {
    case .null: "NULL"
    case .integer(let integer): "\(integer)"
    case .real(let real): "\(real)"
    case .text(let text): text.debugDescription
    case .blob(let data): "x'\(data.map { String(format: "%02x", $0) }.joined())'"
    }
  }
}
