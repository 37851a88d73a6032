import CSqlableSQLite
import Dispatch
import Foundation
import Glibc
import Testing

@testable import SqlableCore
@testable import SqlablePool
@testable import SqlableTestSupport

struct FileWatchTests {
  /// Waits until the kernel has an inotify instance left: other processes can hold all of them, before this process
  /// has created the spare one. Does not block a thread, which the pools of other tests need to end.
  private func start<Watch: Sendable>(_ body: () -> Watch?) async throws -> Watch {
    let end = ContinuousClock.now + .seconds(300)
    while ContinuousClock.now < end {
      if let watch = body() { return watch }
      try await Task.sleep(for: .milliseconds(20))
    }
    return try #require(body())
  }

  @Test func replacedFileMakesTheWatchOutdated() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/log"
      let queue = DispatchQueue(label: "watch")
      #expect(FileWatch(path, on: queue) { _ in } == nil)
      try Data("a".utf8).write(to: URL(fileURLWithPath: path))
      let heard = DispatchSemaphore(value: 0)
      let watch = try await start { FileWatch(path, on: queue) { if $0 == .written { heard.signal() } } }
      let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      try file.write(contentsOf: Data("b".utf8))
      #expect(heard.wait(timeout: .now() + 600) == .success)
      #expect(!watch.isOutdated)
      try FileManager.default.removeItem(atPath: path)
      #expect(watch.isOutdated)
      try Data("c".utf8).write(to: URL(fileURLWithPath: path))
      #expect(watch.isOutdated)
      watch.cancel()
      try file.close()
    }
  }

  @Test func watchReportsThatACompanionIsReplaced() async throws {
    try await withDirectoryAsync { directory in
      let (path, companion, queue) = (directory + "/log", directory + "/data", DispatchQueue(label: "watch"))
      for path in [path, companion] { try Data("a".utf8).write(to: URL(fileURLWithPath: path)) }
      let partial = try await start { FileWatch(path, companions: [directory + "/none"], on: queue) { _ in } }
      #expect(!partial.isComplete)
      partial.cancel()
      let (written, replaced) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
      let watch = try await start {
        FileWatch(path, companions: [companion], directory: directory, on: queue) { event in
          (event == .written ? written : replaced).signal()
        }
      }
      defer { watch.cancel() }
      // The temporary directory can be in a file system of another kind.
      #expect(watch.isComplete == (sqlable_reports_all_writes(path) != 0))
      // A write to the companion, and other files in the directory, are not reported.
      try Data("b".utf8).write(to: URL(fileURLWithPath: directory + "/other"))
      let file = try FileHandle(forWritingTo: URL(fileURLWithPath: companion))
      try file.write(contentsOf: Data("b".utf8))
      #expect(written.wait(timeout: .now() + 0.1) == .timedOut)
      #expect(replaced.wait(timeout: .now() + 0.1) == .timedOut)
      #expect(rename(directory + "/other", companion) == 0)
      #expect(replaced.wait(timeout: .now() + 600) == .success)
      try FileManager.default.moveItem(atPath: directory, toPath: directory + "-2")
      #expect(replaced.wait(timeout: .now() + 600) == .success)
      try FileManager.default.moveItem(atPath: directory + "-2", toPath: directory)
      try file.close()
    }
  }

  @Test func theWatchOfADeletedFileIsDead() async throws {
    try await withDirectoryAsync { directory in
      let (path, queue) = (directory + "/log", DispatchQueue(label: "watch"))
      try Data("a".utf8).write(to: URL(fileURLWithPath: path))
      let (watches, heard) = (try await start { FileWatches(on: queue) ?? .spare }, DispatchSemaphore(value: 0))
      let file = FileWatches.File(path: path, events: UInt32(IN_MODIFY) | UInt32(IN_DELETE_SELF))
      let token = try #require(watches.add(file, []) { if $0 == .replaced { heard.signal() } })
      #expect(watches.isAlive(token))
      // A new file at the path can have the identity of the deleted one, but not its watch.
      try FileManager.default.removeItem(atPath: path)
      #expect(heard.wait(timeout: .now() + 600) == .success)
      #expect(!watches.isAlive(token))
      watches.remove(token)
    }
  }

  @Test(.disabled(if: isSanitized)) func aForkedChildEndsNoWatchOfItsParent() async throws {
    try await withDirectoryAsync { directory in
      let (path, queue) = (directory + "/log", DispatchQueue(label: "watch"))
      try Data("a".utf8).write(to: URL(fileURLWithPath: path))
      let (watches, heard) = (try await start { FileWatches(on: queue) ?? .spare }, DispatchSemaphore(value: 0))
      let file = FileWatches.File(path: path, events: UInt32(IN_MODIFY))
      let token = try #require(watches.add(file, []) { _ in heard.signal() })
      var status: Int32 = -1
      // An alarm ends a child that waits for another thread's lock, or gets no processor. Another child follows.
      for _ in 0..<5 {
        let child = Fork.begin()
        if child == 0 {
          watches.remove(token)
          _exit(0)
        }
        try #require(child > 0)
        status = Fork.wait(for: child)
        if status & 0x7F != SIGALRM { break }
      }
      #expect(status == 0)
      let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      try writer.write(contentsOf: Data("b".utf8))
      #expect(heard.wait(timeout: .now() + 600) == .success)
      #expect(watches.isAlive(token))
      watches.remove(token)
      try writer.close()
    }
  }

  @Test func furtherWatchesShareAnInstance() async throws {
    try await withDirectoryAsync { directory in
      let (path, queue) = (directory + "/log", DispatchQueue(label: "watch"))
      try Data("a".utf8).write(to: URL(fileURLWithPath: path))
      let watches = try await start { FileWatches.spare }
      let all = (0..<20).compactMap { _ in FileWatches(on: queue) }
      #expect(all.count < 16)
      try withExtendedLifetime(all) {
        let heard = DispatchSemaphore(value: 0)
        let watch = try #require(FileWatch(path, on: queue) { if $0 == .written { heard.signal() } })
        let writer = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try writer.write(contentsOf: Data("b".utf8))
        #expect(heard.wait(timeout: .now() + 600) == .success)
        watch.cancel()
        try writer.close()
      }
      #expect(FileWatches.spare === watches)
    }
  }

  @Test func kernelFilesAndMissingFilesMayHideWrites() {
    #expect(sqlable_reports_all_writes("/proc/self/status") == 0)
    #expect(sqlable_reports_all_writes("/nowhere/file") == 0)
  }
}
