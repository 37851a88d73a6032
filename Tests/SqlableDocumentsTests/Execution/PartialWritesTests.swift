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
      try db.createTable(Probe.self)
      let broken = Probe(id: 1, name: "a", depth: .nan)
      #expect(try broken.insert(Probe.id, Probe.name).run(db) == 1)
      #expect(try Probe.insert([Probe(id: 2, name: "b", depth: .nan)], Probe.id, Probe.name).run(db) == [2])
      #expect(try Probe(id: 1, name: "c", depth: .nan).update(Probe.name).run(db) == 1)
      let returned = try Probe(id: 1, name: "d", depth: .nan).update(Probe.name).returning(Probe.name).run(db)
      #expect(returned == ["d"])
      let given = Probe(id: 7, name: "e", depth: .nan)
      #expect(try Probe.update(Probe.name, from: given).filter(Probe.id == 1).run(db) == 1)
      #expect(try Probe(id: 2, name: "b", depth: .nan).delete().run(db) == 1)
      #expect(throws: SqlError.self) { try Probe(id: 1, name: "c", depth: .nan).update().run(db) }
      #expect(throws: SqlError.self) { try Probe(id: 1, name: "c", depth: .nan).update(Probe.depth).run(db) }
      #expect(try Probe.read().run(db).map(\.name) == ["e"])
    }
  }

  @Test func aPartialWriteCanBeEncodedDespiteAnInvalidColumn() throws {
    let statement = Probe(id: 1, name: "c", depth: .nan).update(Probe.name)
    #expect(statement.sql == #"UPDATE "probe" SET "name" = ? WHERE "id" = ?"#)
    let received = try JSONDecoder().decode(Statement<Probe, Int>.self, from: JSONEncoder().encode(statement))
    #expect(received.sql == statement.sql)
    #expect(received.bindings == statement.bindings)
  }
}

private struct Probe: Sqlable {
  var id: Int
  var name: String
  var depth: Double?

  static let tableName = "probe"
  static let id = column("id", Int.self, PrimaryKey())
  static let name = column("name", String.self)
  static let depth = column("depth", Double?.self)
  static let tableLayout = [id.column, name.column, depth.column]

  init(id: Int, name: String, depth: Double?) { (self.id, self.name, self.depth) = (id, name, depth) }

  init(row: ReadRow) throws {
    (id, name, depth) = (try row.get(Probe.id), try row.get(Probe.name), try row.get(Probe.depth))
  }

  func write(to row: inout RowWriter) throws {
    row.set(Probe.id, id)
    row.set(Probe.name, name)
    row.set(Probe.depth, depth)
  }
}
