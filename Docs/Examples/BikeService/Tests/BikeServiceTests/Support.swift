import AsyncHTTPClient
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import Testing

@testable import BikeService

/// The longest wait for an answer or an event, for a machine that does much else.
let patience = Duration.seconds(600)

/// Opens a service whose requests have as much time as their clients.
func newService(_ filepath: String, deadline: Duration = patience) throws -> BikeService {
  var logger = Logger(label: "tests")
  logger.logLevel = .critical
  var service = try BikeService(filepath: filepath, logger: logger)
  service.deadline = deadline
  return service
}

/// A service on a file of its own, which is deleted afterwards.
func withService<Value>(
  deadline: Duration = patience, _ body: (_ service: BikeService, _ filepath: String) async throws -> Value
) async throws -> Value {
  let directory = FileManager.default.temporaryDirectory.appending(path: "bikes-\(UUID().uuidString)")
  defer { try? FileManager.default.removeItem(at: directory) }
  let filepath = directory.appending(path: "bikes.sqlite").path()
  return try await body(try newService(filepath, deadline: deadline), filepath)
}

/// The service behind a server on a free port. When `body` has returned it is shut down as SIGTERM would, to the end.
func withServer<Value>(
  _ service: BikeService, _ body: @Sendable (Server) async throws -> Value
) async throws -> Value {
  try await service.application(hostname: "127.0.0.1", port: 0).test(.live) { client in
    try await body(Server(port: client.port ?? 0))
  }
}

/// An answer with its whole body.
struct Answer: Sendable {
  let status: HTTPResponse.Status
  let headers: HTTPFields
  let body: ByteBuffer
}

/// Repeats a request until it meets the server's short deadline.
func inTime(_ request: () async throws -> Answer) async throws -> Answer {
  let end = ContinuousClock.now + patience
  while true {
    let answer = try await request()
    if answer.status != .serviceUnavailable || ContinuousClock.now > end { return answer }
  }
}

/// The address of a running server. The client of HummingbirdTesting gives up after 20 seconds without an answer.
struct Server: Sendable {
  let port: Int

  func request(_ uri: String, _ method: HTTPRequest.Method = .get, _ headers: [(String, String)] = [])
    -> HTTPClientRequest
  {
    var request = HTTPClientRequest(url: "http://localhost:\(port)\(uri)")
    request.method = .init(rawValue: method.rawValue)
    for (name, value) in headers { request.headers.add(name: name, value: value) }
    return request
  }

  /// Sends a request, and waits for the whole answer.
  func execute(
    _ method: HTTPRequest.Method, _ uri: String, headers: [(String, String)] = [], body: ByteBuffer? = nil
  ) async throws -> Answer {
    var request = request(uri, method, headers)
    request.body = body.map { .bytes($0) }
    let response = try await HTTPClient.shared.execute(request, timeout: TimeAmount(patience))
    var fields = HTTPFields()
    for (name, value) in response.headers {
      if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
    }
    return Answer(
      status: HTTPResponse.Status(code: Int(response.status.code)), headers: fields,
      body: try await response.body.collect(upTo: .max))
  }

  @discardableResult
  func send(_ method: HTTPRequest.Method, _ uri: String, _ bicycle: Bicycle? = nil) async throws -> Answer {
    try await execute(method, uri, body: try bicycle.map { ByteBuffer(data: try JSONEncoder().encode($0)) })
  }

  func decode<Value: Decodable>(_ type: Value.Type, _ uri: String) async throws -> Value {
    try JSONDecoder().decode(type, from: try await send(.get, uri).body)
  }

  /// Sends a request, and gives the events of its answer as they come.
  func events(_ uri: String, lastEventID: String? = nil) async throws -> EventReader {
    let headers = [("Accept", "text/event-stream")] + (lastEventID.map { [("Last-Event-ID", $0)] } ?? [])
    return try await events(request(uri, .get, headers))
  }

  func events(_ request: HTTPClientRequest) async throws -> EventReader {
    EventReader(try await HTTPClient.shared.execute(request, timeout: TimeAmount(patience)))
  }

  /// Asks the search index until it answers with these names.
  func find(_ words: String, _ names: [String]) async throws {
    var found: [String]?
    let end = ContinuousClock.now + patience
    while found != names, ContinuousClock.now < end {
      found = try await decode([Bicycle].self, "/find?words=\(words)").map(\.name)
      try await Task.sleep(for: .milliseconds(10))
    }
    #expect(found == names)
  }

  /// Creates one bicycle after another until the server takes no more.
  func createUntilRefused(names: String, _ acknowledged: Acknowledged) async throws {
    var configuration = HTTPClient.Configuration()
    // A server that refuses a connection is gone.
    configuration.connectionPool.retryConnectionEstablishment = false
    let client = HTTPClient(configuration: configuration)
    for number in 1... {
      let name = "\(names) \(number)"
      var request = request("/bicycles", .post)
      request.body = .bytes(ByteBuffer(string: #"{"name": "\#(name)", "color": "red", "price": 1}"#))
      guard
        let response = try? await client.execute(request, timeout: TimeAmount(patience)), response.status == .created
      else { break }
      await acknowledged.add(name)
    }
    try await client.shutdown()
  }
}

/// The names of the bicycles that a server has acknowledged.
actor Acknowledged {
  private(set) var names: Set<String> = []

  func add(_ name: String) { names.insert(name) }
}

/// Programs that some of the tests need; nil for a program that is not installed.
enum Programs {
  static let chromium = path("chromium", "chromium-browser", "google-chrome")
  static let tsc = path("tsc")
  static let node = path("node")
  /// Node, if its version is at least 20.19, which has WebSockets.
  static let recentNode: String? = {
    guard let node, let version = try? run(node, ["--version"]) else { return nil }
    let numbers = version.drop { !$0.isNumber }.split(separator: ".").compactMap { Int($0) }
    return numbers.lexicographicallyPrecedes([20, 19]) ? nil : node
  }()

  private static func path(_ names: String...) -> String? {
    let directories = ProcessInfo.processInfo.environment["PATH"]?.split(separator: ":") ?? []
    return names.flatMap { name in directories.map { "\($0)/\(name)" } }
      .first { FileManager.default.isExecutableFile(atPath: $0) }
  }

  private struct Failure: Error {
    let output: String
  }

  /// Runs a program to its end, and returns what it writes. On a thread of its own, because the program can wait for
  /// the server, which needs Swift's threads.
  @discardableResult
  static func output(of program: String?, _ arguments: String...) async throws -> String {
    try await withCheckedThrowingContinuation { continuation in
      Thread.detachNewThread { continuation.resume(with: Result { try run(program ?? "", arguments) }) }
    }
  }

  private static func run(_ program: String, _ arguments: [String]) throws -> String {
    let (process, output) = (Process(), Pipe())
    process.executableURL = URL(filePath: program)
    process.arguments = arguments
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    guard process.terminationStatus == 0 else { throw Failure(output: text) }
    return text
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
