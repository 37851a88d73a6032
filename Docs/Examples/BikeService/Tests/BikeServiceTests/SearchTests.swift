import AsyncHTTPClient
import Foundation
import HTTPTypes
import Hummingbird
import Sqlable
import Testing

@testable import BikeService

struct SearchTests {
  /// Anna has Norco (red, 500), Trek (blue, 300) and Scott (red, 100); Bo has Cube (red, 200).
  private func withBicycles(
    deadline: Duration = patience, _ body: @escaping @Sendable (Server, BikeService) async throws -> Void
  ) async throws {
    try await withService(deadline: deadline) { service, _ in
      for (name, color, price, owner) in [
        ("Norco", "red", 500, "Anna"), ("Trek", "blue", 300, "Anna"), ("Cube", "red", 200, "Bo"),
        ("Scott", "red", 100, "Anna"),
      ] {
        try await Bicycle(name: name, color: color, price: price, owner: owner).insert().run(service.pool)
      }
      try await withServer(service) { server in try await body(server, service) }
    }
  }

  @Test("a statement of a client reads, orders and counts its owner's bicycles")
  func search() async throws {
    try await withBicycles { server, _ in
      let red = Bicycle.read().filter(Bicycle.color == "red")
      let found = try await server.search(red.json(), "Anna")
      #expect(found.status == .ok)
      #expect(found.headers[.contentType]?.hasPrefix("application/json") == true)
      #expect(
        try found.json == #"{"rows":[{"color":"red","id":1,"name":"Norco","owner":"Anna","price":500},"#
          + #"{"color":"red","id":4,"name":"Scott","owner":"Anna","price":100}]}"#)

      let cheap = Bicycle.select(Bicycle.name).orderBy(Bicycle.price).limit(2)
      #expect(try await server.search(cheap.json(), "Anna").json == #"{"rows":[{"name":"Scott"},{"name":"Trek"}]}"#)
      #expect(try await server.search(Bicycle.byId(2).json(), "Anna").json.contains("Trek"))
      #expect(try await server.search(Bicycle.count().json(), "Anna").json == #"{"number":3}"#)
      let cubes = Bicycle.exists().filter(Bicycle.name.like("C%"))
      #expect(try await server.search(cubes.json(), "Anna").json == #"{"exists":false}"#)
      #expect(try await server.search(cubes.json(), "Bo").json == #"{"exists":true}"#)
      let colors = Bicycle.select(Bicycle.color, Bicycle.price.sum()).groupBy(Bicycle.color).orderBy(
        Bicycle.price.sum())
      #expect(
        try await server.search(colors.json(), "Anna").json
          == #"{"rows":[{"color":"blue","sum(\"price\")":300},{"color":"red","sum(\"price\")":600}]}"#)
    }
  }

  @Test("another owner's bicycles don't show: by a filter, an order, a limit, a count or an aggregate")
  func tenants() async throws {
    try await withBicycles { server, _ in
      for statement in [
        try Bicycle.read().filter(Bicycle.name == "Cube").json(), try Bicycle.byId(3).json(),
        try Bicycle.read().filter(Bicycle.price > 100 && Bicycle.price < 300 || Bicycle.id == 3).json(),
        try Bicycle.read().orderBy(Bicycle.price).limit(1, offset: 3).json(),
      ] { #expect(try await server.search(statement, "Anna").json == #"{"rows":[]}"#) }
      let most = Bicycle.select(Bicycle.price.max(), countAll())
      #expect(try await server.search(most.json(), "Bo").json == #"{"rows":[{"count(*)":1,"max(\"price\")":200}]}"#)
      #expect(try await server.search(Bicycle.read().json(), "Cid").json == #"{"rows":[]}"#)
      // A header is a value like another.
      #expect(try await server.search(Bicycle.count().json(), "Bo' OR 1 --").json == #"{"number":0}"#)
      #expect(try await server.search(Bicycle.count().json(), nil).status == .badRequest)
      #expect(try await server.search(Bicycle.count().json(), "").status == .badRequest)
    }
  }

  @Test("what the policy does not allow is 400, with the place in the document and nothing that it hides")
  func refusals() async throws {
    try await withBicycles { server, service in
      // A column that there is not, and one that may not be compared.
      let missing = #"{"count":{"from":"bicycle","where":{"=":[{"column":"colour"},"red"]}},"sqlable":1}"#
      let refused = try await server.search(Data(missing.utf8), "Anna")
      #expect(refused.status == .badRequest)
      #expect(
        try refused.json
          == #"{"error":{"message":"the policy does not allow this","path":"count.where.=[0].column"}}"#)
      let others = try await server.search(Bicycle.count().filter(Bicycle.owner == "Bo").json(), "Anna")
      #expect(others.status == .badRequest)
      #expect(try others.json == #"{"error":{"message":"the policy does not allow this","path":"count.where"}}"#)

      let wrong = #"{"count":{"from":"bicycle","where":{"=":[{"column":"price"},"secret"]}},"sqlable":1}"#
      let mistyped = try await server.search(Data(wrong.utf8), "Anna")
      #expect(mistyped.status == .badRequest)
      #expect(try mistyped.json.contains(#""path":"count.where.=""#) && !mistyped.json.contains("secret"))

      for text in [
        "", "{}", "no JSON", #"{"read":{"from":"bicycle"},"sqlable":2}"#, #"{"read":{"from":"person"},"sqlable":1}"#,
        #"{"read":{"from":"sqlite_master"},"sqlable":1}"#, #"{"read":{"from":"bicycle","limit":101},"sqlable":1}"#,
        #"{"delete":{"all":true,"from":"bicycle"},"sqlable":1}"#,
        #"{"read":{"from":"bicycle","orderBy":[{"asc":{"column":"color"}}]},"sqlable":1}"#,
        #"{"update":{"all":true,"set":[{"column":"price","to":0}],"table":"bicycle"},"sqlable":1}"#,
        #"{"count":{"from":"bicycle","where":{"exists":{"from":"bicycle"}}},"sqlable":1}"#,
        #"{"count":{"from":"bicycle","where":"# + String(repeating: #"{"not":"#, count: 1_000),
      ] {
        let response = try await server.search(Data(text.utf8), "Anna")
        #expect(response.status == .badRequest, "\(text.prefix(60)): \(response.status)")
        #expect(try response.json.contains("message"))
        #expect(try await server.search(Data(text.utf8), "Anna", "/search/events").status == .badRequest)
      }
      #expect(try await Bicycle.count().run(service.pool) == 4)
    }
  }

  @Test("a body that is too large is 413, and one of the largest size is read")
  func large() async throws {
    try await withBicycles { server, _ in
      let count = try Bicycle.count().json()
      func padded(_ size: Int) -> Data { count + Data(repeating: UInt8(ascii: " "), count: size - count.count) }
      #expect(try await server.search(padded(65_536), "Anna").json == #"{"number":3}"#)
      #expect(try await server.search(padded(65_537), "Anna").status == .contentTooLarge)
      #expect(try await server.search(padded(2_000_000), "Anna", "/search/events").status == .contentTooLarge)
    }
  }

  @Test("a search that gets no reader in time is 503, also as a stream")
  func deadline() async throws {
    try await withBicycles(deadline: .seconds(3)) { server, service in
      let readers = 4
      let (begun, end) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      for _ in 0..<readers {
        Thread.detachNewThread {
          try? service.pool.read { _ in
            begun.signal()
            end.wait()
          }
        }
      }
      await onThread { for _ in 0..<readers { begun.wait() } }
      for path in ["/search", "/search/events"] {
        let late = try await server.search(Bicycle.count().json(), "Anna", path)
        #expect(late.status == .serviceUnavailable)
        #expect(late.headers[.retryAfter] == "1")
      }
      for _ in 0..<readers { end.signal() }
      let answer = try await inTime { try await server.search(Bicycle.count().json(), "Anna") }
      #expect(answer.status == .ok)
    }
  }

  @Test("what can't be computed is 422")
  func overflow() async throws {
    try await withBicycles { server, _ in
      for name in ["A", "B"] {
        try await server.send(.post, "/bicycles", Bicycle(name: name, color: "red", price: .max, owner: "Cid"))
      }
      let sum = try Bicycle.select(Bicycle.price.sum()).json()
      #expect(try await server.search(sum, "Cid").status == .unprocessableContent)
      let most = try await server.search(Bicycle.select(Bicycle.price.max()).json(), "Cid")
      #expect(try most.json == #"{"rows":[{"max(\"price\")":{"integer":"9223372036854775807"}}]}"#)
    }
  }

  @Test("values of an answer are exact, and a name is not there twice")
  func values() throws {
    func rows(_ sql: SQL) throws -> String {
      let db = try SqliteDatabase(filepath: ":memory:")
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
      let output = AnyStatement.Output.rows(try db.query(sql, as: DynamicRow.self))
      return String(decoding: try encoder.encode(SearchResult(output)), as: UTF8.self)
    }
    #expect(
      try rows("SELECT 9007199254740991 a, 9007199254740992 b, -9223372036854775808 c, NULL d, 'é/' e, x'0102ff' f")
        == #"{"rows":[{"a":9007199254740991,"b":{"integer":"9007199254740992"},"c":{"integer":"-9223372036854775808"},"#
        + #""d":{"null":true},"e":"é/","f":{"blob":"AQL/"}}]}"#)
    #expect(
      try rows("SELECT 0.5 a, 2.0 b, 9e999 c, -9e999 d, -0.0 e, 1e21 f")
        == #"{"rows":[{"a":{"real":0.5},"b":{"real":2},"c":{"real":"inf"},"d":{"real":"-inf"},"e":{"real":"-0"},"#
        + #""f":{"real":1e+21}}]}"#)
    #expect(try rows(#"SELECT 1 a, 2 a, 3 "a 2", 4 a"#) == #"{"rows":[{"a":1,"a 2":3,"a 3":2,"a 4":4}]}"#)
    #expect(try rows("SELECT 1 a WHERE 0") == #"{"rows":[]}"#)
  }

  @Test("a live search tells its answer at once, and again when it is another, for its owner only")
  func events() async throws {
    try await withBicycles { server, _ in
      let red = Bicycle.select(Bicycle.name).filter(Bicycle.color == "red")
      let names = try await server.searchEvents(red.json(), "Anna")
      let count = try await server.searchEvents(Bicycle.count().json(), "Anna")
      #expect(names.response.headers.first(name: "Content-Type") == "text/event-stream")
      #expect(try await names.next()?.data == #"{"rows":[{"name":"Norco"},{"name":"Scott"}]}"#)
      let first = try await count.next()
      #expect(first?.event == "result" && first?.data == #"{"number":3}"#)

      // Bo's change is none of Anna's business: the next event is hers.
      try await server.send(.post, "/bicycles", Bicycle(name: "Giant", color: "red", price: 1, owner: "Bo"))
      try await server.send(.post, "/bicycles", Bicycle(name: "Focus", color: "blue", price: 1, owner: "Anna"))
      #expect(try await count.next()?.data == #"{"number":4}"#)
      try await server.send(.delete, "/bicycles/1")
      #expect(try await count.next()?.data == #"{"number":3}"#)
      #expect(try await names.next()?.data == #"{"rows":[{"name":"Scott"}]}"#)
    }
  }

  @Test("a shutdown ends live searches", .timeLimit(.minutes(30)))
  func shutdown() async throws {
    try await withService { service, _ in
      let events = try await withServer(service) { server in
        let events = try await server.searchEvents(Bicycle.count().json(), "Anna")
        #expect(try await events.next()?.data == #"{"number":0}"#)
        return events
      }
      #expect(try await events.next() == nil)
    }
  }
}

extension Server {
  fileprivate func search(_ statement: Data, _ owner: String?, _ uri: String = "/search") async throws -> Answer {
    let headers = owner.map { [("Bike-Owner", $0)] } ?? []
    return try await execute(.post, uri, headers: headers, body: ByteBuffer(data: statement))
  }

  fileprivate func searchEvents(_ statement: Data, _ owner: String) async throws -> EventReader {
    var request = request("/search/events", .post, [("Bike-Owner", owner)])
    request.body = .bytes(ByteBuffer(data: statement))
    return try await events(request)
  }
}

extension Answer {
  /// The body with its keys in order.
  fileprivate var json: String {
    get throws {
      let value = try JSONSerialization.jsonObject(with: Data(String(buffer: body).utf8))
      let data = try JSONSerialization.data(withJSONObject: value, options: [.sortedKeys, .withoutEscapingSlashes])
      return String(decoding: data, as: UTF8.self)
    }
  }
}

/// Runs `body` on a thread of its own, since it blocks.
private func onThread(_ body: @escaping @Sendable () -> Void) async {
  await withCheckedContinuation { continuation in
    Thread.detachNewThread {
      body()
      continuation.resume()
    }
  }
}
