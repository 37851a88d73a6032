import Sqlable
import Testing

@testable import BikeService

struct ShutdownTests {
  @Test("a shutdown ends open streams, and loses no write that was acknowledged", .timeLimit(.minutes(30)))
  func shutdown() async throws {
    try await withService { service, filepath in
      let acknowledged = Acknowledged()
      let (lists, changes, writers) = try await withServer(service) { server in
        let lists = try await server.events("/bicycles/events?color=red")
        let changes = try await server.events("/changes")
        let writers = (1...4).map { number in
          Task { try await server.createUntilRefused(names: "Writer \(number), bike", acknowledged) }
        }
        let end = ContinuousClock.now + patience
        while await acknowledged.names.count < 100, ContinuousClock.now < end {
          try await Task.sleep(for: .milliseconds(1))
        }
        #expect(await acknowledged.names.count >= 100)
        return (lists, changes, writers)
      }

      // By here the server is gone. Streams have an end, not an error.
      while try await lists.next() != nil {}
      while try await changes.next() != nil {}
      await #expect(throws: SqlError.self) { try await Bicycle.count().run(service.pool) }

      for writer in writers { try await writer.value }
      let stored = try Bicycle.read().run(try SqliteDatabase(filepath: filepath)).map(\.name)
      #expect(await acknowledged.names.subtracting(stored).isEmpty)
    }
  }
}
