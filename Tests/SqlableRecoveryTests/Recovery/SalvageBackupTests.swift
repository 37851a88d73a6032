import Foundation
import SqlableCore
import SqlableRecovery
import Testing

@testable import SqlableTestSupport

@Suite("Salvage: rows of a backup in place of lost ones", .needsPlainFiles("it damages pages by their contents"))
struct SalvageBackupTests {
  @Test func backupRestoresOnlyTheRowsLostToDamage() throws {
    try withDirectory { directory in
      let (path, backup) = (directory + "/a.sqlite", directory + "/it's a backup.sqlite")
      let damaged = try DamagedDatabase(path) { db in
        try DamagedDatabase.bicycles(db, 5_000)
        try db.execute("VACUUM INTO \(backup)")
        try db.execute("UPDATE bicycle SET color = 'blue' WHERE id % 10 = 0")
        try db.execute("DELETE FROM bicycle WHERE id BETWEEN 100 AND 120")
        try db.execute("INSERT INTO bicycle VALUES (5001, 'new', 'new', 0)")
      }
      let now = try literals(path, SalvageTests.columns, from: "bicycle")
      let then = try literals(backup, SalvageTests.columns, from: "bicycle")
      let leaves = try damaged.pages(ofType: 13)
      for leaf in stride(from: 20, to: leaves.count, by: 15) { try damaged.zero(page: leaves[leaf]) }
      let before = try files(in: directory).map { try Data(contentsOf: URL(fileURLWithPath: directory + "/" + $0)) }
      let report = try Salvage(damaged: path, backup: backup).recover(into: directory + "/z.sqlite")
      let names = files(in: directory).filter { $0 != "z.sqlite" }
      let after = try names.map { try Data(contentsOf: URL(fileURLWithPath: directory + "/" + $0)) }
      #expect(after == before)
      let found = try literals(directory + "/z.sqlite", SalvageTests.columns, from: "bicycle")
      let table = try #require(report[table: "bicycle"])
      #expect(table.source == .both)
      #expect(table.rowsFromBackup > 100)
      #expect(table.rowsFromPages + table.rowsFromBackup == found.count)
      // A row of a lost page has the backup's value; every other row has the current value.
      #expect(Set(found).isSubset(of: Set(now).union(then)))
      #expect(Set(found).subtracting(now).count <= table.rowsFromBackup)
      let ids = try literals(directory + "/z.sqlite", ["id"], from: "bicycle").compactMap { Int($0) }
      #expect(ids.count == Set(ids).count)
      #expect(!ids.contains { (100...120).contains($0) })
      #expect(table.estimatedRowsLost <= 1)
    }
  }

  @Test func backupWithOtherRowidsRestoresNoRows() throws {
    try withDirectory { directory in
      let (path, backup) = (directory + "/a.sqlite", directory + "/backup.sqlite")
      let damaged = try DamagedDatabase(path) { db in
        try db.execute("CREATE TABLE t(name TEXT)")
        try db.transaction { _ in for id in 1...3_000 { try db.execute("INSERT INTO t VALUES (\("name \(id)"))") } }
        try db.execute("DELETE FROM t WHERE rowid % 3 = 0")
        try db.execute("ATTACH \(backup) AS copy")
        try db.execute("CREATE TABLE copy.t(name TEXT); INSERT INTO copy.t SELECT name FROM t ORDER BY rowid")
      }
      let leaves = try damaged.pages(ofType: 13)
      try damaged.zero(page: leaves[leaves.count / 2])
      let report = try Salvage(damaged: path, backup: backup).recover(into: directory + "/b.sqlite")
      #expect(report[table: "t"]?.rowsFromBackup == 0)
      #expect(
        report.problems == ["rows of t were not restored from the backup: the backup stores these rows with other ids"])
      let found = try literals(directory + "/b.sqlite", ["name"], from: "t")
      #expect(found.count == Set(found).count)
    }
  }

  @Test func aTableThatIsLostAsAWholeComesFromTheBackup() throws {
    try withDirectory { directory in
      let (path, backup) = (directory + "/a.sqlite", directory + "/backup.sqlite")
      let damaged = try DamagedDatabase(path) { db in
        try db.execute(
          "CREATE TABLE small(id INTEGER PRIMARY KEY, a TEXT); INSERT INTO small VALUES (3, 'x'), (4, 'y')")
        try db.execute("CREATE TABLE pair(a, b, PRIMARY KEY (a, b)) WITHOUT ROWID; INSERT INTO pair VALUES (1, 2)")
        try db.execute("VACUUM INTO \(backup)")
      }
      for name in ["small", "pair"] { try damaged.zero(page: damaged.root(of: name)) }
      let report = try Salvage(damaged: path, backup: backup).recover(into: directory + "/b.sqlite")
      #expect(try literals(directory + "/b.sqlite", ["id", "a"], from: "small") == ["3, 'x'", "4, 'y'"])
      #expect(try literals(directory + "/b.sqlite", ["a", "b"], from: "pair") == ["1, 2"])
      #expect(report.tables.allSatisfy { $0.source == .backup })
    }
  }
}
