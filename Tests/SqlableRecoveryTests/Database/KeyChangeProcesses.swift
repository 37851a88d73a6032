#if SQLCipher
import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import Testing

@testable import SqlableTestSupport

/// Encryptions and key changes of processes that the test kills, and encryptions beside other processes.
@Suite(.enabled(if: TestProgram.isAvailable, "the tests are no program of their own"))
struct KeyChangeProcesses {
  fileprivate static let variable = "SQLABLE_KEY_WORKER"
  fileprivate static let (old, new) = ([UInt8](100..<132), [UInt8](0..<32))

  private static func configuration(_ key: EncryptionKey, _ mode: Configuration.JournalMode = .wal) -> Configuration {
    Configuration(busyTimeout: 60, journalMode: mode, key: key)
  }

  /// The rows that the writers of a killed process have acknowledged.
  private func acknowledged(_ directory: String) throws -> [String] {
    try (0..<2).flatMap { writer -> [String] in
      let path = directory + "/rows\(writer)"
      // A thread that was killed early has no file.
      guard access(path, F_OK) == 0 else { return [] }
      let data = try Data(contentsOf: URL(fileURLWithPath: path))
      // A kill can cut the last line.
      return String(decoding: data, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        .map(String.init)
    }
  }

  @Test(arguments: ["encrypt", "rekey"]) func killedProcessLeavesACompleteFileWithOneOfTheKeys(
    _ work: String
  ) throws {
    try withDirectory { directory in
      var random = SeededGenerator(seed: 46)
      let old = work == "encrypt" ? .unencrypted : try EncryptionKey.raw(KeyChangeProcesses.old)
      let keys = [old, try .raw(KeyChangeProcesses.new)]
      let (template, path) = (directory + "/template", directory + "/a.sqlite")
      let db = try SqliteDatabase(filepath: template, configuration: KeyChangeProcesses.configuration(old, .delete))
      try db.createTable(Person.self)
      try Person.insert((1...100).map { Person(id: nil, name: "\($0) " + String(repeating: "x", count: 20_000)) })
        .run(db)
      try db.close()
      var (opened, journals) = ([Int: Int](), 0)
      let isSweep = ProcessInfo.processInfo.environment["SQLABLE_SWEEP"] == "all"
      for round in 0..<(isSweep ? 120 : 8) {
        try DatabaseFiles(of: path).remove()
        try FileManager.default.copyItem(atPath: template, toPath: path)
        for name in ["ready", "done", "rows0", "rows1"] { unlink(directory + "/" + name) }
        let worker = try TestProgram.start(
          "KeyChangeWorkerProcess", environment: [KeyChangeProcesses.variable: directory + " " + work])
        waitUntil(within: .seconds(900)) { access(directory + "/ready", F_OK) == 0 }
        // Every eighth process is killed after its work.
        if round % 8 == 7 { waitUntil(within: .seconds(900)) { access(directory + "/done", F_OK) == 0 } }
        usleep(UInt32.random(in: 0..<400_000, using: &random))
        worker.signal(SIGKILL)
        worker.waitUntilExit()
        let isDone = access(directory + "/done", F_OK) == 0
        if FileIdentity.info(path + "-journal").map({ $0.st_size > 0 }) == true { journals += 1 }
        // The first opening recovers the file, also with the wrong key.
        let order = Bool.random(using: &random) ? [0, 1] : [1, 0]
        let found = order.compactMap { index -> (Int, SqliteDatabase)? in
          let db = try? SqliteDatabase(filepath: path, configuration: KeyChangeProcesses.configuration(keys[index]))
          return db.map { (index, $0) }
        }
        #expect(found.count == 1, "round \(round)")
        guard let (index, file) = found.first else { continue }
        #expect(!isDone || index == 1)
        opened[index, default: 0] += 1
        #expect(try file.query("PRAGMA integrity_check", as: String.self) == ["ok"])
        let names = Set(try file.query("SELECT name FROM person", as: String.self))
        #expect(names.count >= 100)
        let missing = try acknowledged(directory).filter { !names.contains($0) }
        #expect(missing.isEmpty, "round \(round): \(missing)")
        try file.close()
      }
      #expect(opened[1, default: 0] > 0, "\(opened)")
      if isSweep { #expect(opened.count == 2 && (work == "rekey" || journals > 2), "\(opened), \(journals)") }
    }
  }

  @Test(.enabled(if: SQLiteProcess.program != nil, "the sqlite3 program is not installed"))
  func aFileThatAnotherProcessHasOpenInWALModeIsBusy() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      var configuration = KeyChangeProcesses.configuration(.unencrypted)
      configuration.busyTimeout = 0.7
      let db = try SqliteDatabase(filepath: path, configuration: configuration)
      try db.createTable(Person.self)
      let other = try SQLiteProcess(path)
      #expect(try other.run("INSERT INTO person (name) VALUES ('Anna'); SELECT count(*) FROM person;") == "1")
      let error = sqlError { try db.encrypt(with: .raw(KeyChangeProcesses.new)) }
      #expect(error?.kind == .busy)
      #expect(error?.message.hasPrefix("can't encrypt the file: process ") == true, "\(error as Any)")
      #expect(try Person.count().run(db) == 1)
      #expect(try other.run("INSERT INTO person (name) VALUES ('Bo'); SELECT count(*) FROM person;") == "2")
      other.quit()
      try db.encrypt(with: .raw(KeyChangeProcesses.new))
      #expect(try Person.count().run(db) == 2)
    }
  }

  /// Outside WAL mode, an idle connection has no lock, so that `encrypt` does not see the connection.
  @Test(.enabled(if: SQLiteProcess.program != nil, "the sqlite3 program is not installed"))
  func anIdleProcessCanNeitherReadNorDamageTheEncryptedFile() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(
        filepath: path, configuration: KeyChangeProcesses.configuration(.unencrypted, .delete))
      try db.createTable(Person.self)
      try Person(id: nil, name: "Anna").insert().run(db)
      let idle = try SQLiteProcess(path)
      #expect(try idle.run("SELECT count(*) FROM person;") == "1")
      try db.encrypt(with: .raw(KeyChangeProcesses.new))
      let pool = try SqlitePool(
        filepath: path,
        configuration: .init(handles: KeyChangeProcesses.configuration(try .raw(KeyChangeProcesses.new), .wal)))
      try db.close()
      try pool.transaction { db in try Person(id: nil, name: "Bo").insert().run(db) }
      #expect(try idle.run("INSERT INTO person (name) VALUES ('Cid');").contains("not a database"))
      idle.quit()
      try Person(id: nil, name: "Dan").insert().run(pool)
      #expect(try Person.read().run(pool).map(\.name) == ["Anna", "Bo", "Dan"])
      #expect(try pool.read { db in try db.query("PRAGMA integrity_check", as: String.self) } == ["ok"])
      try pool.close()
    }
  }

  @Test func anotherProcessWaitsAndThenNeedsTheKey() throws {
    try withDirectory { directory in
      let path = directory + "/a.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: KeyChangeProcesses.configuration(.unencrypted))
      try db.createTable(Person.self)
      try Person.insert((1...100).map { Person(id: nil, name: "\($0)") }).run(db)
      try db.close()
      let worker = try TestProgram.start(
        "KeyChangeWorkerProcess", environment: [KeyChangeProcesses.variable: directory + " encrypt"])
      defer {
        worker.signal(SIGKILL)
        worker.waitUntilExit()
      }
      // Opens the file again and again, while the other process encrypts the file and writes.
      var (rows, last) = (0, SqlError?.none)
      waitUntil(within: .seconds(900)) {
        last = sqlError {
          let reader = try SqliteDatabase(
            filepath: path, configuration: .init(isReadOnly: true, busyTimeout: 60, key: .unencrypted))
          rows = max(rows, try Person.count().run(reader))
        }
        usleep(5_000)
        return access(directory + "/done", F_OK) == 0
      }
      #expect(last == nil || last?.kind == .notADatabase || last?.kind == .busy, "\(last as Any)")
      #expect(rows >= 100)
      // Before the names are read, because the other process continues.
      let known = try acknowledged(directory)
      let reader = try SqliteDatabase(
        filepath: path, configuration: KeyChangeProcesses.configuration(try .raw(KeyChangeProcesses.new)))
      let names = Set(try reader.query("SELECT name FROM person", as: String.self))
      #expect(known.allSatisfy(names.contains))
    }
  }
}

/// The child process: two writers beside a change of the key.
@Suite(.enabled(if: ProcessInfo.processInfo.environment[KeyChangeProcesses.variable] != nil, "a process of its own"))
struct KeyChangeWorkerProcess {
  @Test func childProcessDoesItsTask() throws {
    let words = try #require(ProcessInfo.processInfo.environment[KeyChangeProcesses.variable]).split(separator: " ")
    let (directory, work) = (String(words[0]), String(words[1]))
    let key = work == "encrypt" ? .unencrypted : try EncryptionKey.raw(KeyChangeProcesses.old)
    let pool = try SqlitePool(
      filepath: directory + "/a.sqlite", configuration: .init(handles: .init(busyTimeout: 60, key: key)))
    let end = ContinuousClock.now + .seconds(30)
    for writer in 0..<2 {
      Thread.detachNewThread {
        let file = open(directory + "/rows\(writer)", O_WRONLY | O_CREAT | O_APPEND, 0o600)
        var number = 0
        // Without a kill, the process ends by itself.
        while ContinuousClock.now < end {
          number += 1
          let name = "\(writer) \(number)"
          guard (try? Person(id: nil, name: name).insert().run(pool)) != nil else { continue }
          let line = Array((name + "\n").utf8)
          _ = write(file, line, line.count)
        }
      }
    }
    usleep(20_000)
    try Data().write(to: URL(fileURLWithPath: directory + "/ready"))
    if work == "encrypt" {
      try pool.encrypt(with: .raw(KeyChangeProcesses.new))
    } else {
      try pool.rekey(to: .raw(KeyChangeProcesses.new))
    }
    try Data().write(to: URL(fileURLWithPath: directory + "/done"))
    while ContinuousClock.now < end { usleep(100_000) }
  }
}
#endif
