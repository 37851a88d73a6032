import Sqlable
import SqlableRecovery
import Testing

@testable import SqlableTestSupport

@Suite(.needsPlainFiles("it reads pages")) struct CorruptionGuide {
  @Test func aSalvageRecoversRows() throws {
    try withDirectory { directory in
      let (path, yesterday) = (directory + "/bikes.sqlite", directory + "/yesterday.sqlite")
      let recovered = directory + "/recovered.sqlite"
      _ = try DamagedDatabase(path) { db in
        try DamagedDatabase.bicycles(db, 100)
        try db.execute("VACUUM INTO \(yesterday)")
      }
      let salvage = Salvage(damaged: path, backup: yesterday)
      let report = try salvage.recover(into: recovered)
      for table in report.tables where !table.isComplete {
        print(table.name, table.rowsFromPages, table.rowsFromBackup, table.rowsSetAside, table.estimatedRowsLost)
      }
      #expect(report.isComplete)
      #expect(report[table: "bicycle"]?.rowsFromPages == 100)
    }
  }

  @Test func damageIsReported() throws {
    try withDirectory { directory in
      let path = directory + "/bikes.sqlite"
      let alert = { @Sendable (_: Any...) in }
      _ = try DamagedDatabase(path) { try DamagedDatabase.bicycles($0, 100) }
      let db = try SqliteDatabase(filepath: path, configuration: .init(stopsWritesWhenDamaged: true))
      db.onCorruption { report in alert(report.tables, report.indexes, report.pages) }
      let report = try db.checkForCorruption()
      if report.isMendedByReindex { try db.reindex(report) }
      #expect(report.isSound)
    }
  }

  @Test func programContinuesWithANewFile() throws {
    try withDirectory { directory in
      let path = directory + "/bikes.sqlite"
      let schema = Schema(Person.self)
      _ = try DamagedDatabase(path) { db in
        try db.createTables(of: schema)
        for id in 1...10 { try Person(id: id, name: "person").insert().run(db) }
      }
      let pool = try SqlitePool(filepath: path)
      let aside = try pool.withClosed { files in
        let aside = try Salvage.putAside(files.filepath)
        try SqliteDatabase(filepath: files.filepath).createTables(of: schema)
        return aside
      }
      for table in try Salvage(damaged: aside).merge(into: pool) {
        print(table.table, table.added, table.conflicts, table.withoutParent)
      }
      #expect(try Person.count().run(pool) == 10)
      try pool.close()
    }
  }
}
