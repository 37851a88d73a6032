import AsyncHTTPClient
import Foundation
import Hummingbird
import HummingbirdTesting
import Logging

@testable import BikeService

/// A service on a file of its own, which is deleted afterwards.
func withService<Value>(
  _ body: (_ service: BikeService, _ filepath: String) async throws -> Value
) async throws -> Value {
  let directory = FileManager.default.temporaryDirectory.appending(path: "bikes-\(UUID().uuidString)")
  defer { try? FileManager.default.removeItem(at: directory) }
  let filepath = directory.appending(path: "bikes.sqlite").path()
  var logger = Logger(label: "tests")
  logger.logLevel = .critical
  return try await body(try BikeService(filepath: filepath, logger: logger), filepath)
}

/// The service behind a server on a free port. When `body` has returned it is shut down as SIGTERM would, to the end.
func withServer<Value>(
  _ service: BikeService, _ body: @Sendable (Server) async throws -> Value
) async throws -> Value {
  try await service.application(hostname: "127.0.0.1", port: 0).test(.live) { client in
    try await body(Server(client: client))
  }
}

struct Server: Sendable {
  let client: any TestClientProtocol

  @discardableResult
  func send(_ method: HTTPRequest.Method, _ uri: String, _ bicycle: Bicycle? = nil) async throws -> TestResponse {
    let body = try bicycle.map { ByteBuffer(data: try JSONEncoder().encode($0)) }
    return try await client.execute(uri: uri, method: method, body: body)
  }

  func decode<Value: Decodable>(_ type: Value.Type, _ uri: String) async throws -> Value {
    try JSONDecoder().decode(type, from: try await send(.get, uri).body)
  }

  /// The client of the tests gives a response when it is complete. This one gives the events as they come.
  func events(_ uri: String, lastEventID: String? = nil) async throws -> EventReader {
    var request = HTTPClientRequest(url: "http://localhost:\(client.port ?? 0)\(uri)")
    request.headers.add(name: "Accept", value: "text/event-stream")
    if let lastEventID { request.headers.add(name: "Last-Event-ID", value: lastEventID) }
    return EventReader(try await HTTPClient.shared.execute(request, timeout: .seconds(30)))
  }

  /// Asks the search index until it answers with these names.
  func find(_ words: String, _ names: [String]) async throws {
    var found: [String]?
    while found != names {
      found = try await decode([Bicycle].self, "/find?words=\(words)").map(\.name)
      try await Task.sleep(for: .milliseconds(10))
    }
  }

  /// Creates one bicycle after another until the server takes no more; gives the names of those that it acknowledged.
  func createUntilRefused(names: String) async -> [String] {
    var acknowledged: [String] = []
    for number in 1... {
      let name = "\(names) \(number)"
      var request = HTTPClientRequest(url: "http://localhost:\(client.port ?? 0)/bicycles")
      request.method = .POST
      request.body = .bytes(ByteBuffer(string: #"{"name": "\#(name)", "color": "red", "price": 1}"#))
      // The client tries to connect again and again; after this time a server that is gone is taken for gone.
      guard
        let response = try? await HTTPClient.shared.execute(request, timeout: .seconds(2)), response.status == .created
      else { break }
      acknowledged.append(name)
    }
    return acknowledged
  }
}

/// Reads `event:` and `data:` lines off a response; the end of the response is the end of the events.
final class EventReader {
  let response: HTTPClientResponse
  private var chunks: HTTPClientResponse.Body.AsyncIterator
  private var text = ""

  init(_ response: HTTPClientResponse) {
    self.response = response
    chunks = response.body.makeAsyncIterator()
  }

  func next() async throws -> (event: String, data: String, id: String?)? {
    while true {
      if let end = text.range(of: "\n\n") {
        let lines = text[..<end.lowerBound].split(separator: "\n")
        text.removeSubrange(..<end.upperBound)
        func field(_ name: String) -> String? {
          lines.first { $0.hasPrefix(name + ": ") }.map { String($0.dropFirst(name.count + 2)) }
        }
        return (field("event") ?? "", field("data") ?? "", field("id"))
      }
      guard let chunk = try await chunks.next() else { return nil }
      text += String(buffer: chunk)
    }
  }

  func nextChange() async throws -> (event: String, change: BicycleChange)? {
    try await next().map { ($0.event, try JSONDecoder().decode(BicycleChange.self, from: Data($0.data.utf8))) }
  }

  func nextBicycles() async throws -> [Bicycle]? {
    try await next().map { try JSONDecoder().decode([Bicycle].self, from: Data($0.data.utf8)) }
  }
}
