import Sqlable
import Testing

@testable import BikeService

struct ShutdownTests {
  @Test("a shutdown ends open streams, and loses no write that was acknowledged", .timeLimit(.minutes(1)))
  func shutdown() async throws {
    try await withService { service, filepath in
      let (lists, changes, writers) = try await withServer(service) { server in
        let lists = try await server.events("/bicycles/events?color=red")
        let changes = try await server.events("/changes")
        let writers = (1...4).map { number in
          Task { await server.createUntilRefused(names: "Writer \(number), bike") }
        }
        // The first event is `reset`; after the second, the writers have begun.
        for _ in 0..<2 { _ = try await changes.next() }
        try await Task.sleep(for: .milliseconds(300))
        return (lists, changes, writers)
      }

      // By here the server is gone. Streams have an end, not an error.
      while try await lists.next() != nil {}
      while try await changes.next() != nil {}
      await #expect(throws: SqlError.self) { try await Bicycle.count().run(service.pool) }

      var acknowledged: Set<String> = []
      for writer in writers { acknowledged.formUnion(await writer.value) }
      #expect(acknowledged.count > 10)
      let stored = try Bicycle.read().run(try SqliteDatabase(filepath: filepath)).map(\.name)
      #expect(acknowledged.subtracting(stored).isEmpty)
    }
  }
}
