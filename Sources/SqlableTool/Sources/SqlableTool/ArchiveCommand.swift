import ArgumentParser
import Foundation
import Sqlable
import SqlableRecovery

struct ArchiveCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "archive",
    abstract: "Lists the commits of an archive, or restores the database after one commit into a new file.",
    discussion: """
      Without a target, lists the commits that can be restored. With a target, restores the database after the last \
      commit, or after the commit of --at or --commit, into a new file. The file gets its name when it is complete and \
      checked. A program makes an archive with pool.archive(to:).

      Exit codes: 0 done, 1 failed, 2 a mistake on the command line.
      """)

  @Argument(help: "The archive, which is only read.")
  var directory: String

  @Argument(help: "The new file, which must not exist.")
  var target: String?

  @Option(
    name: .customLong("at"),
    help: ArgumentHelp("The last archived commit at or before this time: 2026-11-24T12:00:00Z.", valueName: "time"),
    transform: parsedTime)
  var time: Date?

  @Option(help: ArgumentHelp("The commit with this number.", valueName: "number"), transform: number(1...Int.max))
  var commit: Int?

  @Flag(help: "Do not check the restored database.")
  var noCheck = false

  @Flag(help: "Print JSON.")
  var json = false

  func validate() throws {
    guard time == nil || commit == nil, target != nil || (time == nil && commit == nil) else {
      throw ValidationError("use only one of --at and --commit, and give a target")
    }
  }

  func run() throws {
    let archive = DatabaseArchive(at: directory)
    guard let target else { return try list(archive) }
    let moment = time.map { .time($0) } ?? commit.map { .commit($0) } ?? DatabaseArchive.RestorePoint.latest
    let restored = try ProgressLine.during { line in
      try archive.restore(to: target, at: moment, checks: noCheck ? [] : .integrity) { bytes, total in
        line.report(bytes, of: total, .bytes, in: "restoring")
        if bytes == total, !noCheck { line.begin("checking the database") }
      }
    }
    try write([restored].map(Entry.init)) { "commit \($0[0].commit) of \($0[0].time)\n" }
  }

  private func list(_ archive: DatabaseArchive) throws {
    let ranges = try archive.ranges().map { Listed(first: Entry($0.first), last: Entry($0.last)) }
    try write(ranges) { ranges in
      ranges.map { range in
        "commits \(range.first.commit) to \(range.last.commit), \(range.first.time) to \(range.last.time)\n"
      }.joined()
    }
  }

  private struct Entry: Encodable {
    let commit: Int
    let time: String

    init(_ commit: DatabaseArchive.Commit) {
      self.commit = commit.commit
      time = commit.time.text
    }
  }

  private struct Listed: Encodable {
    let first: Entry
    let last: Entry
  }

  private func write<Value: Encodable>(_ values: [Value], _ text: ([Value]) -> String) throws {
    Output.write(try json ? Output.json(values) : text(values), to: STDOUT_FILENO)
  }
}

@Sendable func parsedTime(_ text: String) throws -> Date {
  let styles = [Date.ISO8601FormatStyle(), Date.ISO8601FormatStyle(includingFractionalSeconds: true)]
  guard let date = styles.lazy.compactMap({ try? Date(text, strategy: $0) }).first else {
    throw ValidationError("expected a time such as 2026-11-24T12:00:00Z")
  }
  return date
}

extension Date {
  /// The time with fractions of a second, as `parsedTime` reads it.
  var text: String { formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true)) }
}
