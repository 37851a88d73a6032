import Foundation
import Sqlable
import SqlableChanges
import Testing

/// Tests of `sqlable changes`.
@Suite(.enabled(if: Program.tool.isAvailable, "the tool is not built"))
struct ChangesToolTests {
  /// Calls `body` with a directory and the database `a.sqlite` in it, whose bicycles are logged.
  private func withLog(_ body: (String, SqliteDatabase) throws -> Void) throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite")
      try db.createTables(Person.self, Bicycle.self)
      try ChangeLog(Bicycle.self).create(db)
      try Bicycle(name: "Rover", color: "red").insert().run(db)
      try Bicycle.updateAll(Bicycle.color.set(to: "blue")).run(db)
      try Bicycle.deleteAll().run(db)
      try body(directory, db)
    }
  }

  private func changes(_ directory: String, _ arguments: String...) throws -> Program.Run {
    try Program.tool.run(["changes", "a.sqlite"] + arguments, in: directory)
  }

  private func fields(_ run: Program.Run) -> [[String]] {
    run.output.split(separator: "\n").map { $0.split(separator: "\t").map(String.init) }
  }

  @Test func printsALineForEachChange() throws {
    try withLog { directory, db in
      let run = try changes(directory)
      #expect(run.exitCode == 0)
      #expect(run.errors == "")
      let fields = fields(run)
      #expect(
        fields.map { Array($0[1...3]) } == [
          ["bicycle", "insert", "id: 1, name: 'Rover', color: 'red', owner_id: NULL"],
          ["bicycle", "update", "id: 1, color: 'red' → 'blue'"],
          ["bicycle", "delete", "id: 1, name: 'Rover', color: 'blue', owner_id: NULL"],
        ])
      #expect(fields[2][4] == "\(try db.changePosition())")
      let later: [[String]] = try self.fields(changes(directory, "--since", fields[1][4]))
      #expect(later == [fields[2]])
      // The log can begin with a later change.
      try ChangeLog.trim(db, keeping: .count(2))
      let kept: [[String]] = try self.fields(changes(directory))
      #expect(kept == Array(fields[1...]))
      try db.close()
      let ofClosed: [[String]] = try self.fields(changes(directory))
      #expect(ofClosed == kept)
    }
  }

  @Test func printsTheChosenColumnsOfALog() throws {
    try withDirectory { directory in
      let db = try SqliteDatabase(filepath: directory + "/a.sqlite")
      try db.createTables(Person.self, Bicycle.self)
      try ChangeLog(Bicycle.self, keeping: .columns(Bicycle.color)).create(db)
      try Bicycle(name: "Rover", color: "red").insert().run(db)
      try Bicycle.updateAll(Bicycle.name.set(to: "Dahon")).run(db)
      try ChangeLog(Bicycle.self, keeping: .columns(Bicycle.name)).create(db)
      try Bicycle.deleteAll().run(db)
      #expect(
        try fields(changes(directory)).map { Array($0[1...3]) } == [
          ["bicycle", "insert", "id: 1, color: 'red'"], ["bicycle", "update", "id: 1"],
          ["bicycle", "delete", "id: 1, name: 'Dahon'"],
        ])
    }
  }

  @Test func printsJSON() throws {
    try withLog { directory, db in
      let run = try changes(directory, "--json")
      let lines = try run.output.split(separator: "\n").map { line in
        try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
      }
      func color(_ line: [String: Any], _ row: String) -> String? {
        (line[row] as? [String: Any])?["color"] as? String
      }
      #expect(lines.map { $0["change"] as? String } == ["insert", "update", "delete"])
      #expect(lines.map { color($0, "old") } == [nil, "red", "blue"])
      #expect(lines.map { color($0, "new") } == ["red", "blue", nil])
      #expect(lines[0]["key"] as? [String] == ["id"])
      #expect(lines[2]["position"] as? String == "\(try db.changePosition())")
    }
  }

  @Test func beginsWhereAConsumerContinuesWithoutMovingIt() throws {
    try withLog { directory, db in
      try db.execute(
        """
        INSERT INTO sqlable_change_consumers (name, history, seq, at, isNew)
        SELECT 'index', h.id, c.seq, c.at, 0 FROM sqlable_change_history AS h, sqlable_changes AS c WHERE c.seq = 2
        """)
      for _ in 0..<2 { #expect(try fields(changes(directory, "--as", "index")).map { $0[2] } == ["delete"]) }
      let doctor = try Program.tool.run(["doctor", "a.sqlite"], in: directory)
      #expect(doctor.output.contains("\nConsumers of the change log\n  index: 1 change behind, the first "))
      let unknown = try changes(directory, "--as", "other")
      #expect(unknown.exitCode == 1)
      #expect(unknown.errors == "sqlable: a.sqlite: the change log has no consumer other\n")
    }
  }

  @Test func doctorReportsANewConsumerWhoseRowsFail() throws {
    try withLog { directory, db in
      try db.execute(
        """
        INSERT INTO sqlable_change_consumers (name, history, seq, at, "isNew", "startedAt")
        SELECT 'index', id, 0, 0, 1, unixepoch() * 1000 - 7200000 FROM sqlable_change_history
        """)
      try db.execute(
        """
        INSERT INTO sqlable_change_quarantine (consumer, seq, attempts, error, "failedAt", "isQuarantined")
        VALUES ('index', -1, 3, 'Refused', 0, 0)
        """)
      let doctor = try Program.tool.run(["doctor", "a.sqlite"], in: directory)
      #expect(doctor.output.contains("\n  index: 3 changes behind, new for 7"))
      #expect(doctor.output.contains("\n  consumer index has not acknowledged its initial rows for 7"))
      #expect(doctor.output.contains(" s, and retries after the error Refused\n"))
    }
  }

  @Test func printsATextThatIsNotUTF8AsABlob() throws {
    try withLog { directory, db in
      try db.execute("INSERT INTO bicycle (name, color) VALUES (CAST(x'ff' AS TEXT), 'red')")
      #expect(try fields(changes(directory)).last?[3].contains("name: x'ff', color: 'red'") == true)
    }
  }

  @Test(arguments: [false, true]) func followsTheCommitsOfOtherProcesses(_ isConsumer: Bool) throws {
    try withLog { directory, db in
      let position = isConsumer ? 2 : 0
      try db.execute(
        """
        INSERT INTO sqlable_change_consumers (name, history, seq, at, isNew)
        SELECT 'index', h.id, c.seq, c.at, 0 FROM sqlable_change_history AS h, sqlable_changes AS c WHERE c.seq = 2
        """)
      let start = isConsumer ? ["--as", "index"] : []
      let tool = try Program.tool.start(["changes", directory + "/a.sqlite", "--follow"] + start)
      defer {
        tool.signal(SIGKILL)
        tool.waitUntilExit()
      }
      func next(_ count: Int) -> String {
        var text = ""
        // The lines can come one by one.
        while text.filter(\.isNewline).count < count, case let data = tool.output.availableData, !data.isEmpty {
          text += String(decoding: data, as: UTF8.self)
        }
        return text
      }
      #expect(next(3 - position).split(separator: "\n").count == 3 - position)
      try Bicycle(name: "Dahon", color: "red").insert().run(db)
      #expect(next(1).contains("name: 'Dahon'"))
      #expect(try db.query("SELECT seq FROM sqlable_change_consumers", as: Int.self) == [2])
    }
  }

  @Test func mistakesHaveExitCodes() throws {
    try withLog { directory, db in
      #expect(try changes(directory, "--since", "nonsense").exitCode == 2)
      #expect(try changes(directory, "--since", "\(try db.changePosition())", "--as", "a").exitCode == 2)
      #expect(try Program.tool.run(["changes", "none.sqlite"], in: directory).exitCode == 1)
      #expect(try Program.tool.run(["changes", "none.sqlite", "--follow"], in: directory).exitCode == 1)
      try ChangeLog(Bicycle.self).drop(db)
      let run = try changes(directory)
      #expect(run.exitCode == 1)
      #expect(run.errors.contains("the database has no change log"))
    }
  }
}

extension Program {
  /// Starts the program, which the caller ends.
  fileprivate func start(_ arguments: [String]) throws -> ChildProcess {
    try ChildProcess(try #require(path), arguments, errors: .dropped)
  }
}
