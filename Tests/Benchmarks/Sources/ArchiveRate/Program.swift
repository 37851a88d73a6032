import Foundation
import Sqlable
import SqlableRecovery

/// Measures how many commits a second an archive keeps up with.
///
/// First it archives commits that are all in the write-ahead log already: that is the rate of the archive alone. Then
/// threads commit as fast as they can, without an archive and beside one; what is left when they end shows whether it
/// has kept up. What is printed are medians.
@main struct Program {
  static let usage = "ArchiveRate [--commits 20000] [--seconds 5] [--rounds 3] [--directory DIRECTORY]"

  struct Item: SqlCodable {
    var id: Int?
    var name: String
    static let id = column("id", Int.self, PrimaryKey())
    static let name = column("name", String.self)
    static let tableLayout = [id.column, name.column]
  }

  static func main() throws {
    var (commits, seconds, rounds, directory) = (20_000, 5, 3, NSTemporaryDirectory())
    var arguments = CommandLine.arguments.dropFirst()
    while let argument = arguments.popFirst() {
      switch (argument, arguments.popFirst()) {
      case ("--commits", let value?): commits = Int(value) ?? commits
      case ("--seconds", let value?): seconds = Int(value) ?? seconds
      case ("--rounds", let value?): rounds = max(1, Int(value) ?? rounds)
      case ("--directory", let value?): directory = value
      default:
        print(usage)
        return
      }
    }
    let place = directory + "/sqlable-archive-\(UUID().uuidString)"
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: place) }

    var (alone, without, beside, left): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
    for round in 0..<rounds {
      alone.append(try rate(commits, place + "/alone-\(round)"))
      without.append(try live(seconds, place + "/without-\(round)", isArchived: false).rate)
      let (rate, rest) = try live(seconds, place + "/beside-\(round)", isArchived: true)
      beside.append(rate)
      left.append(rest)
    }
    print("\(commits) commits of one row from the log: \(Int(median(alone))) commits/s are archived")
    print("four threads that write, \(seconds) s, without an archive: \(Int(median(without))) commits/s")
    print("the same beside an archive: \(Int(median(beside))) commits/s, the last archived after", median(left), "s")
  }

  static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

  static func pool(_ path: String) throws -> SqlitePool {
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    // Each write has a commit of its own.
    let pool = try SqlitePool(filepath: path + "/pool.sqlite", configuration: PoolConfiguration(maximumGroup: 1))
    try pool.transaction { db in _ = try db.createTable(Item.self) }
    return pool
  }

  static func time(_ body: () throws -> Void) rethrows -> Double {
    let begin = ContinuousClock.now
    try body()
    return (ContinuousClock.now - begin) / .seconds(1)
  }

  /// How many commits a second the archive takes from the log.
  static func rate(_ commits: Int, _ path: String) throws -> Double {
    let pool = try pool(path)
    let archive: PoolArchive = try pool.archive(to: path + "/archive", ArchiveOptions(interval: .seconds(3_600)))
    for number in 0..<commits { try Item(name: "item \(number)").insert().run(pool) }
    let seconds = try time { _ = try archive.flush() as Int }
    try pool.close()
    return Double(commits) / seconds
  }

  /// How many commits a second threads make, and how long it takes afterwards until the last is archived.
  static func live(_ seconds: Int, _ path: String, isArchived: Bool) throws -> (rate: Double, rest: Double) {
    let pool = try pool(path)
    let archive: PoolArchive? = isArchived ? try pool.archive(to: path + "/archive") : nil
    let begin = pool.statistics.commits
    let end = ContinuousClock.now + .seconds(seconds)
    let group = DispatchGroup()
    for thread in 0..<4 {
      group.enter()
      Thread.detachNewThread {
        var number = 0
        while ContinuousClock.now < end {
          _ = try? Item(name: "item \(thread) \(number)").insert().run(pool)
          number += 1
        }
        group.leave()
      }
    }
    group.wait()
    let rate = Double(pool.statistics.commits - begin) / Double(seconds)
    let rest = try time { if let archive { _ = try archive.flush() as Int } }
    try pool.close()
    return (rate, rest)
  }
}
