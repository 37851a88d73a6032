import Foundation
import Sqlable
import SqlableSealing
import Testing

/// The Swift and SQL blocks of Docs/Sealing.md; `GuidesTests` compares them with the guide.
@Suite(.timeLimit(.minutes(30))) struct SealingGuide {
  @Test func sealedColumnsStoreAndFindValues() throws {
    try withKeyFile { path in
      let keys = try KeyRing(SealingKey(id: 1, file: path))
      try patients { db in
        let patient = Patient(
          diagnosis: try Patient.diagnosis.seal("fracture", with: keys),
          insurance: try Patient.insurance.seal("A 123", with: keys))
        try patient.insert().run(db)
        let diagnosis = try Patient.diagnosis.open(patient.diagnosis, with: keys)
        #expect(diagnosis == "fracture")
        let schema = try db.query("SELECT sql FROM sqlite_schema WHERE name = 'patient'", as: String.self)
        #expect(
          schema == [
            #"CREATE TABLE "patient" ("id" INTEGER PRIMARY KEY, "diagnosis" BLOB NOT NULL, "insurance" BLOB UNIQUE)"#
          ])
        let statements = Shared<[String]>([])
        let token = db.trace { event in statements.change { $0.append(event.sql) } }
        let filter = try Patient.insurance.equals("A 123", with: keys)
        let found = try Patient.read().filter(filter).run(db)
        #expect(found.map(\.id) == [1])
        db.removeTrace(token)
        #expect(
          statements.value.first == #"SELECT "id", "diagnosis", "insurance" FROM "patient" WHERE "insurance" IN (?)"#)
      }
    }
  }

  @Test func resealReplacesTheKey() async throws {
    try await withPool { pool in
      try await pool.transaction { db in _ = try db.createTable(Patient.self) }
      let (oldKey, newKey) = (try key(1), try key(2))
      try await Patient("fracture", nil, KeyRing(oldKey)).insert().run(pool)
      let keys = try KeyRing(newKey, older: [oldKey])
      let end = try await pool.reseal(Patient.diagnosis, with: keys, rows: 1_000) { progress in
        print("\(progress.resealed) of \(progress.rows)")
      }
      #expect(end.resealed == 1)
      let place = SealedPlace(table: "patients", column: "findings")
      try await pool.reseal(Patient.diagnosis, with: keys, from: place)
    }
  }

  private func withKeyFile(_ body: (String) throws -> Void) throws {
    let path = NSTemporaryDirectory() + "sqlable-key-\(UUID().uuidString)"
    try Data(0..<32).write(to: URL(filePath: path))
    defer { try? FileManager.default.removeItem(atPath: path) }
    try body(path)
  }
}
