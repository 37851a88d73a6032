import Foundation
import SqlableCodable
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Blobs that a handle reads and writes in parts.
@Suite struct BlobTests {
  /// Opens a file with one photo of six bytes.
  private func withPhoto(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase { db in
      try db.createTable(Portrait.self)
      try Portrait(name: "anna", image: Data([1, 2, 3, 4, 5, 6])).insert().run(db)
      try body(db)
    }
  }

  private func image(_ db: SqliteDatabase) throws -> [UInt8]? {
    try Portrait.byId("anna").run(db)?.image.map { [UInt8]($0) }
  }

  private let photo = Portrait.byId("anna")

  @Test func partsAreReadIntoTheCallersBuffer() throws {
    try withPhoto { db in
      var buffer = [UInt8](repeating: 0, count: 3)
      let count = try db.readBlob(Portrait.image, of: photo) { blob in
        try buffer.withUnsafeMutableBytes { try blob.read(into: $0, at: 2) }
        #expect(try blob.read(0, at: 6).isEmpty)
        return blob.count
      }
      #expect(buffer == [3, 4, 5])
      #expect(count == 6)
    }
  }

  @Test func partsAreWrittenInOneTransaction() throws {
    try withPhoto { db in
      try db.writeBlob(Portrait.image, of: photo) { blob in
        try blob.write([9, 8] as [UInt8], at: 0)
        try blob.write(Data([7]), at: 5)
        #expect(try blob.read(6, at: 0) == [9, 8, 3, 4, 5, 7])
      }
      #expect(try image(db) == [9, 8, 3, 4, 5, 7])
      struct Failure: Error {}
      #expect(throws: Failure.self) {
        try db.writeBlob(Portrait.image, of: photo, size: 2) { blob in
          try blob.write([1] as [UInt8], at: 0)
          throw Failure()
        }
      }
      #expect(try image(db) == [9, 8, 3, 4, 5, 7])
    }
  }

  @Test func aSizeReplacesTheValueByZeros() throws {
    try withPhoto { db in
      try Portrait.updateAll(Portrait.image.set(to: nil)).run(db)
      try db.writeBlob(Portrait.image, of: photo, size: 4) { blob in try blob.write([5] as [UInt8], at: 2) }
      #expect(try image(db) == [0, 0, 5, 0])
      let error = sqlError { try db.writeBlob(Portrait.image, of: photo, size: -1) { _ in } }
      #expect(error?.message == "the size of a blob can't be negative")
    }
  }

  @Test func bytesOutsideOfTheBlobThrow() throws {
    try withPhoto { db in
      let message = "the bytes are outside the blob, and the size of an open blob can't change"
      try db.writeBlob(Portrait.image, of: photo) { blob in
        for offset in [-1, 5, 7, Int.max] {
          #expect(sqlError { try blob.write([1, 2] as [UInt8], at: offset) }?.message == message)
        }
      }
      #expect(try image(db) == [1, 2, 3, 4, 5, 6])
    }
  }

  @Test func aBlobOfAChangedRowThrows() throws {
    try withPhoto { db in
      for change in ["UPDATE portrait SET name = 'anna'", "DELETE FROM portrait"] {
        let error = sqlError {
          try db.writeBlob(Portrait.image, of: photo) { blob in
            try db.execute(SQL(verbatim: change))
            try blob.write([1] as [UInt8], at: 0)
          }
        }
        #expect(error?.kind == .notFound)
        #expect(error?.message == "the row was changed or deleted while its blob was open; open the blob again")
        #expect(error?.transaction == .rolledBack)
      }
      let bytes = try image(db)
      #expect(bytes == [1, 2, 3, 4, 5, 6])
    }
  }

  @Test func aBlobIsClosedAfterItsClosure() throws {
    try withPhoto { db in
      let kept = try db.readBlob(Portrait.image, of: photo) { $0 }
      let error = sqlError { _ = try kept.read(1, at: 0) }
      #expect(error?.message == "the blob is closed; use it only inside the closure that received it")
      let reading = sqlError {
        try db.readBlob(Portrait.image, of: photo) { blob in try blob.write([1] as [UInt8], at: 0) }
      }
      #expect(reading?.message == "the blob is open for reading only; use writeBlob")
    }
  }

  @Test func onlyBlobsAndTextsAreOpened() throws {
    try withPhoto { db in
      func found(_ value: String) throws -> (SqlError.Kind?, SqlError.Kind?) {
        try db.execute(SQL(verbatim: "UPDATE portrait SET image = \(value)"))
        return (
          sqlError { try db.readBlob(Portrait.image, of: photo) { _ in } }?.kind,
          sqlError { try db.writeBlob(Portrait.image, of: photo) { _ in } }?.kind
        )
      }
      for (value, type) in [("NULL", "NULL"), ("7", "INTEGER"), ("1.5", "REAL")] {
        let kinds = try found(value)
        #expect(kinds.0 == .decoding(.init(expected: "BLOB", found: type)))
        #expect(kinds.1 == .decoding(.init(expected: "BLOB", found: type)))
      }
      // A part of a text could end inside a character.
      let text = try found("'é'")
      #expect(text.0 == nil)
      #expect(text.1 == .decoding(.init(expected: "BLOB", found: "TEXT")))
      #expect(try db.readBlob(Portrait.image, of: photo) { try $0.read(2, at: 0) } == [0xC3, 0xA9])
      let missing = sqlError { try db.readBlob(Portrait.image, of: Portrait.byId("bo")) { _ in } }
      #expect(missing?.kind == .notFound)
    }
  }

  @Test func columnsThatSQLiteCantOpenThrow() throws {
    try withPhoto { db in
      let indexed = sqlError { try db.writeBlob(Portrait.hash, of: photo, size: 1) { _ in } }
      #expect(
        indexed?.message
          == "cannot open indexed column for writing as a blob; read or write the whole value with a statement")
      guard case .misuse? = indexed?.kind else {
        Issue.record("\(String(describing: indexed))")
        return
      }
      #expect(try db.readBlob(Portrait.hash, of: photo) { $0.count } == 1)
      try db.execute("CREATE TABLE stamp (name TEXT, size AS (length(image)), image BLOB, hash BLOB)")
      try db.execute("INSERT INTO stamp (name, image) VALUES ('anna', x'01')")
      try db.createTable(Entry<Card>.self)
      try Entry<Card>(1, .blob(Data([1]))).insert().run(db)
      let generated = sqlError { try db.readBlob(Portrait.image, of: photo.in("stamp")) { _ in } }
      #expect(generated?.message == "SQLite can't open a blob of table stamp, which has generated columns")
      let keyed = sqlError { try db.readBlob(Card.image, of: Entry<Card>.byId(1)) { _ in } }
      #expect(keyed?.message.hasPrefix("a blob of a view, or of a table without rowid, can't be opened") == true)
    }
  }

  /// The file's keys are not the rowids, although the model's are.
  @Test func blobOfATableThatAnotherProgramCreatedIsFoundByItsKey() throws {
    try withDatabase { db in
      try db.execute(
        """
        CREATE TABLE plate (id INT PRIMARY KEY, image BLOB);
        INSERT INTO plate VALUES (2, x'22'), (1, x'11')
        """)
      let plate = Entry<Plate>.byId(1)
      #expect(try db.readBlob(Plate.image, of: plate) { try $0.read(1, at: 0) } == [0x11])
      try db.writeBlob(Plate.image, of: plate) { blob in try blob.write([0x33] as [UInt8], at: 0) }
      let images = try db.query("SELECT image FROM plate ORDER BY id", as: Data.self)
      #expect(images == [Data([0x33]), Data([0x22])])
    }
  }

  @Test func observersGetOneUpdateAfterTheCommit() throws {
    try withPhoto { db in
      let changes = Mutex<[RowChange]>([])
      let token = db.observe(on: Portrait.self) { (change: RowChange) in changes.withLock { $0.append(change) } }
      defer { db.removeObserver(token) }
      try db.writeBlob(Portrait.image, of: photo) { blob in
        for offset in 0..<6 { try blob.write([7] as [UInt8], at: offset) }
        #expect(changes.withLock(\.self).isEmpty)
      }
      #expect(changes.withLock { $0.map(\.change) } == [.update])
      #expect(changes.withLock { $0.map(\.key) } == [[.text("anna")]])
      changes.withLock { $0 = [] }
      try db.transaction { db in
        try db.writeBlob(Portrait.image, of: photo) { try $0.write([8] as [UInt8], at: 0) }
        return .rollback
      }
      try db.readBlob(Portrait.image, of: photo) { _ in }
      #expect(changes.withLock(\.self).isEmpty)
      #expect(try image(db) == [7, 7, 7, 7, 7, 7])
    }
  }

  @Test func aTransactionInsideWriteBlobThrows() throws {
    try withPhoto { db in
      try db.transaction { db in
        try db.writeBlob(Portrait.image, of: photo) { blob in
          let error = sqlError { try db.transaction { _ in } }
          #expect(error?.message == "can't begin a transaction inside writeBlob; begin it around writeBlob")
          try blob.write([2] as [UInt8], at: 0)
        }
        try db.transaction { db in try db.writeBlob(Portrait.image, of: photo) { try $0.write([3] as [UInt8], at: 1) } }
      }
      #expect(try image(db) == [2, 3, 3, 4, 5, 6])
    }
  }

  @Test func readOnlyHandlesAndAttachedFilesHaveBlobs() throws {
    try withDirectory { directory in
      let (path, other) = (directory + "/a.db", directory + "/b.db")
      try SqliteDatabase(filepath: other).createTable(Portrait.self)
      let db = try SqliteDatabase(filepath: path, configuration: Configuration(attached: ["archive": other]))
      try db.createTable(Portrait.self)
      try Portrait(name: "anna", image: Data([1, 2])).insert().run(db)
      try Portrait(name: "anna", image: Data([9, 9])).insert().in(database: "archive").run(db)
      let archived = photo.in(database: "archive")
      try db.writeBlob(Portrait.image, of: archived) { try $0.write([5] as [UInt8], at: 0) }
      #expect(try db.readBlob(Portrait.image, of: archived) { try $0.read(2, at: 0) } == [5, 9])
      #expect(try db.readBlob(Portrait.image, of: photo) { try $0.read(2, at: 0) } == [1, 2])
      let reader = try SqliteDatabase(filepath: path, configuration: .init(isReadOnly: true))
      #expect(try reader.readBlob(Portrait.image, of: photo) { $0.count } == 2)
      let error = sqlError { try reader.writeBlob(Portrait.image, of: photo) { _ in } }
      #expect(error?.kind == .readOnly)
    }
  }
}

private enum Plate: TableDeclaration {
  static let name = "plate"
  static let image = Entry<Plate>.column("image", Data.self)
  static let columns = [Column("id", .integer, PrimaryKey()), image.column]
}

private enum Card: TableDeclaration {
  static let name = "card"
  static let image = Entry<Card>.column("image", Data.self)
  static let columns = [Column("id", .integer, PrimaryKey()), image.column]
  static let options: [TableOption] = [.withoutRowid]
}
