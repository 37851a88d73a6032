import Hummingbird
import Testing

@testable import BikeService

struct EventTests {
  @Test("a live list tells what it is at once, and again when it is another")
  func liveList() async throws {
    try await withService { service, _ in
      try await withServer(service) { server in
        let reds = try await server.events("/bicycles/events?color=red")
        #expect(reds.response.headers.first(name: "Content-Type") == "text/event-stream")
        #expect(try await reds.nextBicycles() == [])

        // The blue one is none of this list's business: the next event is the red one's.
        try await server.send(.post, "/bicycles", Bicycle(name: "Trek", color: "blue", price: 1))
        try await server.send(.post, "/bicycles", Bicycle(name: "Norco", color: "red", price: 1))
        #expect(try await reds.nextBicycles()?.map(\.name) == ["Norco"])
        try await server.send(.delete, "/bicycles/2")
        #expect(try await reds.nextBicycles() == [])
      }
    }
  }

  @Test("changed rows are told once each, in their order")
  func changes() async throws {
    try await withService { service, _ in
      try await withServer(service) { server in
        let changes = try await server.events("/changes")
        try await server.send(.post, "/bicycles", Bicycle(name: "Trek", color: "blue", price: 1))
        try await server.send(.put, "/bicycles/1", Bicycle(name: "Trek", color: "red", price: 1))
        try await server.send(.delete, "/bicycles/1")
        for expected in ["insert", "update", "delete"] {
          let change = try await changes.next()
          #expect(change?.event == expected)
          #expect(change?.data == #"{"id":1}"#)
        }
      }
    }
  }
}
