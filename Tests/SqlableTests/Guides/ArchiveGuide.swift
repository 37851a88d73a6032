import Foundation
import Sqlable
import SqlableBackup
import SqlableRecovery
import Testing

@testable import SqlableTestSupport

@Suite(.needsPlainFiles("it reads pages")) struct ArchiveGuide {
  @Test func archiveRestoresTheDatabaseOfAMoment() throws {
    try withDirectory { directory in
      let (path, backups) = (directory + "/bikes.sqlite", directory + "/backups")
      let pool = try SqlitePool(filepath: path)
      try pool.transaction { db in _ = try db.createTable(Person.self) }
      let archive = try pool.archive(to: backups + "/bikes")
      try Person(id: nil, name: "Anna").insert().run(pool)
      let commit: Int = try archive.flush()
      usleep(2_000)
      let noon = Date()
      usleep(2_000)
      _ = try Person.deleteAll().run(pool)
      try archive.stop()
      let restored = try DatabaseArchive(at: backups + "/bikes").restore(to: path + ".noon", at: .time(noon))
      print("commit \(restored.commit) of \(restored.time)")
      #expect(restored.commit == commit)
      try pool.restore(from: path + ".noon")
      #expect(try Person.read().run(pool).map(\.name) == ["Anna"])
      #expect(ArchiveOptions() == ArchiveOptions(interval: .milliseconds(250), baseInterval: .seconds(86_400)))
      #expect(ArchiveOptions().keep == nil)
      #expect(ArchiveOptions().fileSize == 64 << 20)
      #expect(ArchiveOptions().maximumWalSize == 1 << 30)
      try pool.close()
    }
  }
}
