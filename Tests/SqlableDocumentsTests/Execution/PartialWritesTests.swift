import Foundation
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Writes of some columns of structs while another column holds a value that can't be stored.
@Suite struct PartialWritesTests {
  @Test func onlyWrittenColumnsAreConverted() throws {
    try withDatabase { db in
      try db.createTable(Sample.self)
      let broken = Sample(id: 1, part: "a", weight: .nan)
      #expect(try broken.insert(Sample.id, Sample.part).run(db) == 1)
      #expect(try Sample.insert([Sample(id: 2, part: "b", weight: .nan)], Sample.id, Sample.part).run(db) == [2])
      #expect(try Sample(id: 1, part: "c", weight: .nan).update(Sample.part).run(db) == 1)
      let returned = try Sample(id: 1, part: "d", weight: .nan).update(Sample.part).returning(Sample.part).run(db)
      #expect(returned == ["d"])
      let given = Sample(id: 7, part: "e", weight: .nan)
      #expect(try Sample.update(Sample.part, from: given).filter(Sample.id == 1).run(db) == 1)
      #expect(try Sample(id: 2, part: "b", weight: .nan).delete().run(db) == 1)
      #expect(throws: SqlError.self) { try Sample(id: 1, part: "c", weight: .nan).update().run(db) }
      #expect(throws: SqlError.self) { try Sample(id: 1, part: "c", weight: .nan).update(Sample.weight).run(db) }
      #expect(try Sample.read().run(db).map(\.part) == ["e"])
    }
  }

  @Test func aPartialWriteCanBeEncodedDespiteAnInvalidColumn() throws {
    let statement = Sample(id: 1, part: "c", weight: .nan).update(Sample.part)
    #expect(statement.sql == #"UPDATE "sample" SET "part" = ? WHERE "id" = ?"#)
    let received = try JSONDecoder().decode(Statement<Sample, Int>.self, from: JSONEncoder().encode(statement))
    #expect(received.sql == statement.sql)
    #expect(received.bindings == statement.bindings)
  }
}
