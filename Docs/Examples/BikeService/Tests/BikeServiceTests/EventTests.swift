import Hummingbird
import Sqlable
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
        #expect(try await changes.next()?.event == "reset")
        try await server.send(.post, "/bicycles", Bicycle(name: "Trek", color: "blue", price: 1))
        try await server.send(.put, "/bicycles/1", Bicycle(name: "Trek", color: "red", price: 1))
        try await server.send(.delete, "/bicycles/1")
        for (event, colors) in [("insert", [nil, "blue"]), ("update", ["blue", "red"]), ("delete", ["red", nil])] {
          let change = try await changes.nextChange()
          #expect(change?.event == event)
          #expect([change?.change.old?.color, change?.change.new?.color] == colors)
        }
      }
    }
  }

  @Test("a client that comes back is told what it missed, also after a restart")
  func lastEventID() async throws {
    try await withService { service, filepath in
      let last = try await withServer(service) { server in
        let changes = try await server.events("/changes")
        let reset = try await changes.next()
        try await server.send(.post, "/bicycles", Bicycle(name: "Trek", color: "blue", price: 1))
        let id = try #require(try await changes.next()?.id)
        try await server.send(.post, "/bicycles", Bicycle(name: "Norco", color: "red", price: 1))
        let again = try await server.events("/changes", lastEventID: id)
        #expect(try await again.nextChange()?.change.new?.name == "Norco")
        #expect(reset?.id != id)
        return id
      }
      let restarted = try newService(filepath)
      // While nobody serves, another program changes a bicycle.
      try await Bicycle.update(Bicycle.price.set(to: 2)).filter(Bicycle.name == "Trek").run(restarted.pool)
      try await withServer(restarted) { server in
        let changes = try await server.events("/changes", lastEventID: last)
        #expect(try await changes.nextChange()?.change.new?.name == "Norco")
        #expect(try await changes.nextChange()?.change.new?.price == 2)
        // A position of another database, and a text that is none.
        for id in ["0123456789abcdef-1-1", "7"] {
          #expect(try await server.events("/changes", lastEventID: id).next()?.event == "reset")
        }
      }
    }
  }

  @Test("a consumer keeps the search index in a second database in step")
  func searchIndex() async throws {
    try await withService { service, filepath in
      try await withServer(service) { server in
        try await server.send(.post, "/bicycles", Bicycle(name: "Trek Marlin", color: "blue", price: 1))
        try await server.send(.post, "/bicycles", Bicycle(name: "Norco", color: "red", price: 1))
        try await server.find("mar", ["Trek Marlin"])
        try await server.send(.put, "/bicycles/2", Bicycle(name: "Norco Storm", color: "marine", price: 1))
        try await server.find("mar", ["Trek Marlin", "Norco Storm"])
      }
      let restarted = try newService(filepath)
      try await Bicycle.delete(Bicycle.id == 1).run(restarted.pool)
      try await withServer(restarted) { server in try await server.find("mar", ["Norco Storm"]) }
    }
  }
}
