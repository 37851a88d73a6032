import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Tests that replays agree with snapshots after random writes through the log of Docs/AuditLog.md, with backups in
/// between. All tables are compared, including keys and the AUTOINCREMENT counters.
///
/// `SQLABLE_SEED` selects other writes.
@Suite struct AuditLogPropertyTests {
  private static let models: [any Sqlable.Type] = [
    Person.self, Bicycle.self, Car.self, Seat.self, Note.self, AuditEntry.self,
  ]

  /// A model with an integer key without `autoincrement`, so that the keys of deleted rows are reused.
  private struct Note: SqlCodable {
    static let tableName = "note"
    static let id = column("id", Int?.self, PrimaryKey())
    static let text = column("text", String.self)
    static let tableLayout = [id.column, text.column]
    var id: Int?
    var text: String

    init(_ text: String) { self.text = text }
  }

  private struct Undone: Error {}

  /// Returns the contents of all tables, by table name.
  private func content(_ db: SqliteDatabase) throws -> [String: [[DatabaseValue]]] {
    var content: [String: [[DatabaseValue]]] = [:]
    for table in AuditLogPropertyTests.models.map({ $0.tableName }) + ["sqlite_sequence"] {
      let rows = try db.query(SQL(verbatim: "SELECT * FROM \(table) ORDER BY 1, 2"), as: DynamicRow.self)
      content[table] = rows.map(\.values)
    }
    return content
  }

  @Test func replayReproducesTheSnapshotOfAMoment() throws {
    for round in 0..<UInt64(times(10)) {
      var random = SeededGenerator(seed: SeededGenerator.seed &+ round)
      try withDirectory { directory in try play(directory, &random) }
    }
  }

  private func play(_ directory: String, _ random: inout SeededGenerator) throws {
    let db = try SqliteDatabase(filepath: directory + "/original.sqlite")
    for model in AuditLogPropertyTests.models { try db.createTable(model) }
    let clock = Mutex(0.0)
    var audited = AuditedDatabase(db)
    // The clock sometimes goes back.
    audited.now = { clock.withLock { Date(timeIntervalSince1970: $0) } }
    var backups: [String] = []
    var snapshots: [(number: Int, time: Date, content: [String: [[DatabaseValue]]])] = []
    for step in 0..<120 {
      clock.withLock { $0 += random.chance(10) ? -5 : 1 }
      try write(audited, &random)
      // The latest moment with this content.
      let time = try AuditEntry.time(.distantPast, db)
      if random.chance(20) { snapshots.append((try AuditEntry.nextNumber(db) - 1, time, try content(db))) }
      if step == 30 {
        backups.append(directory + "/vacuumed.sqlite")
        try db.execute("VACUUM INTO \(backups[0])")
        snapshots = []
      }
      if step == 60 {
        backups.append(directory + "/copied.sqlite")
        try db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        try FileManager.default.copyItem(atPath: db.filepath, toPath: backups[1])
      }
    }
    snapshots.append((.max, .distantFuture, try content(db)))
    let log = AuditLog(db: db, rules: StatementRules(models: AuditLogPropertyTests.models))
    for (index, path) in backups.enumerated() {
      let backup = try SqliteDatabase(filepath: path)
      let first = try AuditEntry.nextNumber(backup) - 1
      for snapshot in snapshots where snapshot.number >= first {
        // Several writes may have the same time; the snapshot then belongs to an earlier number.
        let isLast = try !AuditEntry.exists(AuditEntry.number > snapshot.number && AuditEntry.at == snapshot.time).run(
          db)
        let end =
          index == 0 && isLast ? AuditEntry.at > snapshot.time : AuditEntry.number > snapshot.number
        try log.replay(onto: backup, until: end)
        let (found, wanted) = (try content(backup), snapshot.content)
        for table in wanted.keys.sorted() {
          #expect(found[table] == wanted[table], "\(table), up to \(snapshot.number)")
        }
      }
      #expect(try content(backup) == content(db))
      try backup.close()
    }
    try db.close()
  }

  // MARK: Random writes

  /// Runs one transaction, which may fail or roll back, entirely or partially.
  private func write(_ audited: AuditedDatabase, _ random: inout SeededGenerator) throws {
    guard random.chance(30) else { return try ignoringConstraints { try change(audited, &random) } }
    var generator = random
    defer { random = generator }
    let fails = generator.chance(20)
    do {
      try audited.transaction { audited in
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
          guard generator.chance(30) else {
            try ignoringConstraints { try change(audited, &generator) }
            continue
          }
          let failsInside = generator.chance(50)
          try? audited.transaction { audited in
            try change(audited, &generator)
            try change(audited, &generator)
            if failsInside { throw Undone() }
          }
        }
        if fails { throw Undone() }
      }
    } catch is Undone {}
  }

  private func ignoringConstraints(_ body: () throws -> Void) throws {
    do { try body() } catch let error as SqlError {
      guard case .constraint = error.kind else { throw error }
    }
  }

  private func change(_ audited: AuditedDatabase, _ random: inout SeededGenerator) throws {
    let id = Int.random(in: 1...12, using: &random)
    let name = random.pick(["Norco", "Trek", "é\u{0}\"", "", "50%", "Kona"])
    let color = random.pick(["red", "blue", "black"])
    let owner: Int? = random.chance(50) ? Int.random(in: 1...6, using: &random) : nil
    let price = random.pick([0.1, -0.0, .infinity, 1e21, 9_007_199_254_740_992, 2])
    let bike = Bicycle(name: name, color: color, ownerId: owner)
    let known = Bicycle(id: id, name: name, color: color, ownerId: owner)
    let sold = random.chance(50) ? Date(timeIntervalSince1970: 1_234_567.890625) : nil
    let car = Car(id: nil, name: name, price: price, isElectric: random.chance(50), soldAt: sold)
    switch Int.random(in: 0..<26, using: &random) {
    case 0, 1: try bike.insert().run(audited)
    case 2: try Bicycle.insert([bike, Bicycle(name: name + "2", color: color)]).run(audited)
    case 3: try bike.insert().ignoreOnConflict().run(audited)
    case 4: try bike.insert().replaceOnConflict().run(audited)
    case 5: try bike.insert().onConflict(Bicycle.name, Bicycle.color, update: Bicycle.ownerId).run(audited)
    case 6: try known.save().run(audited)
    case 7: try known.update().run(audited)
    case 8: try known.update(Bicycle.color).run(audited)
    case 9: try known.delete().run(audited)
    case 10: try Bicycle.update(Bicycle.ownerId.set(to: owner)).filter(Bicycle.color == color).run(audited)
    case 11: try Bicycle.delete(Bicycle.name == name && Bicycle.id > 6).run(audited)
    case 12: try Bicycle.delete().orderBy(Bicycle.name, .desc).orderBy(Bicycle.id).limit(2).run(audited)
    case 13, 14: try Person(id: nil, name: name).insert().run(audited)
    case 15: try Person.delete(Person.id == owner ?? id).run(audited)
    case 16: try Person.update(Person.name.set(to: Person.name.concatenated(color))).filter(Person.id < 4).run(audited)
    case 17: try car.insert().run(audited)
    case 18: try Car.updateAll(Car.price.set(to: Car.price * 1.1)).run(audited)
    case 19: try Car.delete(Car.price > 1e20).run(audited)
    case 20:
      try Note.insert(Note.text, from: Car.select(Car.name).orderBy(Car.price).orderBy(Car.id).limit(3)).run(audited)
    case 21: try Note.delete().orderBy(Note.id.desc).limit(2).run(audited)
    case 22: try Note(name).insert().run(audited)
    case 23: try Seat(row: id % 3, letter: color, price: price).save().run(audited)
    case 24: try Seat.update(Seat.price.set(to: nil)).filter(Seat.row == id % 3).run(audited)
    default:
      try Note.update(Note.text.set(to: scalar(Car.select(Car.name.max())).ifNull("nobody")))
        .filter(Note.id < 3).run(audited)
    }
  }
}
