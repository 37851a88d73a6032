import Hummingbird
import Sqlable
import Testing

@testable import BikeService

private let norco = Bicycle(name: "Norco", color: "red", price: 49_900, owner: "Anna")

struct RestTests {
  @Test("a bicycle is created, read, replaced and deleted")
  func createReadReplaceDelete() async throws {
    try await withService { service, _ in
      try await withServer(service) { server in
        let created = try await server.send(.post, "/bicycles", norco)
        #expect(created.status == .created)
        #expect(created.headers[.location] == "/bicycles/1")

        var stored = norco
        stored.id = 1
        #expect(try await server.decode(Bicycle.self, "/bicycles/1") == stored)

        stored.color = "black"
        stored.owner = nil
        #expect(try await server.send(.put, "/bicycles/1", stored).status == .ok)
        #expect(try await server.decode(Bicycle.self, "/bicycles/1") == stored)

        #expect(try await server.send(.delete, "/bicycles/1").status == .noContent)
        #expect(try await server.send(.get, "/bicycles/1").status == .notFound)
      }
    }
  }

  @Test("a list is read by color, page after page")
  func pages() async throws {
    try await withService { service, _ in
      try await withServer(service) { server in
        for number in 1...5 {
          let color = number == 3 ? "blue" : "red"
          try await server.send(.post, "/bicycles", Bicycle(name: "Bike \(number)", color: color, price: 1))
        }
        #expect(try await server.decode([Bicycle].self, "/bicycles").map(\.id) == [1, 2, 3, 4, 5])
        #expect(try await server.decode([Bicycle].self, "/bicycles?color=red&limit=2").map(\.id) == [1, 2])
        #expect(try await server.decode([Bicycle].self, "/bicycles?color=red&limit=2&after=2").map(\.id) == [4, 5])
        #expect(try await server.decode([Bicycle].self, "/bicycles?color=re'd").isEmpty)
        #expect(try await server.send(.get, "/bicycles?limit=1000").status == .badRequest)
      }
    }
  }

  @Test("what is not there is 404, for every method")
  func notFound() async throws {
    try await withService { service, _ in
      try await withServer(service) { server in
        try await server.send(.post, "/bicycles", norco)
        #expect(try await server.send(.get, "/bicycles/7").status == .notFound)
        #expect(try await server.send(.put, "/bicycles/7", norco).status == .notFound)
        #expect(try await server.send(.delete, "/bicycles/7").status == .notFound)
        #expect(try await server.send(.get, "/bicycles/seven").status == .badRequest)
      }
    }
  }

  @Test("a broken rule of the table is 409 or 422, and a body that is no bicycle 400")
  func brokenRules() async throws {
    try await withService { service, _ in
      try await withServer(service) { server in
        try await server.send(.post, "/bicycles", norco)
        let second = try await server.send(.post, "/bicycles", norco)
        #expect(second.status == .conflict)
        #expect(String(buffer: second.body).contains("name"))

        try await server.send(.post, "/bicycles", Bicycle(name: "Trek", color: "blue", price: 1))
        #expect(try await server.send(.put, "/bicycles/2", norco).status == .conflict)

        let negative = Bicycle(name: "Scott", color: "red", price: -1)
        #expect(try await server.send(.post, "/bicycles", negative).status == .unprocessableContent)
        let noBicycle = try await server.execute(.post, "/bicycles", body: ByteBuffer(string: "{}"))
        #expect(noBicycle.status == .badRequest)
        #expect(try await server.decode([Bicycle].self, "/bicycles").count == 2)
      }
    }
  }

  @Test("a writer that has to wait for too long is 503, and may come again")
  func deadline() async throws {
    try await withService(deadline: .seconds(3)) { service, filepath in
      try await withServer(service) { server in
        // Another program that keeps the file's lock.
        let other = try SqliteDatabase(filepath: filepath)
        try other.beginTransaction()
        let late = try await server.send(.post, "/bicycles", norco)
        #expect(late.status == .serviceUnavailable)
        #expect(late.headers[.retryAfter] == "1")
        // Readers wait for nobody.
        let list = try await inTime { try await server.send(.get, "/bicycles") }
        #expect(list.status == .ok)
        try other.rollbackTransaction()
        let created = try await inTime { try await server.send(.post, "/bicycles", norco) }
        #expect(created.status == .created)
      }
    }
  }

  @Test("a mistake in the program is 500 and tells its clients nothing")
  func mistake() async throws {
    try await withService { service, filepath in
      try await withServer(service) { server in
        let other = try SqliteDatabase(filepath: filepath)
        try other.execute("DROP TABLE bicycle")
        let response = try await server.send(.get, "/bicycles")
        #expect(response.status == .internalServerError)
        #expect(response.body.readableBytes == 0)
      }
    }
  }

  @Test("the service says how it is")
  func health() async throws {
    try await withService { service, _ in
      try await withServer(service) { server in
        try await server.send(.post, "/bicycles", norco)
        let health = try await server.decode(Health.self, "/health")
        #expect(health.writes >= 1)
        #expect(health.commits >= 1)
        #expect(health.waitingWrites == 0)
      }
    }
  }
}
