import Dispatch
import Foundation
import Testing

@testable import SqlableCore
@testable import SqlablePool
@testable import SqlableTestSupport

struct FileWatchTests {
  @Test func replacedFileMakesTheWatchOutdated() throws {
    try withDirectory { directory in
      let path = directory + "/log"
      let queue = DispatchQueue(label: "watch")
      #expect(FileWatch(path, on: queue) { _ in } == nil)
      try Data("a".utf8).write(to: URL(fileURLWithPath: path))
      let heard = DispatchSemaphore(value: 0)
      let watch = try #require(FileWatch(path, on: queue) { if $0 == .written { heard.signal() } })
      let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      try file.write(contentsOf: Data("b".utf8))
      #expect(heard.wait(timeout: .now() + 60) == .success)
      #expect(!watch.isOutdated)
      try FileManager.default.removeItem(atPath: path)
      #expect(watch.isOutdated)
      try Data("c".utf8).write(to: URL(fileURLWithPath: path))
      #expect(watch.isOutdated)
      watch.cancel()
      try file.close()
    }
  }
}
