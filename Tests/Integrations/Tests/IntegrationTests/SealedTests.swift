import Foundation
import Sqlable
import SqlablePolicies
import SqlableSealing
import Testing

struct Patient: Sqlable, Equatable {
  var id: Int?
  var diagnosis: Sealed<String>
  var insurance: Sealed<String>.Deterministic?

  static let id = column("id", Int?.self, PrimaryKey())
  static let diagnosis = column("diagnosis", Sealed<String>.self)
  static let insurance = column("insurance", Sealed<String>.Deterministic?.self, Unique())
  static let tableLayout = [id.column, diagnosis.column, insurance.column]

  init(diagnosis: Sealed<String>, insurance: Sealed<String>.Deterministic? = nil) {
    (self.diagnosis, self.insurance) = (diagnosis, insurance)
  }

  init(_ diagnosis: String, _ insurance: String? = nil, _ keys: KeyRing) throws {
    self.diagnosis = try Patient.diagnosis.seal(diagnosis, with: keys)
    self.insurance = try Patient.insurance.seal(insurance, with: keys)
  }

  init(row: ReadRow) throws {
    id = try row.get(Patient.id)
    diagnosis = try row.get(Patient.diagnosis)
    insurance = try row.get(Patient.insurance)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Patient.id, id)
    row.set(Patient.diagnosis, diagnosis)
    row.set(Patient.insurance, insurance)
  }
}

/// A model whose columns have sealed values of many types; its table is never created.
private struct Cells: Sqlable {
  static let text = column("text", Sealed<String>.self)
  static let other = column("other", Sealed<String>.self)
  static let integer = column("integer", Sealed<Int64>.self)
  static let real = column("real", Sealed<Double>.self)
  static let bytes = column("bytes", Sealed<Data>.Deterministic.self)
  static let date = column("date", Sealed<Date>.self)
  static let uuid = column("uuid", Sealed<UUID>.Deterministic.self)
  static let decimal = column("decimal", Sealed<Decimal>.self)
  static let json = column("json", Sealed<JSON>.self)
  static let list = column("list", Sealed<[String]>.self)
  static let hidden = column("hidden", Sealed<Bool?>.self)
  static let equal = column("equal", Sealed<String>.Deterministic.self)
  static let equalToo = column("equal_too", Sealed<String>.Deterministic.self)
  static let tableLayout = [text.column]

  init(row: ReadRow) throws {}
  func write(to row: inout RowWriter) throws {}
}

/// A table with the same columns under another name.
private struct OtherCells: Sqlable {
  static let text = column("text", Sealed<String>.self)
  static let tableLayout = [text.column]

  init(row: ReadRow) throws {}
  func write(to row: inout RowWriter) throws {}
}

/// A `Codable` model with a sealed column.
private struct Note: SqlCodable, Equatable {
  var id: Int?
  var text: Sealed<String>

  static let id = column("id", Int?.self, PrimaryKey())
  static let text = column("text", Sealed<String>.self)
  static let tableLayout = [id.column, text.column]
}

/// Returns a key whose bytes count up from `first`, by default from the key's number.
func key(_ id: UInt32, _ first: UInt8? = nil) throws -> SealingKey {
  try SealingKey(id: id, bytes: (0..<32).map { (first ?? UInt8(id)) &+ $0 })
}

func patients(_ body: (SqliteDatabase) throws -> Void) throws {
  let directory = NSTemporaryDirectory() + "sqlable-sealed-\(UUID().uuidString)"
  try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(atPath: directory) }
  let db = try SqliteDatabase(filepath: directory + "/patients.sqlite")
  try db.createTable(Patient.self)
  try body(db)
  try db.close()
}

func sqlError(_ body: () throws -> Void) -> SqlError? {
  do { try body() } catch { return error as? SqlError }
  return nil
}

extension SqlError {
  fileprivate var isOfDecoding: Bool { if case .decoding = kind { true } else { false } }
}

@Suite(.timeLimit(.minutes(30))) struct SealedTests {
  private func keeps<Form: SealedValue>(
    _ column: TypedColumn<Cells, Form>, _ values: [Form.Content], _ keys: KeyRing
  ) throws where Form.Content: Equatable {
    for value in values {
      let sealed = try column.seal(value, with: keys)
      #expect(try column.open(sealed, with: keys) == value)
      #expect(try column.open(Form(databaseValue: sealed.databaseValue), with: keys) == value)
      #expect(try column.open(JSONDecoder().decode(Form.self, from: JSONEncoder().encode(sealed)), with: keys) == value)
    }
  }

  @Test func openedValuesEqualTheSealedValues() throws {
    let keys = try KeyRing(key(7))
    let texts = (0..<50).map { _ in
      let scalars = (0..<Int.random(in: 0...40)).compactMap { _ in Unicode.Scalar(UInt32.random(in: 0..<0xD800)) }
      return String(String.UnicodeScalarView(scalars))
    }
    try keeps(Cells.text, texts + [""], keys)
    try keeps(Cells.equal, texts, keys)
    try keeps(Cells.list, [texts, []], keys)
    try keeps(Cells.integer, (0..<50).map { _ in .random(in: .min ... .max) } + [.min, .max, 0, -1], keys)
    let reals = (0..<50).map { _ in Double(bitPattern: .random(in: 0 ... .max)) }.filter { !$0.isNaN }
    try keeps(Cells.real, reals + [0, .infinity, -.leastNonzeroMagnitude], keys)
    try keeps(Cells.bytes, (0..<50).map { Data((0..<$0).map { _ in .random(in: 0 ... .max) }) }, keys)
    try keeps(Cells.date, (0..<50).map { _ in Date(timeIntervalSince1970: .random(in: -1e9...1e9)) }, keys)
    try keeps(Cells.uuid, (0..<10).map { _ in UUID() }, keys)
    try keeps(Cells.decimal, reals.prefix(20).map { Decimal(Int64($0.exponent)) / 1_000 }, keys)
    try keeps(Cells.json, [["a": [1, 2.5, nil]], nil], keys)
    try keeps(Cells.hidden, [nil, true, false], keys)
    #expect(sqlError { _ = try Cells.real.seal(.nan, with: keys) }?.column == "real")
  }

  @Test func changeOfAnyBitIsDetected() throws {
    let keys = try KeyRing(key(1), older: [key(2), key(3)])
    func check<Form: SealedValue>(_ column: TypedColumn<Cells, Form>, _ sealed: Form) throws
    where Form.Content == String {
      for bit in 0..<sealed.bytes.count * 8 {
        var bytes = sealed.bytes
        bytes[bit / 8] ^= 1 << (bit % 8)
        let error = sqlError { _ = try column.open(Form(bytes: bytes), with: keys) }
        switch error?.kind {
        case .notAuthentic?,
          .wrongKey? where (8..<40).contains(bit), .decoding? where bit < 8:
          break
        default: Issue.record("bit \(bit): \(String(describing: error))")
        }
      }
      for count in 0..<sealed.bytes.count {
        #expect(throws: SqlError.self) { try column.open(Form(bytes: sealed.bytes.prefix(count)), with: keys) }
      }
      #expect(throws: SqlError.self) { try column.open(Form(bytes: sealed.bytes + [0]), with: keys) }
    }
    try check(Cells.text, Cells.text.seal("broken leg", with: keys))
    try check(Cells.equal, Cells.equal.seal("broken leg", with: keys))
  }

  @Test func valueOpensOnlyInItsColumn() throws {
    let keys = try KeyRing(key(1))
    let sealed = try Cells.text.seal("broken leg", with: keys)
    let errors = [
      sqlError { _ = try Cells.other.open(sealed, with: keys) },
      sqlError { _ = try OtherCells.text.open(sealed, with: keys) },
      sqlError { _ = try Cells.equalToo.open(Cells.equal.seal("broken leg", with: keys), with: keys) },
    ]
    for error in errors { #expect(error?.kind == .notAuthentic) }
    #expect(errors.map { $0?.column } == ["other", "text", "equal_too"])
    #expect(errors.map { $0?.table } == [Cells.tableName, OtherCells.tableName, Cells.tableName])
  }

  @Test func onlyDeterministicColumnsSealEqualValuesEqually() throws {
    let keys = try KeyRing(key(1), older: [key(2)])
    #expect(try Cells.text.seal("a", with: keys) != Cells.text.seal("a", with: keys))
    let sealed = try Cells.equal.seal("a", with: keys)
    #expect(try sealed == Cells.equal.seal("a", with: keys))
    #expect(try sealed != Cells.equal.seal("b", with: keys))
    // The two columns share no sealed bytes.
    let other = try Cells.equalToo.seal("a", with: keys)
    #expect(sealed.bytes[5..<17] != other.bytes[5..<17])
    #expect(sealed.bytes[17...] != other.bytes[17...])
    #expect(try Cells.equal.sealings(of: "a", with: keys).map(\.keyId) == [1, 2])
    #expect(try Cells.equal.sealings(of: "a", with: keys).first == sealed)
  }

  @Test func errorsNameTheColumnAndNoValue() throws {
    let sealed = try Cells.text.seal("broken leg", with: KeyRing(key(1)))
    let missing = sqlError { _ = try Cells.text.open(sealed, with: KeyRing(key(2))) }
    #expect(missing?.kind == .wrongKey)
    #expect(missing?.message.contains("key 1") == true)
    let wrong = sqlError { _ = try Cells.text.open(sealed, with: KeyRing(key(1, 99))) }
    #expect(wrong?.kind == .notAuthentic)
    for error in [missing, wrong] {
      #expect(error?.table == Cells.tableName)
      #expect(error?.column == "text")
      #expect(error?.description.contains("leg") == false)
    }
    // An authentic value may have another type.
    let keys = try KeyRing(key(1))
    let integer = try Sealed<Int64>(bytes: Cells.text.seal("broken leg", with: keys).bytes)
    let place = CellsOfIntegers.text
    let misfit = sqlError { _ = try place.open(integer, with: keys) }
    #expect(misfit?.isOfDecoding == true)
    #expect(misfit?.column == "text")
    #expect(misfit?.description.contains("leg") == false)
  }

  @Test func descriptionsContainNoKeys() throws {
    let secret = try SealingKey(id: 3, bytes: [UInt8](repeating: 171, count: 32))
    let keys = try KeyRing(secret, older: [key(9), key(2)])
    let sealed = try Cells.text.seal("broken leg", with: keys)
    var dumped = ""
    dump(secret, to: &dumped)
    dump(keys, to: &dumped)
    dump(sealed, to: &dumped)
    for text in ["\(secret)", "\(keys)", String(reflecting: keys), "\(sealed)", dumped] {
      #expect(!text.contains("171"), "\(text)")
      #expect(!text.lowercased().contains("abab"), "\(text)")
      #expect(!text.contains("leg"), "\(text)")
    }
    #expect("\(secret), \(keys), \(sealed)" == "key 3, keys 3, 2, 9, sealed by key 3")
  }

  @Test func keysOfWrongSizeOrDuplicateNumberAreRefused() throws {
    for count in [0, 16, 31, 33] {
      #expect(sqlError { _ = try SealingKey(id: 1, bytes: [UInt8](repeating: 1, count: count)) } != nil)
    }
    #expect(sqlError { _ = try KeyRing(key(1), older: [key(2), key(1, 5)]) }?.message.contains("number 1") == true)
    let path = NSTemporaryDirectory() + "sqlable-key-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: path) }
    try Data((0..<32).map { 1 &+ $0 }).write(to: URL(filePath: path))
    let sealed = try Cells.text.seal("a", with: KeyRing(key(1)))
    #expect(try Cells.text.open(sealed, with: KeyRing(SealingKey(id: 1, file: path))) == "a")
    try Data(0..<33).write(to: URL(filePath: path))
    #expect(sqlError { _ = try SealingKey(id: 1, file: path) }?.message.contains("32 bytes") == true)
    #expect(sqlError { _ = try SealingKey(id: 1, file: path + ".none") }?.kind == .cannotOpen)
  }

  @Test func filtersAndUniqueFindDeterministicValues() throws {
    try patients { db in
      let (old, keys) = try (KeyRing(key(1)), KeyRing(key(2), older: [key(1)]))
      try Patient.insert([Patient("leg", "A 1", old), Patient("arm", "A 2", keys), Patient("toe", nil, keys)]).run(db)
      func found(_ filter: SqlExpression) throws -> [String] {
        try Patient.read().filter(filter).orderBy(Patient.id).run(db).map {
          try Patient.diagnosis.open($0.diagnosis, with: keys)
        }
      }
      #expect(try found(Patient.insurance.equals("A 1", with: keys)) == ["leg"])
      #expect(try found(Patient.insurance.equals("A 2", with: keys)) == ["arm"])
      #expect(try found(!Patient.insurance.equals("A 2", with: keys)) == ["leg"])
      #expect(try found(Patient.insurance == Patient.insurance.seal("A 2", with: keys)) == ["arm"])
      #expect(try found(Patient.insurance == nil) == ["toe"])
      let error = sqlError { try Patient("leg", "A 2", keys).insert().run(db) }
      #expect(error?.kind == .constraint(.unique))
      #expect(try Patient.insurance.open(Patient.byId(3).run(db)?.insurance ?? nil, with: keys) == nil)
    }
  }

  @Test func fileContainsNoPlainValueAndItsFormIsChecked() throws {
    try patients { db in
      let keys = try KeyRing(key(1))
      try Patient("compound fracture", "A 123456", keys).insert().run(db)
      try db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
      let file = try Data(contentsOf: URL(filePath: db.filepath))
      for text in ["compound", "A 123456"] { #expect(file.range(of: Data(text.utf8)) == nil) }
      try db.execute("UPDATE patient SET diagnosis = x'01020304'")
      let error = sqlError { _ = try Patient.read().run(db) }
      #expect(error?.isOfDecoding == true)
      #expect(error?.table == "patient")
      #expect(error?.column == "diagnosis")
      #expect(error?.rowId == 1)
    }
  }

  @Test func aCodableModelHasSealedColumns() throws {
    try patients { db in
      let keys = try KeyRing(key(1))
      try db.createTable(Note.self)
      let note = Note(id: 1, text: try Note.text.seal("fracture", with: keys))
      try note.insert().run(db)
      #expect(try Note.read().run(db) == [note])
      #expect(try db.query("SELECT typeof(text) FROM note", as: String.self) == ["blob"])
      let text = try JSONEncoder().encode(note)
      #expect(try Note.text.open(JSONDecoder().decode(Note.self, from: text).text, with: keys) == "fracture")
    }
  }

  @Test func statementsAsDataAndTracesContainOnlySealedBytes() throws {
    try patients { db in
      let keys = try KeyRing(key(1))
      try Patient("fracture", "A 123", keys).insert().run(db)
      let search = try Patient.read().filter(Patient.insurance.equals("A 123", with: keys))
      let document = try search.json()
      #expect(document.range(of: Data("A 123".utf8)) == nil)
      let values = Shared<[String]>([])
      let token = db.trace(TraceOptions(values: [.of(Patient.self, Patient.insurance)])) { event in
        values.change { $0 += event.values.map { "\($0)" } }
      }
      let same = try Statement<Patient, [Patient]>(json: document)
      #expect(try same.run(db).count == 1)
      db.removeTrace(token)
      #expect(values.value.count == 1)
      #expect(!values.value.contains { $0.contains("A 123") })
      let policy = StatementPolicy(
        .table(Patient.self).reading(Patient.id).filtering(Patient.insurance, by: .equality).sorting(Patient.id))
      let allowed = try Patient.select(Patient.id).filter(Patient.insurance.equals("A 123", with: keys))
      #expect(try policy.statement(Select<Int?>.self, json: allowed.json()).limited(by: policy).run(db) == [1])
    }
  }
}

/// A column with the same place as `Cells.text` and another type.
private struct CellsOfIntegers: Sqlable {
  static let tableName = Cells.tableName
  static let text = column("text", Sealed<Int64>.self)
  static let tableLayout = [text.column]

  init(row: ReadRow) throws {}
  func write(to row: inout RowWriter) throws {}
}
