import SqlableCore
import Testing

@testable import SqlableTestSupport

/// First rows and loops of prepared queries.
@Suite struct PreparedIterationTests {
  struct Enough: Error {}

  private func team(_ db: SqliteDatabase) throws -> Prepared<Worker, [Worker]> {
    try db.prepare(
      Worker.read().filter(Worker.bossId == Parameter("boss") && Worker.salary > Parameter("least")).orderBy(Worker.id))
  }

  private func team(_ boss: Int, _ least: Double) -> [Worker] {
    Worker.all.filter { $0.bossId == boss && $0.salary > least }
  }

  /// Expects that no statement is open, so that a checkpoint of another handle completes.
  private func expectNothingOpen(_ db: SqliteDatabase, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let other = try SqliteDatabase(filepath: db.filepath)
    try other.execute("UPDATE person SET name = name || '!'")
    let busy = try other.query("PRAGMA wal_checkpoint(TRUNCATE)") { try $0.get(at: 0, as: Int.self) }
    #expect(busy == [0], sourceLocation: sourceLocation)
    try other.close()
  }

  @Test func theFirstRowIsReadWithValuesByNameAndByPosition() throws {
    try withCompany { db throws in
      let team = try team(db)
      for boss in 0...4 {
        for least in [0.0, 5, 6, 7] {
          let expected = self.team(boss, least)
          #expect(try team.first(boss, least) == expected.first)
          #expect(try team.first(["boss": boss, "least": least]) == expected.first)
          #expect(try team.first(["least": least, "boss": boss]) == expected.first)
          #expect(try team.run(boss, least) == expected)
        }
      }
      try expectNothingOpen(db)
      let pair = try db.prepare(
        Worker.select(Worker.name, Worker.bossId).filter(Worker.id == Parameter("id")))
      let ada = try #require(try pair.first(1))
      #expect(ada.0 == "Ada")
      #expect(ada.1 == nil)
      #expect(try pair.first(["id": 9]) == nil)
      // A row of NULL is a row.
      let boss = try db.prepare(Worker.select(Worker.bossId).filter(Worker.id == Parameter("id")))
      #expect(try boss.first(1) == .some(nil))
      #expect(try boss.first(9) == nil)
      let all = try db.prepare(Worker.select(Worker.id).orderBy(Worker.id.desc))
      #expect(try all.first() == 4)
      try Worker.deleteAll().run(db)
      #expect(try all.first() == nil)
      try all.forEach([:]) { _ in throw Enough() }
    }
  }

  @Test func aPreparedLoopEndsAfterStop() throws {
    try withCompany { db throws in
      let team = try team(db)
      let all = try db.prepare("SELECT id, name FROM worker ORDER BY id", as: Int.self, String.self)
      for last in 1...5 {
        var seen: [Int] = []
        try all.forEach([:]) { id, name in
          #expect(name == Worker.all[id - 1].name)
          seen.append(id)
          return id == last ? .stop : .continue
        }
        #expect(seen == Array(1...min(last, 4)))
        try expectNothingOpen(db)
      }
      for boss in 1...3 {
        var seen: [Worker] = []
        try team.forEach(["least": 5.5, "boss": boss]) { worker in
          seen.append(worker)
          return .continue
        }
        #expect(seen == self.team(boss, 5.5))
      }
    }
  }

  @Test func anErrorInALoopIsRethrownAndNothingStaysOpen() throws {
    try withCompany { db throws in
      let all = try db.prepare(Worker.read().orderBy(Worker.id))
      let seen = Mutex(0)
      #expect(throws: Enough.self) {
        try all.forEach([:]) { worker in
          seen.withLock { $0 += 1 }
          if worker.id == 2 { throw Enough() }
          return .continue
        }
      }
      #expect(seen.withLock { $0 } == 2)
      try expectNothingOpen(db)
      try db.execute("UPDATE worker SET salary = 'much' WHERE id = 3")
      seen.withLock { $0 = 0 }
      let wrong = sqlError {
        try all.forEach([:]) { _ in
          seen.withLock { $0 += 1 }
          return .continue
        }
      }
      #expect(seen.withLock { $0 } == 2)
      #expect(wrong?.rowId == 3)
      #expect(wrong?.message == "worker.salary should hold REAL, but holds TEXT")
      try db.execute("UPDATE worker SET salary = 7 WHERE id = 3")
      #expect(try all.run() == Worker.all)
      try expectNothingOpen(db)
    }
  }

  /// SQL: `SELECT … WHERE id = ? OR boss_id = ? ORDER BY id`
  @Test func aParameterThatOccursTwiceHasOneValue() throws {
    try withCompany { db throws in
      let id = Parameter("id")
      let team = try db.prepare(Worker.read().filter(Worker.id == id || Worker.bossId == id).orderBy(Worker.id))
      for worker in Worker.all {
        let expected = Worker.all.filter { $0.id == worker.id || $0.bossId == worker.id }
        #expect(try team.run(worker.id) == expected)
        #expect(try team.first(worker.id) == expected.first)
        #expect(try team.first(["id": worker.id]) == expected.first)
      }
    }
  }

  @Test func wrongParameterValuesAreRefused() throws {
    try withCompany { db throws in
      let team = try team(db)
      let wrong: [(String, () throws -> Void)] = [
        ("has 2 parameters, but was given 1 values", { _ = try team.first(1) }),
        ("has 2 parameters, but was given 3 values", { _ = try team.first(1, 2.0, 3) }),
        ("parameter least has no value", { _ = try team.first(["boss": 1]) }),
        ("parameter boss has no value", { try team.forEach([:]) { _ in .continue } }),
        ("has no parameter bos", { try team.forEach(["bos": 1, "least": 1]) { _ in .continue } }),
        ("parameter boss has two values", { _ = try team.first(["boss": 1, "boss": 2, "least": 1.0]) }),
      ]
      for (message, run) in wrong {
        let error = expectMisuse { try run() }
        #expect(error?.message.contains(message) == true, "\(String(describing: error))")
      }
      let text = sqlError { try team.forEach(["boss": "one", "least": 1.0]) { _ in .continue } }
      #expect(text?.message == "column boss_id takes INTEGER, but was given TEXT")
      try expectNothingOpen(db)
      #expect(try team.first(1, 0.0) == Worker.all[1])
    }
  }

  @Test func aPreparedQueryRunsInsideItsOwnLoop() throws {
    try withCompany { db throws in
      let all = try db.prepare(Worker.read().filter(Worker.id > Parameter("after")).orderBy(Worker.id))
      var seen: [Int] = []
      try all.forEach(["after": 0]) { outer in
        seen.append(outer.id)
        try all.forEach(["after": outer.id]) { inner in
          seen.append(outer.id * 10 + inner.id)
          return inner.id == 3 ? .stop : .continue
        }
        let next = try all.first(outer.id)
        #expect(next == Worker.all.first { $0.id > outer.id })
        // Change a row that the loop has not reached.
        try Worker.update(Worker.salary.set(to: Worker.salary)).filter(Worker.id == outer.id + 1).run(db)
        expectMisuse { try db.close() }
        return .continue
      }
      #expect(seen == [1, 12, 13, 2, 23, 3, 34, 4])
      try expectNothingOpen(db)
      try db.close()
      expectError(.closed) { _ = try all.first(1) }
      expectError(.closed) { _ = try all.first(["after": 1]) }
      expectError(.closed) { try all.forEach(["after": 1]) { _ in .continue } }
    }
  }
}
