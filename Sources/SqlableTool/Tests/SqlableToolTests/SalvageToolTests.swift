import Foundation
import Sqlable
import SqlableRecovery
import Testing

@Suite(.enabled(if: Program.tool.isAvailable)) struct SalvageToolTests {
  @Test func salvagePrintsTheRecoveredRowsOfEachTable() throws {
    try withDirectory { directory in
      let damaged = try DamagedDatabase(
        directory + "/a.sqlite"
      ) { db in
        try db.execute("CREATE TABLE bicycle (id INTEGER PRIMARY KEY, name TEXT NOT NULL, color TEXT)")
        for id in 1...3_000 { try db.execute("INSERT INTO bicycle VALUES (\(id), \("bicycle \(id)"), 'red')") }
      }
      let whole = try Program.tool.run(["salvage", "a.sqlite", "whole.sqlite"], in: directory)
      #expect(whole.exitCode == 0, "\(whole)")
      #expect(whole.output.hasPrefix("bicycle: 3000 rows\n"))
      try FileManager.default.copyItem(atPath: damaged.path, toPath: directory + "/backup.sqlite")
      try damaged.zero(page: damaged.pages(ofType: 13)[20])
      let lost = try Program.tool.run(["salvage", "a.sqlite", "b.sqlite", "--json"], in: directory)
      #expect(lost.exitCode == 1)
      let report = try JSONDecoder().decode(SalvageReport.self, from: Data(lost.output.utf8))
      #expect(report[table: "bicycle"].map { $0.rowsFromPages + $0.estimatedRowsLost } == 3_000)
      let completed = try Program.tool.run(
        ["salvage", "a.sqlite", "c.sqlite", "--backup", "backup.sqlite"], in: directory)
      #expect(completed.output.contains("of them from the backup"))
      #expect(try literals(directory + "/c.sqlite", ["id"], from: "bicycle").count == 3_000)
      let again = try Program.tool.run(["salvage", "a.sqlite", "b.sqlite"], in: directory)
      #expect(again.exitCode == 1)
      #expect(again.errors.contains("already exists"))
      #expect(try Program.tool.run(["salvage", "a.sqlite"], in: directory).exitCode == 2)
    }
  }
}
