import Foundation
import Sqlable

/// Measures how time grows with the size of the work, by doubling: statements of n terms, tables, handles, observers.
///
/// Each subject runs at n, 2n, 4n and 8n. The table shows the microseconds per element, and the exponent of the growth
/// between 2n and 8n: 1 for linear work, 2 for quadratic work. Each time is the minimum of several repetitions.
@main struct Program {
  static let usage = "Growth [--only TEXT] [--limit 1.15]"

  static func main() async throws {
    var (only, limit) = ("", 1.15)
    var arguments = CommandLine.arguments.dropFirst()
    while let argument = arguments.popFirst() {
      switch (argument, arguments.popFirst()) {
      case ("--only", let value?): only = value
      case ("--limit", let value?): limit = Double(value) ?? limit
      default:
        print(usage)
        return
      }
    }
    let directory = NSTemporaryDirectory() + "/sqlable-growth-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let place = Place(directory: directory)
    let groups: [[Subject]] = [
      try Subject.statements(), try Subject.documents(), Subject.wideModels(place), Subject.schemas(place),
      Subject.handles(place),
    ]
    print("| subject | n | µs of processor time per element at n, 2n, 4n, 8n | exponent |")
    print("|---|---|---|---|")
    for subject in groups.joined() where subject.name.hasPrefix(only) {
      do { try await subject.measure(limit) } catch { print("| \(subject.name) | \(subject.base) | \(error) | |") }
      fflush(nil)
    }
  }
}

/// A directory for databases.
final class Place: Sendable {
  let directory: String

  init(directory: String) { self.directory = directory }

  func path() -> String { directory + "/\(UUID().uuidString).sqlite" }
}

/// Work whose size can be doubled.
struct Subject {
  let name: String
  /// The smallest number of elements.
  let base: Int
  /// Prepares the work for a number of elements, and returns the seconds of one repetition.
  let seconds: (Int) async throws -> Double

  init(_ name: String, _ base: Int, seconds: @escaping (Int) async throws -> Double) {
    (self.name, self.base, self.seconds) = (name, base, seconds)
  }

  /// Work that is prepared by `prepare`; only `work` is measured.
  init<Input>(
    _ name: String, _ base: Int, prepare: @escaping (Int) async throws -> Input,
    measure work: @escaping (Input) async throws -> Void
  ) {
    self.init(name, base) { count in
      let input = try await prepare(count)
      let start = Subject.processorTime
      try await work(input)
      return Subject.processorTime - start
    }
  }

  /// The processor time of all threads of this process, in seconds. Unlike the clock, it is steady beside other load.
  private static var processorTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }

  func measure(_ limit: Double) async throws {
    let sizes = [base, 2 * base, 4 * base, 8 * base]
    var times = sizes.map { _ in Double.infinity }
    // All sizes in turn, so that other load on the machine affects them alike.
    let begin = ContinuousClock.now
    var rounds = 0
    repeat {
      for (index, size) in sizes.enumerated() { times[index] = min(times[index], try await seconds(size)) }
      rounds += 1
    } while begin.duration(to: .now) < .seconds(rounds < 3 ? 8 : 1)
    let exponent = log2(times[3] / times[1]) / 2
    let each = zip(times, sizes).map { String(format: "%.2f", $0 * 1e6 / Double($1)) }.joined(separator: ", ")
    let mark = exponent > limit ? " **" : ""
    print("| \(name) | \(base) | \(each) | \(String(format: "%.2f", exponent))\(mark) |")
  }
}
