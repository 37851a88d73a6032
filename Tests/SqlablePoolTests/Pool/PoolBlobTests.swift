import Foundation
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlablePoolTestSupport
@testable import SqlableTestSupport

/// Blobs that a pool reads and writes as sequences of chunks.
@Suite struct PoolBlobTests {
  private let photo = Portrait.byId("anna")

  private func withPhoto(
    _ configuration: PoolConfiguration = PoolConfiguration(readers: 1, waitTimeout: .seconds(600)), count: Int = 10,
    _ body: (SqlitePool) async throws -> Void
  ) async throws {
    try await withDirectoryAsync { directory in
      let pool = try newPool(in: directory, configuration)
      try await pool.transaction { db in
        try db.createTable(Portrait.self)
        try Portrait(name: "anna", image: Data((0..<count).map { UInt8($0 & 0xFF) })).insert().run(db)
      }
      try await body(pool)
      try await pool.close()
    }
  }

  private func image(_ pool: SqlitePool) async throws -> [UInt8]? {
    try await photo.run(pool)?.image.map { [UInt8]($0) }
  }

  @Test func aLoopReadsTheChunksOfOneSnapshot() async throws {
    try await withPhoto { pool in
      var chunks: [[UInt8]] = []
      for try await chunk in pool.blobBytes(Portrait.image, of: photo, chunkSize: 4) {
        if chunks.isEmpty { try await Portrait.deleteAll().run(pool) }
        chunks.append(chunk)
      }
      #expect(chunks == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]])
      let error = await #expect(throws: SqlError.self) {
        for try await _ in pool.blobBytes(Portrait.image, of: photo) {}
      }
      #expect(error?.kind == .notFound)
    }
  }

  @Test func aLoopThatEndsEarlyReleasesItsReader() async throws {
    try await withPhoto(count: 100_000) { pool in
      for _ in 0..<20 {
        for try await chunk in pool.blobBytes(Portrait.image, of: photo, chunkSize: 10) {
          #expect(chunk.count == 10)
          break
        }
      }
      #expect(try await Portrait.count().run(pool) == 1)
    }
  }

  @Test func aCancelledLoopThrows() async throws {
    try await withPhoto(count: 100_000) { pool in
      let bytes = pool.blobBytes(Portrait.image, of: photo, chunkSize: 10)
      let task = Task {
        for try await _ in bytes { withUnsafeCurrentTask { $0?.cancel() } }
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      let count = try await Portrait.count().run(pool)
      #expect(count == 1)
    }
  }

  @Test(.needsPreupdateHook) func aSequenceOfBytesBecomesABlob() async throws {
    try await withPhoto { pool in
      let changes = pool.changes(on: Portrait.self)
      let bytes = (0..<1000).map { UInt8($0 & 0x7F) }
      try await pool.writeBlob(Portrait.image, of: photo, size: 1000, from: parts(bytes, of: 64))
      #expect(try await image(pool) == bytes)
      var received: [Change] = []
      for await case .row(let row) in changes {
        received.append(row.change)
        #expect(row.key == [.text("anna")])
        break
      }
      #expect(received == [.update])
    }
  }

  @Test func aSequenceOfAnotherSizeStoresNothing() async throws {
    try await withPhoto(count: 2) { pool in
      for (count, message) in [
        (9, "the sequence has fewer bytes than `size`"), (11, "the sequence has more bytes than `size`"),
      ] {
        let bytes = [UInt8](repeating: 7, count: count)
        let error = await #expect(throws: SqlError.self) {
          try await pool.writeBlob(Portrait.image, of: photo, size: 10, from: parts(bytes, of: 4))
        }
        #expect(error?.message == message)
      }
      struct Failure: Error {}
      let failing = AsyncThrowingStream<[UInt8], any Error> { stream in
        stream.yield([7])
        stream.finish(throwing: Failure())
      }
      await #expect(throws: Failure.self) {
        try await pool.writeBlob(Portrait.image, of: photo, size: 10, from: failing)
      }
      let bytes = try await image(pool)
      #expect(bytes == [0, 1])
    }
  }

  @Test func aCancelledWriteStoresNothing() async throws {
    try await withPhoto(count: 2) { pool in
      let (stream, source) = AsyncStream<[UInt8]>.makeStream()
      source.yield([7])
      let photo = photo
      let task = Task { try await pool.writeBlob(Portrait.image, of: photo, size: 2, from: stream) }
      try await until { pool.statistics.isWriting }
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(try await image(pool) == [0, 1])
    }
  }

  @Test func aLiveResultIsReadAgainAfterAWriteOfAPart() async throws {
    try await withPhoto(count: 2) { pool in
      var seen: [[UInt8]?] = []
      for try await row in photo.updates(in: pool) {
        seen.append(row?.image.map { [UInt8]($0) })
        guard seen.count == 1 else { break }
        try await pool.transaction { db in
          try db.writeBlob(Portrait.image, of: Portrait.byId("anna")) { try $0.write([9] as [UInt8], at: 0) }
        }
      }
      #expect(seen == [[0, 1], [9, 1]])
    }
  }

  private func parts(_ bytes: [UInt8], of size: Int) -> AsyncStream<ArraySlice<UInt8>> {
    AsyncStream { stream in
      for start in stride(from: 0, to: bytes.count, by: size) {
        stream.yield(bytes[start..<min(start + size, bytes.count)])
      }
      stream.finish()
    }
  }
}
