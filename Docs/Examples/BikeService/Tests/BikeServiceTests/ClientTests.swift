import Foundation
import Hummingbird
import Testing

@testable import BikeService

struct ClientTests {
  private static let service = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL

  @Test(
    "the client in JavaScript searches, and follows a search until the service ends",
    .enabled(
      if: Programs.node != nil && Programs.tsc != nil,
      "there is no Node or no TypeScript here: Debian's node-typescript"),
    .timeLimit(.minutes(30)))
  func client() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "bike-client-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: directory) }
    try await Programs.output(
      of: Programs.tsc, "--strict", "--target", "es2022", "--module", "es2022", "--lib", "es2022,dom", "--outDir",
      directory.path(), ClientTests.service.appending(path: "../Clients/statements.ts").standardizedFileURL.path())
    // As a module for every Node, without a package.json.
    let script = try String(contentsOf: ClientTests.service.appending(path: "Client/search.mjs"), encoding: .utf8)
    try FileManager.default.moveItem(
      at: directory.appending(path: "statements.js"), to: directory.appending(path: "statements.mjs"))
    try Data(script.replacing("./statements.js", with: "./statements.mjs").utf8)
      .write(to: directory.appending(path: "search.mjs"))

    try await withService { service, _ in
      let (output, end) = try await withServer(service) { server in
        for (name, color, price, owner) in [
          ("Norco", "red", 500, "Anna"), ("Trek", "blue", 300, "Anna"), ("Cube", "red", 200, "Bo"),
        ] {
          try await server.send(.post, "/bicycles", Bicycle(name: name, color: color, price: price, owner: owner))
        }
        let process = Process()
        process.executableURL = URL(filePath: Programs.node ?? "")
        process.arguments = [
          // Node 18 warns that `fetch` is experimental.
          "--no-warnings", directory.appending(path: "search.mjs").path(), "http://127.0.0.1:\(server.port)", "Anna",
        ]
        let output = OutputReader()
        process.standardOutput = output.pipe
        process.standardError = output.pipe
        let end = AsyncStream<Int32>.makeStream()
        process.terminationHandler = { end.continuation.yield($0.terminationStatus) }
        try process.run()
        try output.pipe.fileHandleForWriting.close()

        #expect(await output.next() == "{ number: 1 }")
        #expect(await output.next() == "blue 1")
        #expect(await output.next() == "red 1")
        #expect(await output.next() == "Norco 500")
        try await server.send(.post, "/bicycles", Bicycle(name: "Scott", color: "red", price: 100, owner: "Anna"))
        #expect(await output.next() == "Scott 100, Norco 500")
        return (output, end.stream)
      }
      // The service is gone, and so is the client.
      #expect(await output.next() == nil)
      for await status in end {
        #expect(status == 0)
        break
      }
    }
  }
}

extension ClientTests {
  @Test("README shows what the client does")
  func readme() throws {
    let readme = try String(contentsOf: ClientTests.service.appending(path: "README.md"), encoding: .utf8)
    let script = try String(contentsOf: ClientTests.service.appending(path: "Client/search.mjs"), encoding: .utf8)
    let blocks = readme.components(separatedBy: "```js\n").dropFirst()
    #expect(!blocks.isEmpty)
    for block in blocks { #expect(script.hasSuffix(block.components(separatedBy: "```")[0])) }
  }
}

/// The lines that a process writes, as they come.
private final class OutputReader: Sendable {
  let pipe = Pipe()
  private let lines: AsyncStream<String>

  init() {
    let (lines, continuation) = AsyncStream<String>.makeStream()
    self.lines = lines
    let reading = pipe.fileHandleForReading
    Thread.detachNewThread {
      var text = ""
      while case let data = reading.availableData, !data.isEmpty {
        text += String(decoding: data, as: UTF8.self)
        while let end = text.firstIndex(of: "\n") {
          continuation.yield(String(text[..<end]))
          text.removeSubrange(...end)
        }
      }
      continuation.finish()
    }
  }

  /// The next line; nil at the end.
  func next() async -> String? {
    for await line in lines { return line }
    return nil
  }
}
