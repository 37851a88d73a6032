import Foundation
import Sqlable
import SqlableRecovery
import Testing

/// Tests that the commands in Docs/Tool.md print the output in the guide.
@Suite(.enabled(if: Program.tool.isAvailable, "the executable is not beside the tests"))
struct ToolGuide {
  /// Returns the code blocks of a language in a guide.
  private func blocks(_ language: String, _ guide: String = "Tool.md") throws -> [String] {
    let path = URL(filePath: #filePath).appending(path: "../../../../../Docs/" + guide).standardizedFileURL
    let parts = try String(contentsOf: path, encoding: .utf8).components(separatedBy: "```")
    return parts.enumerated().filter { $0.offset % 2 == 1 && $0.element.hasPrefix(language + "\n") }
      .map { String($0.element.dropFirst(language.count + 1)) }
  }

  @Test func theCommandsPrintWhatTheGuideShows() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/garage.sqlite")
      for model: any Sqlable.Type in [Person.self, Bicycle.self, Car.self] { try db.createTable(model) }
      let plan = try JSONEncoder().encode(Schema(Person.self).adding(Person.self, named: "driver").plan(db))
      try db.close()
      let pool = try SqlitePool(filepath: directory + "/garage.sqlite")
      _ = try pool.archive(to: directory + "/archived")
      try pool.close()
      try FileManager.default.copyItem(atPath: directory + "/garage.sqlite", toPath: directory + "/production.sqlite")
      func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: directory + "/" + name))
      }
      try write(try #require(try blocks("json", "Policies.md").last), to: "policy.json")
      try plan.write(to: URL(fileURLWithPath: directory + "/plan.json"))
      let (document, printed) = (try blocks("json")[0], try blocks("text"))
      try write(document, to: "statement.json")
      var runs: [Program.Run] = []
      for command in try blocks("sh").flatMap({ $0.split(separator: "\n") }) {
        let parts = command.split(separator: ">").map { $0.split(whereSeparator: \.isWhitespace).map(String.init) }
        guard parts[0][0] == "sqlable" else { continue }
        runs.append(try Program.tool.run(Array(parts[0].dropFirst()), in: directory))
        if parts.count > 1, let last = runs.last { try write(last.output, to: parts[1][0]) }
      }
      #expect(runs.map(\.exitCode) == Array(repeating: 0, count: 17))
      #expect(runs.allSatisfy { $0.errors == "" })
      #expect(runs[7].output == "")
      #expect(runs[9].output.hasSuffix("the dry run succeeded; nothing was changed\n"))
      #expect(runs[10].output.hasSuffix("\ndone\n"))
      #expect(runs[11...12].map(\.output) == ["done\n", "done\n"])
      #expect(runs[14].output.hasPrefix("commits 1 to 1, "))
      #expect(runs[16].output.hasSuffix("Nothing is wrong.\n"))
      #expect(runs[0].output == printed[0])
      #expect(runs[2].output == printed[0])
      #expect(runs[1].output.contains(#"WHERE "owner_id" = ? AND "color" = ?"#))
      #expect(runs[3].output == printed[2])
      #expect(runs[4].output == printed[3])
      #expect(runs[5].output.contains(#"CREATE TABLE "bicycle" ("id" INTEGER PRIMARY KEY AUTOINCREMENT, "#))
      try write(
        document.replacingOccurrences(of: #"{"column": "color"}"#, with: #"{"column": "colour"}"#), to: "statement.json"
      )
      let wrong = try Program.tool.run(["explain", "statement.json", "--database", "garage.sqlite"], in: directory)
      #expect(wrong == Program.Run(exitCode: 1, output: "", errors: printed[1]))
    }
  }
}
