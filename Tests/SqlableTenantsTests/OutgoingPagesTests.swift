import Foundation
import Glibc
import SqlableBackup
import SqlableCore
import SqlablePool
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

/// The pages that a hand-over reads from the WAL.
@Suite struct OutgoingPagesTests {
  private let long = String(repeating: "x", count: 2_000)

  /// Calls `body` with an open tenant and the pages of its hand-over, once the tenant has `rows` long rows.
  private func withPages(
    _ rows: Int, _ body: (SqlitePool, OutgoingPages, String) async throws -> Void
  ) async throws {
    try await withTenants { tenants in
      _ = try await Note.insert((0..<rows).map { Note("\($0) \(long)") }).run(tenants["acme"])
      let path = try tenants.filepath(of: "acme")
      try await tenants["acme"].withPool { pool in
        // All pages are in the file, so the next commit resets the WAL.
        _ = try pool.root.checkpoint(.passive)
        let pages = try OutgoingPages(pool, path)
        defer { pages.close() }
        try await body(pool, pages, path)
      }
    }
  }

  @Test(.needsPlainFiles("looks for text in pages")) func pagesOfALargeWALAreReadWhenTheyAreSent() async throws {
    struct IsEnough: Error {}
    try await withMachines { here, there in
      try await here["acme"].add("first")
      let path = try here.filepath(of: "acme")
      let rows = (0..<1_500).map { Note("\($0) \(long)") } + [Note("the last row")]
      let (isWritten, isFound) = (Mutex(false), Mutex(false))
      await #expect(throws: IsEnough.self) {
        try await here.handOver("acme") { part in
          switch part.content {
          case .bytes where isWritten.withLock { !$0 }: _ = try await Note.insert(rows).run(here["acme"])
          case .pages(let data, _, _) where isWritten.withLock { !$0 }:
            #expect(data.range(of: Data("the last row".utf8)) == nil)
            isWritten.withLock { $0 = true }
            // SQLite has no locks on the WAL.
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: path + "-wal"))
            let log = try #require(try file.readToEnd())
            let row = try #require(log.range(of: Data("the last row".utf8), options: .backwards))
            try file.seek(toOffset: UInt64(row.lowerBound))
            try file.write(contentsOf: Data("THE LAST ROW".utf8))
            try file.close()
          case .pages(let data, _, _):
            if data.range(of: Data("THE LAST ROW".utf8)) != nil { isFound.withLock { $0 = true } }
          case .sync where isWritten.withLock { $0 }: throw IsEnough()
          default: break
          }
          return try await there.receive(part)
        }
      }
      #expect(isFound.withLock { $0 })
    }
  }

  @Test(arguments: [false, true])
  func aFileThatShrinksDuringTheHandOverArrives(_ growsAgain: Bool) async throws {
    var configuration = TenantsConfiguration()
    configuration.pool.handles.walAutocheckpoint = 0
    // Seven rows have place in a page, also in an encrypted one.
    let text = String(repeating: "x", count: 500)
    try await withMachines(configuration) { here, there in
      _ = try await Note.insert((0..<8_000).map { Note("\($0) \(text)") }).run(here["acme"])
      let path = try here.filepath(of: "acme")
      let other = try SqliteDatabase(filepath: path, configuration: configuration.pool.handles)
      try other.checkpoint(.passive)
      try other.execute("DELETE FROM note WHERE id > 2400; VACUUM")
      let (sizes, rows) = (Mutex<[Int]>([]), growsAgain ? 2_000 : 1)
      @Sendable func size() -> Int { FileIdentity.info(path).map { Int($0.st_size) } ?? 0 }
      try await here.handOver("acme") { part in
        switch part.content {
        case .bytes(_, offset: 0):
          let before = size()
          // Other connections copy the smaller database into the file, which then has only a part of the next bytes.
          try other.checkpoint(.passive)
          sizes.withLock { $0 = [before, size()] }
        case .sync:
          if other.isOpen {
            for index in 0..<rows { try Note("\(index) again \(text)").insert().run(other) }
            try other.close()
          }
        default: break
        }
        return try await there.receive(part)
      }
      let found = sizes.withLock { $0 }
      try #require(found.count == 2 && found[0] > 3 << 20 && found[1] > 1 << 20 && found[1] < 2 << 20, "\(found)")
      let texts = try await there["acme"].texts()
      #expect(texts == (0..<2_400).map { "\($0) \(text)" } + (0..<rows).map { "\($0) again \(text)" })
      let check = try await there["acme"].read { db in try db.query("PRAGMA integrity_check", as: String.self) }
      #expect(check == ["ok"])
    }
  }

  @Test(.needsPlainFiles("looks for text in pages")) func noPageIsSentAfterTheWALWasReset() async throws {
    try await withPages(1_500) { pool, pages, _ in
      let parts = try pages.changes()
      try #require(parts.count > 1)
      #expect(try pages.content(of: parts[0]) != nil)
      try await Note("after the reset").insert().run(pool)
      #expect(try pages.content(of: parts[1]) == nil)
      let later = try pages.changes()
      #expect(later.count == 1)
      guard case .pages(let data, _, _) = try pages.content(of: later[0]) else {
        Issue.record("the pages after the reset are missing")
        return
      }
      #expect(data.range(of: Data("after the reset".utf8)) != nil)
    }
  }

  @Test func pagesAreSentAlthoughACommitChangesTheIndex() async throws {
    try await withPages(10) { pool, pages, path in
      let parts = try pages.changes()
      // Closed after the pool: closing the descriptor drops this process's locks on the index.
      let index = try FileHandle(forUpdating: URL(fileURLWithPath: path + "-shm"))
      let memory = mmap(nil, 32_768, PROT_READ | PROT_WRITE, MAP_SHARED, index.fileDescriptor, 0)
      let copy = try #require(memory).advanced(by: 48).assumingMemoryBound(to: UInt8.self)
      let byte = copy.pointee
      // A writer changes the copies of the header one after the other.
      copy.pointee = ~byte
      let address = UInt(bitPattern: copy)
      Thread.detachNewThread {
        usleep(50_000)
        UnsafeMutablePointer<UInt8>(bitPattern: address)?.pointee = byte
      }
      #expect(try parts.compactMap { try pages.content(of: $0) }.count == parts.count)
      pages.close()
      try await pool.close()
      munmap(memory, 32_768)
      try index.close()
    }
  }
}
