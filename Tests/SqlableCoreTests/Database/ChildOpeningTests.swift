import Foundation
import Glibc
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Child handles: connections to the file that their parent has open.
@Suite struct ChildOpeningTests {
  enum Way: CaseIterable {
    case deleted, renamed, replaced, directoryRenamed
  }

  private func move(_ path: String, _ way: Way) throws {
    switch way {
    case .deleted: unlink(path)
    case .renamed: rename(path, path + ".old")
    case .replaced:
      unlink(path)
      close(open(path, O_CREAT | O_WRONLY, 0o644))
    case .directoryRenamed:
      let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
      rename(directory, directory + "-old")
    }
  }

  @Test(arguments: Way.allCases, [Configuration.JournalMode.wal, .delete])
  func createChildThrowsAfterTheFileWasMoved(way: Way, mode: Configuration.JournalMode) throws {
    try withDirectory { directory in
      let path = directory + "/sub/db.sqlite"
      let db = try SqliteDatabase(filepath: path, configuration: .init(label: "shop", journalMode: mode))
      try db.createTable(Person.self)
      try move(path, way)
      let before = try files(in: directory)
      let error = expectError(.io) { _ = try db.createChild() }
      #expect(error?.label == "shop")
      // createChild creates no file, and does not initialize the replacement.
      #expect(try files(in: directory) == before)
      if way == .replaced { #expect(try Data(contentsOf: URL(fileURLWithPath: path)).isEmpty) }
      #expect(try Person.count().run(db) == 0)
      if way == .renamed {
        rename(path + ".old", path)
        #expect(try Person.count().run(db.createChild()) == 0)
      }
    }
  }

  private func files(in directory: String) throws -> [String] {
    try FileManager.default.subpathsOfDirectory(atPath: directory).sorted()
  }

  private typealias Unshare = @convention(c) (Int32) -> Int32

  /// A thread with a private working directory: unshare(CLONE_FS).
  @Test func childrenResolveARelativePathAsTheParentDid() throws {
    let unshare = try #require(dlsym(nil, "unshare").map { unsafeBitCast($0, to: Unshare.self) })
    try withDirectory { directory in
      for name in ["one", "two"] { mkdir(directory + "/" + name, 0o755) }
      let failures = Mutex<[String]>([])
      onThreads(1) { _ in
        do {
          guard unshare(0x200) == 0, chdir(directory + "/one") == 0 else { return }
          let db = try SqliteDatabase(filepath: "shop.sqlite")
          try db.createTable(Person.self)
          chdir(directory + "/two")
          let child = try db.createChild()
          try Person(id: 1, name: "a").insert().run(child)
          let grandchild = try child.createChild()
          if try Person.count().run(grandchild) != 1 { failures.withLock { $0.append("another database") } }
          if try Person.count().run(db) != 1 { failures.withLock { $0.append("the parent's is another") } }
        } catch { failures.withLock { $0.append("\(error)") } }
      }
      #expect(failures.withLock { $0 } == [])
      let created = try files(in: directory + "/two")
      #expect(created == [])
    }
  }

  @Test(.needs(36, "a child of a database in memory")) func childrenOfReadOnlyAndInMemoryDatabasesWork() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let reader = try SqliteDatabase(filepath: db.filepath, configuration: .init(isReadOnly: true))
      let child = try reader.createChild()
      #expect(try Person.count().run(child) == 0)
      for handle in [reader, child] {
        let error = expectError(.readOnly) { try Person(id: nil, name: "a").insert().run(handle) }
        #expect(error?.message == "can't run INSERT: the handle is read-only; use a handle without isReadOnly")
        #expect(error?.transaction == SqlError.TransactionFate.none)
      }
      let inside = expectError(.readOnly) {
        try reader.transaction { db in
          let error = expectError(.readOnly) { try Person.deleteAll().run(db) }
          #expect(error?.transaction == .untouched)
          try db.execute("PRAGMA user_version = 2")
        }
      }
      #expect(inside?.message == "can't run PRAGMA: the handle is read-only; use a handle without isReadOnly")
      #expect(inside?.transaction == .rolledBack)
      let memory = try SqliteDatabase.inMemory()
      try memory.createTable(Person.self)
      #expect(try Person.count().run(memory.createChild().createChild()) == 0)
    }
  }

  @Test func childrenIgnoreAChangedSymbolicLink() throws {
    try withDirectory { directory in
      symlink(directory + "/real.sqlite", directory + "/link.sqlite")
      let db = try SqliteDatabase(filepath: directory + "/link.sqlite")
      try db.createTable(Person.self)
      unlink(directory + "/link.sqlite")
      symlink(directory + "/other.sqlite", directory + "/link.sqlite")
      let child = try db.createChild()
      try Person(id: 1, name: "a").insert().run(child)
      #expect(try Person.count().run(db) == 1)
      #expect(child.filepath == db.filepath)
      #expect(!FileManager.default.fileExists(atPath: directory + "/other.sqlite"))
    }
  }
}
