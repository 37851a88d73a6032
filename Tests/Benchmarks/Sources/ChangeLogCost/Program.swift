import Foundation
import Sqlable
import SqlableChanges

/// Measures the costs of a change log.
///
/// Writers are measured without a log, with logs of rows, of two columns, of one column and of keys, in turn. The
/// ratios are medians of the rounds. Then consumers read a log of many changes, and receive the commits of a second
/// process.
///
/// `--only insert-rows` inserts the rows once with a log of rows; `update-rows` also updates them, and `insert-nothing`
/// has no log. The difference of two such runs under `valgrind --tool=callgrind` is a number of instructions, which
/// does not depend on other processes.
@main struct Program {
  static let usage = """
    ChangeLogCost [--rows 100000] [--changes 1000000] [--commits 500] [--rounds 7] [--directory DIRECTORY]
    [--only insert-rows]
    """

  static func main() async throws {
    var options = Options()
    var arguments = CommandLine.arguments.dropFirst()
    while let argument = arguments.popFirst() {
      switch (argument, arguments.popFirst()) {
      case ("--rows", let value?): options.rows = Int(value) ?? options.rows
      case ("--changes", let value?): options.changes = Int(value) ?? options.changes
      case ("--commits", let value?): options.commits = Int(value) ?? options.commits
      case ("--rounds", let value?): options.rounds = max(1, Int(value) ?? options.rounds)
      case ("--directory", let value?): options.directory = value
      case ("--only", let value?): options.only = value
      case ("--write", let value?):
        try CommitLatency.write(to: value, commits: options.commits)
        return
      default:
        print(usage)
        return
      }
    }
    let place = options.directory + "/sqlable-changes-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: place) }
    let cost = WriteCost(options: options, place: place)
    if let only = options.only { return try cost.write(only) }
    try cost.measure()
    try await Consumption(options: options, place: place).measure()
    try await CommitLatency(options: options, place: place).measure()
  }
}

struct Options {
  var rows = 100_000
  var changes = 1_000_000
  var commits = 500
  var rounds = 7
  var directory = NSTemporaryDirectory()
  var only: String?
}

/// A usual row: of the length of the mixed rows that the other programs measure.
struct Item: SqlCodable, Sendable {
  var id: Int?
  var name: String
  var bio: String
  var price: Double
  var active: Bool
  var nick: String?
  var at: Double

  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let bio = column("bio", String.self)
  static let price = column("price", Double.self)
  static let active = column("active", Bool.self)
  static let nick = column("nick", String?.self)
  static let at = column("at", Double.self)
  static let tableLayout = [
    id.column, name.column, bio.column, price.column, active.column, nick.column, at.column,
  ]

  init(_ number: Int) {
    name = "name \(number)"
    bio = "a text of about sixty bytes, as a profile has it: number \(number)"
    price = Double(number) * 1.25 + 0.1
    active = number % 2 == 0
    nick = number % 3 == 0 ? nil : "nick"
    at = 750_000_000 + Double(number) * 0.37
  }
}

func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

/// The seconds of processor time of this process, which other processes on the machine hardly change.
func processorSeconds(_ body: () throws -> Void) rethrows -> Double {
  let begin = processorTime()
  try body()
  return processorTime() - begin
}

/// The processor time of this process until now, in seconds.
func processorTime() -> Double {
  var time = timespec()
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return Double(time.tv_sec) + Double(time.tv_nsec) * 1e-9
}

func seconds(_ body: () throws -> Void) rethrows -> Double {
  let begin = ContinuousClock.now
  try body()
  return (ContinuousClock.now - begin) / .seconds(1)
}
