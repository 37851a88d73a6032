import CMalloc
import Foundation
import Sqlable

/// Memory, threads and open files of this process.
struct ProcessUse {
  /// Bytes of memory that are neither code nor files.
  let memory: Int
  let threads: Int
  let files: Int

  /// - Parameter releasing: True to return free memory to the system first. Otherwise the memory that an earlier
  ///   measurement has freed would be used again, and not be counted.
  static func now(releasing: Bool = true) -> ProcessUse {
    if releasing { SqliteDatabase.releaseMemory() }
    func count(_ path: String) -> Int { (try? FileManager.default.contentsOfDirectory(atPath: path).count) ?? 0 }
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("RssAnon") } ?? ""
    return ProcessUse(
      memory: (Int(line.filter(\.isNumber)) ?? 0) * 1_024, threads: count("/proc/self/task"),
      files: count("/proc/self/fd"))
  }

  /// Bytes that the process has allocated and not freed.
  static var allocated: Int {
    SqliteDatabase.releaseMemory()
    let info = mallinfo2()
    return Int(info.uordblks) + Int(info.hblkhd)
  }

  func each(since before: ProcessUse, _ count: Int) -> String {
    "\((memory - before.memory) / count / 1_000) kB, \((files - before.files) / count) files"
  }
}

/// The times of calls of several tasks.
final class Times: @unchecked Sendable {
  // Sound: the lock guards the array.
  private let lock = NSLock()
  private var times: [Duration] = []

  var all: [Duration] { lock.withLock { times } }

  func add(_ time: Duration) { lock.withLock { times.append(time) } }
}

/// A number of calls of several tasks, and the longest time. Unlike `Times`, it takes no memory for each call.
final class CallCount: @unchecked Sendable {
  // Sound: the lock guards the numbers.
  private let lock = NSLock()
  private var state = (count: 0, longest: Duration.zero)

  var count: Int { lock.withLock { state.count } }
  var longest: Duration { lock.withLock { state.longest } }

  func add(_ time: Duration) { lock.withLock { state = (state.count + 1, max(state.longest, time)) } }
}

func timed(_ body: () async throws -> Void) async rethrows -> Duration {
  let begin = ContinuousClock.now
  try await body()
  return begin.duration(to: .now)
}

func report(_ what: String, _ times: [Duration]) {
  let sorted = times.sorted()
  guard let last = sorted.last else { return }
  let (median, late) = (sorted[sorted.count / 2], sorted[sorted.count * 99 / 100])
  print("\(what): median \(text: median), p99 \(text: late), longest \(text: last)")
}

extension DefaultStringInterpolation {
  mutating func appendInterpolation(text time: Duration) {
    let milliseconds = time / .milliseconds(1)
    appendInterpolation(String(format: milliseconds < 1 ? "%.4f ms" : "%.2f ms", milliseconds))
  }
}
