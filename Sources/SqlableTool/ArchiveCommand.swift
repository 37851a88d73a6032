import Foundation
import Sqlable

/// `sqlable archive`: lists an archive of commits, and restores the database at one of them.
struct ArchiveCommand: Subcommand {
  static let name = "archive"
  static let summary = "lists an archive of commits, or restores the database at one of them into a new file"
  static let usage = """
    Usage: sqlable archive DIRECTORY [TARGET] [--at TIME] [--commit NUMBER] [--no-check] [--json]

    Without a target, lists the commits that can be restored. With one, restores the database as it was after the last
    commit, or another one, into a new file, which has its name once it is complete and checked. An archive is made by
    a program: pool.archive(to:).

      DIRECTORY                    the archive, which is only read
      TARGET                       the file to make; there must be none
      --at TIME                    the last commit that was archived at a time: 2026-11-24T12:00:00Z
      --commit NUMBER              the commit with this number
      --no-check                   do not check the restored database
      --json                       print JSON

    Exit codes: 0 done, 1 it can't be done, 2 a mistake on the command line.
    """
  static let options: Set<String> = ["--at", "--commit"]
  static let flags: Set<String> = ["--no-check", "--json"]

  private let directory: String
  private let target: String?
  private var moment = DatabaseArchive.Moment.latest
  private let checks: BackupChecks
  private let printsJSON: Bool

  init(_ arguments: Arguments) throws {
    guard (1...2).contains(arguments.words.count) else {
      throw UsageError(description: "archive takes an archive and a target")
    }
    (directory, target) = (arguments.words[0], arguments.words.dropFirst().first)
    checks = arguments.has("--no-check") ? [] : .integrity
    printsJSON = arguments.has("--json")
    let (time, commit) = (try arguments.value("--at"), try arguments.value("--commit"))
    guard time == nil || commit == nil, target != nil || (time == nil && commit == nil) else {
      throw UsageError(description: "--at and --commit exclude each other, and need a target")
    }
    if let time {
      let whole = Date.ISO8601FormatStyle()
      let precise = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
      guard let date = (try? Date(time, strategy: whole)) ?? (try? Date(time, strategy: precise)) else {
        throw UsageError(description: "--at takes a time such as 2026-11-24T12:00:00Z")
      }
      moment = .time(date)
    }
    if let commit {
      guard let number = Int(commit), number > 0 else {
        throw UsageError(description: "--commit takes a number from 1")
      }
      moment = .commit(number)
    }
  }

  func run() throws -> Int32 {
    let archive = DatabaseArchive(at: directory)
    guard let target else { return try list(archive) }
    let commit = try archive.restore(to: target, at: moment, checks: checks)
    try write([commit].map(Entry.init)) { "commit \($0[0].commit) of \($0[0].time)\n" }
    return 0
  }

  private func list(_ archive: DatabaseArchive) throws -> Int32 {
    let ranges = try archive.ranges().map { Listed(first: Entry($0.first), last: Entry($0.last)) }
    try write(ranges) { ranges in
      ranges.map { range in
        "commits \(range.first.commit) to \(range.last.commit), \(range.first.time) to \(range.last.time)\n"
      }.joined()
    }
    return 0
  }

  private struct Entry: Encodable {
    let commit: Int
    let time: String

    init(_ commit: DatabaseArchive.Commit) {
      self.commit = commit.commit
      time = commit.time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
    }
  }

  private struct Listed: Encodable {
    let first: Entry
    let last: Entry
  }

  private func write<Value: Encodable>(_ values: [Value], _ text: ([Value]) -> String) throws {
    Output.write(try printsJSON ? Output.json(values) : text(values), to: STDOUT_FILENO)
  }
}
