import Foundation
import SqlableTenants
import Testing

@testable import BikeService

struct ShopTests {
  private func bicycle(_ name: String) -> Bicycle { Bicycle(id: nil, name: name, color: "red", price: 1, owner: nil) }

  @Test("a shop has its own bicycles, and an unknown shop is not found") func shops() async throws {
    try await withService { service, _ in
      try await withServer(service) { server in
        for shop in ["acme", "Acme"] {
          let created = try await server.send(.put, "/shops/\(shop)")
          #expect(created.status == .created)
        }
        #expect(try await server.send(.put, "/shops/acme").status == .conflict)
        #expect(try await server.send(.post, "/shops/acme/bicycles", bicycle("Norco")).status == .created)
        #expect(try await server.send(.post, "/shops/Acme/bicycles", bicycle("Norco")).status == .created)
        #expect(try await server.send(.post, "/shops/acme/bicycles", bicycle("Norco")).status == .conflict)
        #expect(try await server.decode([Bicycle].self, "/shops/acme/bicycles").map(\.name) == ["Norco"])
        #expect(try await server.decode([Bicycle].self, "/bicycles").isEmpty)
        #expect(try await server.send(.get, "/shops/other/bicycles").status == .notFound)
        #expect(try await server.send(.put, "/shops/..%2Fother").status == .badRequest)
        #expect(try await server.send(.delete, "/shops/acme").status == .noContent)
        #expect(try await server.send(.get, "/shops/acme/bicycles").status == .notFound)
      }
    }
  }

  @Test(
    "a browser shows the state of all shops, also of a damaged one",
    .enabled(if: Programs.chromium != nil, "there is no Chromium here"), .timeLimit(.minutes(30)))
  func page() async throws {
    try await withService { service, _ in
      try await withServer(service) { server in
        for shop in ["acme", "Acme", "broken"] { try await server.send(.put, "/shops/\(shop)") }
        for name in ["Norco", "Trek"] { try await server.send(.post, "/shops/acme/bicycles", bicycle(name)) }
        let files = try FileManager.default.subpathsOfDirectory(atPath: service.shopsDirectory)
        let broken = try #require(files.first { $0.hasSuffix("/broken.sqlite") })
        try Data(repeating: 7, count: 4_096).write(to: URL(filePath: service.shopsDirectory + "/" + broken))
        let dom = try await ShopTests.dom(of: "http://127.0.0.1:\(server.port)/shops")
        #expect(dom.contains("<h1>3 shops</h1>"))
        #expect(dom.contains("<tr><th>Acme</th><td>0</td></tr><tr><th>acme</th><td>2</td></tr>"))
        #expect(dom.contains("<tr><th>broken</th><td class=\"bad\">notADatabase</td></tr>"))
        #expect(dom.contains("1 failed openings"))
      }
    }
  }

  /// Loads a page in headless Chromium, and returns what the browser has made of it.
  private static func dom(of url: String) async throws -> String {
    let profile = FileManager.default.temporaryDirectory.appending(path: "shops-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: profile) }
    return try await Programs.output(
      of: Programs.chromium, "--headless", "--no-sandbox", "--disable-gpu", "--user-data-dir=\(profile.path())",
      "--dump-dom", url)
  }
}
