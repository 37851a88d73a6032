import Foundation
import Sqlable

/// Measures what a salvage brings back: makes databases, zeroes a random hundredth of their pages, recovers them, and
/// compares the new file with what was there, and the reported share with the true one.
///
///     swift run -c release --disable-default-traits SalvageShare [FILES [SEED [RECOVER]]]
///
/// RECOVER is a shell of SQLite whose `.recover` is measured beside it; it needs SQLITE_ENABLE_DBPAGE_VTAB.
@main
struct Program {
  static func main() throws {
    let arguments = CommandLine.arguments.dropFirst().map { $0 }
    let files = arguments.first.flatMap { Int($0) } ?? 1_000
    let seed = arguments.dropFirst().first.flatMap { UInt64($0) } ?? 1
    let shell = arguments.dropFirst(2).first
    let directory = NSTemporaryDirectory() + "salvage-share-\(getpid())"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: directory) }
    var (total, theirs) = (SalvageFigures(), SalvageFigures())
    for number in 0..<UInt64(files) {
      var random = SeededGenerator(seed: seed &* 1_000_003 &+ number)
      let trial = try SalvageTrial(directory + "/\(number).sqlite", &random)
      let (share, figures) = try trial.salvage()
      total.add(figures)
      if abs(figures.share - share) > 0.02 {
        total.outside += 1
        print("file \(number): \(figures.share) came back, \(share) was reported, \(trial.description)")
      }
      if let shell { theirs.add(try trial.recover(with: shell)) }
      try trial.remove()
    }
    print("\(files) files, \(total.rows) rows, share that came back: \(total.share)")
    print("rows that were not there before: \(total.wrong)")
    print("reported share off by more than 2 %: \(total.outside) files; \(total.seconds / Double(files)) s a file")
    if shell != nil {
      print(".recover: \(theirs.share), \(theirs.wrong) wrong, \(theirs.seconds / Double(files)) s a file")
    }
  }
}
