import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableRecovery
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Files of other programs that have the name of a temporary file of a backup, a restore or a salvage.
@Suite struct TemporaryFileTests {
  @Test(.needsPlainFiles("an archive reads pages"))
  func fileWithTheTemporaryNameOfABackupIsKept() async throws {
    try await withDirectoryAsync { directory in
      let pool = try SqlitePool(filepath: directory + "/a.sqlite")
      try await pool.withWriter { db in try db.createTable(Bicycle.self) }
      let archive = try await pool.archive(to: directory + "/archive")
      try await archive.stop()
      let target = directory + "/b.sqlite"
      let works: [(String, () async throws -> Void)] = [
        ("backup", { try await pool.backup(to: target) }),
        ("backup", { try await pool.backup(to: target, .vacuumed) }),
        ("backup", { try await DatabaseArchive(at: directory + "/archive").restore(to: target) }),
        ("salvage", { try await Salvage(damaged: pool.filepath).recover(into: target) }),
      ]
      for (work, run) in works {
        for suffix in ["", "-journal"] {
          let other = target + ".sqlable-partial" + suffix
          try Data("mine".utf8).write(to: URL(filePath: other))
          let error = await #expect(throws: SqlError.self) { try await run() }
          #expect(
            error?.message.hasSuffix(
              "can't create the temporary file of the \(work): another file has the name; move or delete \(other)")
              == true)
          #expect(try String(contentsOfFile: other, encoding: .utf8) == "mine")
          unlink(other)
        }
        try await run()
        #expect(FileIdentity.info(target).map { $0.st_mode & S_ISVTX } == 0)
        try SqliteDatabase.deleteDatabase(at: target)
      }
      // The chunks of a backup use the next name of a series.
      let other = pool.filepath + ".sqlable-partial-1"
      try Data("mine".utf8).write(to: URL(filePath: other))
      for try await _ in pool.backupBytes() {}
      #expect(try String(contentsOfFile: other, encoding: .utf8) == "mine")
    }
  }
}
