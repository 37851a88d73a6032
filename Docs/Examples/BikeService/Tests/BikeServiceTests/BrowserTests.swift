import Foundation
import Testing

struct BrowserTests {
  private static let service = URL(filePath: #filePath).appending(path: "../../..").standardizedFileURL
  private static let server = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    .appending(path: "BikeServer")

  @Test(
    "a page in a browser misses nothing while its network is cut, and while the server is killed and restarted",
    .enabled(if: Programs.chromium != nil && Programs.recentNode != nil, "there is no Chromium or no Node 20.19 here"),
    .timeLimit(.minutes(30)))
  func live() async throws {
    let directory = FileManager.default.temporaryDirectory.appending(path: "bike-browser-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: directory) }
    let process = Process()
    process.executableURL = URL(filePath: Programs.recentNode ?? "")
    process.arguments = [
      "--experimental-websocket", BrowserTests.service.appending(path: "Client/live-test.mjs").path(),
      BrowserTests.server.path(), Programs.chromium ?? "", directory.path(),
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
