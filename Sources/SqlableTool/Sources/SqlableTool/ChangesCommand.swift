import ArgumentParser
import Foundation
import Sqlable
import SqlableChanges

struct ChangesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "changes",
    abstract: "Shows the changes in the change log of a database.",
    discussion: """
      Prints a line for each change in the log: its time, table, kind, values and position. With --since, begins after \
      a position. With --as, begins after the last change that a consumer has acknowledged; the consumer's position \
      does not change. With --follow, waits for later changes, of all processes, until the command is interrupted. \
      The database is only read. A program makes a change log with ChangeLog(…).create(db).

      Exit codes: 0 done, 1 failed, 2 a mistake on the command line.
      """)

  @Argument(help: "The database.")
  var database: String

  @Option(
    name: .customLong("as"), help: ArgumentHelp("Begin where this consumer continues.", valueName: "consumer"))
  var consumer: String?

  @Option(
    help: ArgumentHelp("Begin after this position.", valueName: "position"),
    transform: { text in
      guard let position = ChangePosition(text) else { throw ValidationError("expected a position in a change log") }
      return position
    })
  var since: ChangePosition?

  @Flag(help: "Wait for later changes.")
  var follow = false

  @Flag(help: "Print a JSON object for each change.")
  var json = false

  /// The pause between two checks for commits of other processes, in microseconds.
  private static let pause: UInt32 = 20_000

  func validate() throws {
    guard consumer == nil || since == nil else { throw ValidationError("use only one of --as and --since") }
  }

  func run() throws {
    let reader = LogReader()
    // `withReadOnlyDatabase` can call its closure again. The second call continues after the changes that are already
    // printed.
    var position = since
    var isStarted = false
    func start(_ db: SqliteDatabase) throws {
      guard !isStarted, let consumer else { return }
      guard let found = try reader.position(ofConsumer: consumer, in: db) else {
        throw FileProblem(description: "\(database): the change log has no consumer \(consumer.visible)")
      }
      (position, isStarted) = (found, true)
    }
    guard follow else {
      return try withReadOnlyDatabase(database) { db in
        try start(db)
        try printChanges(after: &position, reader, db)
      }
    }
    guard FileManager.default.fileExists(atPath: database) else {
      throw FileProblem(description: "\(database): no such file")
    }
    let db = try SqliteDatabase(filepath: database, configuration: Configuration(label: database, isReadOnly: true))
    try start(db)
    while true {
      let version = try db.query("PRAGMA data_version", as: Int.self)
      try printChanges(after: &position, reader, db)
      repeat { usleep(ChangesCommand.pause) } while try db.query("PRAGMA data_version", as: Int.self) == version
    }
  }

  private func printChanges(after position: inout ChangePosition?, _ reader: LogReader, _ db: SqliteDatabase) throws {
    while true {
      let page = try reader.page(after: position, in: db)
      Output.write(try page.changes.map { try json ? line($0) : text($0) }.joined(), to: STDOUT_FILENO)
      position = page.end
      if page.isLast { return }
    }
  }

  // MARK: Formats

  private func text(_ change: LoggedChange) -> String {
    let row = change.new ?? change.old
    let values = (row?.columns ?? []).enumerated().compactMap { index, column -> String? in
      let (old, new) = (change.old?.values[index], change.new?.values[index])
      guard change.change == .update, let old, let new else {
        return (new ?? old).map { "\(column.visible): \($0.literal.visible)" }
      }
      // An update is printed with the key and the changed values only.
      if old != new { return "\(column.visible): \(old.literal.visible) → \(new.literal.visible)" }
      return change.key.contains(column) ? "\(column.visible): \(new.literal.visible)" : nil
    }
    let parts = [
      time(change), change.table.visible, "\(change.change)", values.joined(separator: ", "),
      change.position.description,
    ]
    return parts.joined(separator: "\t") + "\n"
  }

  private struct Line: Encodable {
    let position: String
    let time: String
    let table: String
    let change: String
    let key: [String]
    let old: [String: ValueForm]?
    let new: [String: ValueForm]?
  }

  private func line(_ change: LoggedChange) throws -> String {
    func form(_ row: DynamicRow?) -> [String: ValueForm]? {
      row.map { Dictionary(zip($0.columns, $0.values.map { ValueForm($0) })) { $1 } }
    }
    let line = Line(
      position: change.position.description, time: time(change), table: change.table, change: "\(change.change)",
      key: change.key, old: form(change.old), new: form(change.new))
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(line), as: UTF8.self) + "\n"
  }

  private func time(_ change: LoggedChange) -> String {
    change.time.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }
}
