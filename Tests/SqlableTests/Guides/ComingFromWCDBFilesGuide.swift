import Foundation
import Sqlable
import SqlableBackup
import SqlableRecovery
import Testing

@testable import SqlableTestSupport

/// The right columns of the tables of Docs/ComingFromWCDB.md: files, blocks, traces, keys, damage.
@Suite struct ComingFromWCDBFilesGuide {
  @Test func equivalentsOfOpeningAndClosingWork() throws {
    try withDirectory { directory in
      let (path, newPath) = (directory + "/bikes.sqlite", directory + "/moved.sqlite")
      #expect(SqliteDatabase.canOpen(at: path))
      let lazy = Configuration(label: "main", opensLazily: true)
      let db = try SqliteDatabase(filepath: path, configuration: lazy)
      #expect(!db.isConnected)
      try db.createTables(Person.self, Bicycle.self)
      #expect(SqliteDatabase.handles(labelled: "main").contains { $0 === db })
      let block = try db.block()
      #expect(!block.isEnded)
      block.end()
      #expect(db.files.paths.contains(path))
      #expect(db.files.size > 0)
      try db.checkpoint(.passive)
      try db.checkpoint(.truncate)
      try db.releaseMemory()
      SqliteDatabase.releaseMemory()
      try db.withClosed { files in try files.copy(to: newPath) }
      try db.close()
      try DatabaseFiles(of: newPath).remove()
      try DatabaseFiles(of: path).move(to: newPath)
      try SqliteDatabase.deleteDatabase(at: newPath)
      #expect(files(in: directory) == [])
    }
  }

  @Test func equivalentsOfTracesWork() throws {
    try withDatabase { db in
      let (lines, errors) = (Collected<String>(), Collected<SqlError.Severity?>())
      try db.createTables(Person.self, Bicycle.self)
      let token = db.trace { event in lines.append(event.sql) }
      db.trace(.slow(.milliseconds(50))) { event in print(event.sql, event.duration) }
      db.onError(atLeast: .warning) { event in errors.append(event.severity) }
      let everywhere = SqliteDatabase.onError(atLeast: .critical) { event in print(event) }
      _ = try Bicycle.count().run(db)
      _ = sqlError { _ = try Bicycle.read().limit(-1).run(db) }
      db.removeTrace(token)
      SqliteDatabase.removeTraceOfAll(everywhere)
      #expect(lines.values.contains(#"SELECT count(*) FROM "bicycle""#))
      #expect(errors.values == [.error])
      #expect(db.writeLockHolder == nil)
    }
  }

  @Test func equivalentsOfEncryptionCompile() throws {
    let secret = Data("correct horse".utf8)
    let key = try EncryptionKey.passphrase(Array(secret))
    let encrypted = Configuration(key: key, cipher: CipherSettings(pageSize: 4_096))
    #expect(encrypted.key != nil)
  }

  @Test func equivalentsOfRepairWork() throws {
    try withDirectory { directory in
      let (path, backupPath) = (directory + "/bikes.sqlite", directory + "/backup.sqlite")
      let db = try SqliteDatabase(filepath: path)
      try db.createTables(Person.self, Bicycle.self)
      db.onCorruption { report in print(report.tables) }
      #expect(try db.checkForCorruption().isSound)
      #expect(db.corruption == nil)
      try db.backup(to: backupPath)
      #expect(try Person.count().run(SqliteDatabase(filepath: backupPath)) == 0)
    }
  }

  @Test func rowsOfAnotherFileAreCopied() throws {
    try withDirectory { directory in
      let (path, oldPath) = (directory + "/bikes.sqlite", directory + "/old.sqlite")
      let old = try SqliteDatabase(filepath: oldPath)
      try old.createTables(Person.self, Bicycle.self)
      try Bicycle(name: "Trek", color: "red").insert().run(old)
      let attached = Configuration(attached: ["old": oldPath])
      let db = try SqliteDatabase(filepath: path, configuration: attached)
      try db.createTables(Person.self, Bicycle.self)
      let count = try Bicycle.insert(from: Bicycle.read().in(database: "old")).ignoreOnConflict().run(db)
      #expect(count == 1)
      #expect(try Bicycle.read().run(db).map(\.name) == ["Trek"])
    }
  }
}
