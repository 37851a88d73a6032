import Foundation
import Testing

struct BrowserTests {
  private static let service = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
  private static let chromium = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }
  private static let server = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .appending(path: "BikeServer")
  private static let node = ["/usr/local/bin/node", "/usr/bin/node"]
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  @Test(
    "a page in a browser misses nothing while its network is cut, and while the server is killed and restarted",
    .enabled(if: chromium != nil && node != nil, "there is no Chromium or no Node here"), .timeLimit(.minutes(5)))
  func live() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "bike-browser-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let process = Process()
    process.executableURL = URL(filePath: BrowserTests.node ?? "")
    process.arguments = [
      "--experimental-websocket", BrowserTests.service.appending(path: "Client/live-test.mjs").path(),
      BrowserTests.server.path(), BrowserTests.chromium ?? "", directory.path(),
    ]
    let end = AsyncStream<Int32>.makeStream()
    process.terminationHandler = { end.continuation.yield($0.terminationStatus) }
    try process.run()
    for await status in end.stream {
      #expect(status == 0)
      break
    }
  }
}
