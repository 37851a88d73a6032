import Sqlable
import Testing

@Suite struct CorruptionGuide {
  @Test func aSalvageRecoversRows() throws {
    try withDirectory { directory in
      let (path, yesterday) = (directory + "/bikes.sqlite", directory + "/yesterday.sqlite")
      let recovered = directory + "/recovered.sqlite"
      _ = try DamagedDatabase(path) { db in
        try SalvageTests.bicycles(db, 100)
        try db.execute("VACUUM INTO \(yesterday)")
      }
      let salvage = Salvage(damaged: path, backup: yesterday)
      let report = try salvage.recover(into: recovered)
      for table in report.tables where !table.isComplete {
        print(table.name, table.rowsFromPages, table.rowsFromBackup, table.estimatedRowsLost)
      }
      #expect(report.isComplete)
      #expect(report[table: "bicycle"]?.rowsFromPages == 100)
    }
  }
}
