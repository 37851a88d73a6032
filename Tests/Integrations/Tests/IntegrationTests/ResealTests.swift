import Foundation
import Sqlable
import SqlableSealing
import Testing

private struct Visit: Sqlable {
  var ward: String
  var number: Int
  var note: Sealed<String>

  static let ward = column("ward", String.self)
  static let number = column("number", Int.self)
  static let note = column("note", Sealed<String>.self)
  static let tableLayout = [ward.column, number.column, note.column]
  static let tableConstraints: [TableConstraint] = [PrimaryKeys(ward.column, number.column)]
  static let tableOptions: [TableOption] = [.withoutRowid]

  init(ward: String, number: Int, note: Sealed<String>) { (self.ward, self.number, self.note) = (ward, number, note) }

  init(row: ReadRow) throws {
    ward = try row.get(Visit.ward)
    number = try row.get(Visit.number)
    note = try row.get(Visit.note)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Visit.ward, ward)
    row.set(Visit.number, number)
    row.set(Visit.note, note)
  }
}

/// The patients' table after it was renamed, with deterministic diagnoses.
private struct Person: Sqlable {
  var diagnosis: Sealed<String>.Deterministic

  static let diagnosis = column("diagnosis", Sealed<String>.Deterministic.self)
  static let tableLayout = [diagnosis.column]

  init(row: ReadRow) throws { diagnosis = try row.get(Person.diagnosis) }
  func write(to row: inout RowWriter) throws { row.set(Person.diagnosis, diagnosis) }
}

@Suite(.timeLimit(.minutes(30))) struct ResealTests {
  private struct Stop: Error {}

  private func insert(_ count: Int, _ keys: KeyRing, _ db: SqliteDatabase) throws {
    try Patient.insert((1...count).map { try Patient("diagnosis \($0)", $0 % 3 == 0 ? nil : "A \($0)", keys) }).run(db)
  }

  private func diagnoses(_ keys: KeyRing, _ db: SqliteDatabase) throws -> [String] {
    try Patient.read().orderBy(Patient.id).run(db).map { try Patient.diagnosis.open($0.diagnosis, with: keys) }
  }

  @Test func allValuesAreSealedByTheNewKey() throws {
    try patients { db in
      try insert(25, KeyRing(key(1)), db)
      let keys = try KeyRing(key(2), older: [key(1)])
      var steps: [ResealProgress] = []
      let commits = Shared(0)
      let token = db.trace { event in if event.sql.hasPrefix("COMMIT") { commits.change { $0 += 1 } } }
      let end = try db.reseal(Patient.diagnosis, with: keys, rows: 10) { steps.append($0) }
      db.removeTrace(token)
      #expect(steps.map(\.rows) == [10, 20, 25])
      #expect(steps.map(\.resealed) == [10, 20, 25])
      #expect(steps.map(\.isDone) == [false, false, true])
      #expect(end == steps.last)
      #expect(commits.value == 3)
      #expect(try diagnoses(KeyRing(key(2)), db) == (1...25).map { "diagnosis \($0)" })
      #expect(try db.reseal(Patient.insurance, with: keys).resealed == 17)
      let numbers = try Patient.read().orderBy(Patient.id).run(db).map {
        try Patient.insurance.open($0.insurance, with: KeyRing(key(2)))
      }
      #expect(numbers == (1...25).map { $0 % 3 == 0 ? nil : "A \($0)" })
      #expect(throws: SqlError.self) { try db.reseal(Patient.diagnosis, with: keys, rows: 0) }
    }
  }

  @Test func stoppedRotationResumes() throws {
    try patients { db in
      try insert(25, KeyRing(key(1)), db)
      let keys = try KeyRing(key(2), older: [key(1)])
      #expect(throws: Stop.self) {
        try db.reseal(Patient.diagnosis, with: keys, rows: 10) { if $0.rows == 20 { throw Stop() } }
      }
      let sealed = try Patient.read().orderBy(Patient.id).run(db).map(\.diagnosis)
      #expect(sealed.map(\.keyId) == (1...25).map { $0 <= 20 ? 2 : 1 })
      #expect(try diagnoses(keys, db) == (1...25).map { "diagnosis \($0)" })
      let end = try db.reseal(Patient.diagnosis, with: keys, rows: 10)
      #expect(end.rows == 25)
      #expect(end.resealed == 5)
      #expect(try Patient.read().orderBy(Patient.id).run(db).prefix(20).map(\.diagnosis) == Array(sealed.prefix(20)))
    }
  }

  @Test func unreadableValueEndsTheResealAndNamesItsRow() throws {
    try patients { db in
      let keys = try KeyRing(key(2), older: [key(1)])
      try insert(25, KeyRing(key(1)), db)
      var patient = try #require(try Patient.byId(15).run(db))
      var bytes = patient.diagnosis.bytes
      bytes[20] ^= 1
      patient.diagnosis = try Sealed(bytes: bytes)
      try patient.update().run(db)
      let error = sqlError { _ = try db.reseal(Patient.diagnosis, with: keys, rows: 10) }
      #expect(error?.kind == .notAuthentic)
      #expect(error?.table == "patient")
      #expect(error?.column == "diagnosis")
      #expect(error?.rowId == 15)
      let ids = try Patient.read().orderBy(Patient.id).run(db).map(\.diagnosis.keyId)
      #expect(ids == (1...25).map { $0 <= 10 ? 2 : 1 })
    }
  }

  @Test func tableWithoutRowidIsResealedInKeyOrder() throws {
    try patients { db in
      try db.createTable(Visit.self)
      let old = try KeyRing(key(1))
      for ward in ["b", "a", "c"] {
        for number in [3, -1, 2] {
          try Visit(ward: ward, number: number, note: Visit.note.seal("\(ward) \(number)", with: old)).insert().run(db)
        }
      }
      for rows in 1...4 {
        let keys = try KeyRing(key(UInt32(rows) + 1), older: [key(UInt32(rows))])
        let end = try db.reseal(Visit.note, with: keys, rows: rows)
        #expect(end.rows == 9)
        #expect(end.resealed == 9)
        for visit in try Visit.read().run(db) {
          #expect(try Visit.note.open(visit.note, with: KeyRing(keys.current)) == "\(visit.ward) \(visit.number)")
        }
      }
    }
  }

  @Test func renamedTableIsResealedForItsNewNameAndForm() throws {
    try patients { db in
      let keys = try KeyRing(key(1))
      try insert(5, keys, db)
      try db.execute("ALTER TABLE patient RENAME TO person")
      let earlier = SealedPlace(table: "patient", column: "diagnosis")
      #expect(sqlError { _ = try db.reseal(Person.diagnosis, with: keys) }?.kind == .notAuthentic)
      for resealed in [5, 0] {
        #expect(try db.reseal(Person.diagnosis, with: keys, from: earlier).resealed == resealed)
      }
      let filter = try Person.diagnosis.equals("diagnosis 3", with: keys)
      let found = try Person.read().filter(filter).run(db)
      #expect(try found.map { try Person.diagnosis.open($0.diagnosis, with: keys) } == ["diagnosis 3"])
    }
  }

  @Test func aPoolWritesBetweenItsTransactions() async throws {
    try await withPool { pool in
      let (old, keys) = try (KeyRing(key(1)), KeyRing(key(2), older: [key(1)]))
      try await pool.transaction { db in
        try db.createTable(Patient.self)
        try Patient.insert((1...30).map { try Patient("diagnosis \($0)", nil, old) }).run(db)
      }
      let steps = Shared(0)
      let end = try await pool.reseal(Patient.diagnosis, with: keys, rows: 10) { progress in
        // The new row stands at the end of the table, so the reseal reads it, too.
        if progress.rows == 10 { try Patient("late", nil, old).insert().run(pool) }
        steps.change { $0 += 1 }
      }
      #expect(end.rows == 31)
      #expect(end.resealed == 31)
      #expect(steps.value == 4)
      let sealed = try await Patient.read().run(pool)
      #expect(sealed.allSatisfy { $0.diagnosis.keyId == 2 })
    }
  }
}
