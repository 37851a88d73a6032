import Foundation
import Sqlable
import SqlableTenants
import Testing

@Suite(.enabled(if: Program.tool.isAvailable, "the tool is not built"))
struct TenantsToolTests {
  /// Calls `body` with a directory that has the tenants a, B and c in `tenants`.
  private func withTenants(_ body: (String, SqliteTenants) async throws -> Void) async throws {
    let directory = NSTemporaryDirectory() + "sqlable-test-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let tenants = try SqliteTenants(directory: directory + "/tenants", schema: Schema(Person.self))
    for name in ["a", "B", "c"] { _ = try await Person(id: nil, name: name).insert().run(tenants[name]) }
    try await tenants.close()
    try await body(directory, tenants)
  }

  private func file(_ name: String, in directory: String) throws -> String {
    let files: [String] = try FileManager.default.subpathsOfDirectory(atPath: directory + "/tenants")
    let file: String = try #require(files.first { $0.hasSuffix("/" + name) })
    return directory + "/tenants/" + file
  }

  @Test func tenantsAreListedAndChecked() async throws {
    try await withTenants { directory, _ in
      let list = try Program.tool.run(["tenants", "list", "tenants"], in: directory)
      #expect(list.exitCode == 0)
      let names = list.output.split(separator: "\n").compactMap { $0.split(separator: "\t").first }
      #expect(Set(names) == ["a", "B", "c"])
      let check = try Program.tool.run(["tenants", "check", "tenants"], in: directory)
      #expect(check == .init(exitCode: 0, output: "3 tenants, 0 damaged\n", errors: ""))
      let path = try file("=b.sqlite", in: directory)
      try Data(repeating: 7, count: 8_192).write(to: URL(fileURLWithPath: path))
      let again = try Program.tool.run(["tenants", "check", "tenants"], in: directory)
      #expect(again.exitCode == 1)
      #expect(again.output.hasPrefix("B: "))
      #expect(again.output.hasSuffix("3 tenants, 1 damaged\n"))
    }
  }

  @Test func tenantsAreBackedUp() async throws {
    try await withTenants { directory, _ in
      let backup = ["tenants", "backup", "tenants", "backups", "--rate", "100", "--keep", "30"]
      let run = try Program.tool.run(backup, in: directory)
      #expect(run.exitCode == 0)
      #expect(run.output.hasPrefix("backed up 3 of 3 tenants (0 unchanged), "))
      let restore = ["tenants", "restore", "tenants", "backups", "B"]
      let list = try Program.tool.run(restore + ["--list"], in: directory)
      let fields = try #require(list.output.split(separator: "\n").first).split(separator: "\t")
      let copy = try SqliteDatabase(filepath: directory + "/" + fields[1])
      #expect(try Person.read().run(copy).map(\.name) == ["B"])
    }
  }

  @Test func aTenantIsRestoredFromTheLastBackupBeforeATime() async throws {
    try await withTenants { directory, _ in
      let backup = ["tenants", "backup", "tenants", "backups"]
      let restore = ["tenants", "restore", "tenants", "backups", "B"]
      let none = try Program.tool.run(restore, in: directory)
      #expect(none == .init(exitCode: 1, output: "", errors: "sqlable: backups: no backup of the tenant\n"))
      #expect(try Program.tool.run(backup, in: directory).exitCode == 0)
      let noon = Date()
      let db = try SqliteDatabase(filepath: file("=b.sqlite", in: directory))
      _ = try Person(id: nil, name: "later").insert().run(db)
      try db.close()
      #expect(try Program.tool.run(backup, in: directory).exitCode == 0)
      let time = noon.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
      let run = try Program.tool.run(restore + ["--at", time], in: directory)
      #expect(run.exitCode == 0)
      #expect(run.output.hasPrefix("restored the backup of 20"))
      let old = try SqliteDatabase(filepath: file("=b.sqlite", in: directory))
      #expect(try Person.read().run(old).map(\.name) == ["B"])
      try old.close()
      #expect(try Program.tool.run(restore, in: directory).exitCode == 0)
      let new = try SqliteDatabase(filepath: file("=b.sqlite", in: directory))
      #expect(try Person.count().run(new) == 2)
    }
  }

  @Test func tenantsAreMigrated() async throws {
    try await withTenants { directory, _ in
      try FileManager.default.createDirectory(atPath: directory + "/sql", withIntermediateDirectories: true)
      try Data("CREATE TABLE extra (id INTEGER PRIMARY KEY)".utf8).write(
        to: URL(fileURLWithPath: directory + "/sql/1.sql"))
      let dry = try Program.tool.run(["tenants", "migrate", "tenants", "sql", "--dry-run"], in: directory)
      #expect(dry.exitCode == 0)
      #expect(dry.output.hasPrefix("current tenants: 0 (0 migrated now)\n3 before 1"))
      let canary = try Program.tool.run(["tenants", "migrate", "tenants", "sql", "--limit", "1"], in: directory)
      #expect(canary.output.hasPrefix("current tenants: 1 (1 migrated now)\n"))
      let all = try Program.tool.run(["tenants", "migrate", "tenants", "sql"], in: directory)
      #expect(all == .init(exitCode: 0, output: "current tenants: 3 (2 migrated now)\n", errors: ""))
      let db = try SqliteDatabase(filepath: file("c.sqlite", in: directory))
      #expect(try db.query("SELECT count(*) FROM extra", as: Int.self) == [0])
    }
  }

  @Test func mistakesAreReported() async throws {
    try await withTenants { directory, _ in
      for (arguments, code): ([String], Int32) in [
        (["tenants"], 2), (["tenants", "list"], 2), (["tenants", "list", "missing"], 1),
        (["tenants", "migrate", "tenants", "missing"], 1),
        (["tenants", "migrate", "tenants", "sql", "--limit", "0"], 2),
      ] {
        let run = try Program.tool.run(arguments, in: directory)
        #expect(run.exitCode == code, "\(arguments): \(run)")
      }
      #expect(!FileManager.default.fileExists(atPath: directory + "/missing"))
    }
  }
}
