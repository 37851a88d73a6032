import Foundation
import Sqlable
import SqlableRecovery
import Testing

@Suite(.enabled(if: Program.tool.isAvailable, "the tool is not built"))
struct ArchiveToolTests {
  @Test func anArchiveIsListedAndRestored() throws {
    try withDirectory { directory in
      let pool = try SqlitePool(filepath: directory + "/a.sqlite")
      try pool.transaction { db in _ = try db.createTable(Person.self) }
      let archive: PoolArchive = try pool.archive(to: directory + "/archive")
      try Person(id: nil, name: "Anna").insert().run(pool)
      let commit: Int = try archive.flush()
      usleep(20_000)
      let noon = Date().formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
      usleep(20_000)
      try Person(id: nil, name: "Bert").insert().run(pool)
      try pool.close()
      func run(_ arguments: String...) throws -> Program.Run {
        try Program.tool.run(["archive", "archive"] + arguments, in: directory)
      }
      let list = try run()
      #expect(list.exitCode == 0)
      #expect(list.output.hasPrefix("commits 1 to \(commit + 1), 20"))
      #expect(try run("--json").output.contains(#""commit" : \#(commit + 1)"#))
      for (target, arguments, count) in [
        ("latest", [], 2), ("noon", ["--at", noon], 1), ("number", ["--commit=\(commit)", "--no-check"], 1),
      ] {
        let restored = try Program.tool.run(["archive", "archive", target] + arguments, in: directory)
        #expect(restored.exitCode == 0)
        #expect(restored.output.hasPrefix("commit \(count == 2 ? commit + 1 : commit) of 20"))
        #expect(try Person.count().run(SqliteDatabase(filepath: directory + "/" + target)) == count)
      }
      for (arguments, code): ([String], Int32) in [
        ([], 2), (["archive", "x", "y"], 2), (["archive", "--at", noon], 2), (["archive", "x", "--at", "noon"], 2),
        (["archive", "x", "--commit", "0"], 2), (["archive", "x", "--commit=1", "--at", noon], 2),
        (["archive", "latest"], 1), (["archive", "x", "--commit", "99"], 1), (["none", "x"], 1), (["none"], 1),
      ] {
        let run = try Program.tool.run(["archive"] + arguments, in: directory)
        #expect(run.exitCode == code, "\(arguments): \(run)")
        #expect(run.output.isEmpty, "\(arguments): \(run)")
        #expect(run.errors.hasPrefix("sqlable: "), "\(arguments): \(run)")
      }
      #expect(!FileManager.default.fileExists(atPath: directory + "/x"))
    }
  }
}
