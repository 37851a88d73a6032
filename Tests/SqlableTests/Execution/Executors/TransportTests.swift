import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// Statements over a transport: their results equal those of a handle.
@Suite(.enabled(if: TestProgram.isAvailable, "the tests are no program of their own"))
struct TransportTests {
  /// Calls `body` with a transport to a database in another process, and with a handle on a database of the same
  /// content.
  private func withTwins(_ body: (PipeTransport, SqliteDatabase) async throws -> Void) async throws {
    try await withDirectoryAsync { directory in
      let paths = ["here", "there"].map { "\(directory)/\($0).sqlite" }
      for path in paths {
        let db = try SqliteDatabase(filepath: path)
        try db.createTables(Person.self, Bicycle.self, Car.self, Seat.self)
        try db.close()
      }
      let transport = try PipeTransport(paths[1])
      let here = try SqliteDatabase(filepath: paths[0])
      try await body(transport, here)
      #expect(await transport.end())
      try here.close()
    }
  }

  /// The request has fewer values than `?`. A transport that numbers the values would bind one to the wrong `?`.
  @Test func aStatementWithAParameterIsNotSent() async throws {
    try await withTwins { there, _ in
      let named = Bicycle.read().filter(Bicycle.color == Parameter("color") && Bicycle.name == "x")
      #expect(try named.requests().map(\.values) == [[.text("x")]])
      do {
        _ = try await named.run(there)
        Issue.record("it was sent")
      } catch let error as SqlError {
        #expect(error.message.hasPrefix("parameter color has no value; use binding(_:)"))
      }
    }
  }

  /// JSON carries only values that SQLite reads back unchanged.
  @Test func aLongListIsSentAsOneValueOrAsMany() throws {
    func request(_ filter: SqlExpression) throws -> SqlRequest { try Bicycle.count().filter(filter).requests()[0] }
    let start = #"SELECT count(*) FROM "bicycle" WHERE "bicycle"."name" IN ("#
    let texts = try request(Bicycle.name.in((1...40).map { "é\"\($0)" }))
    #expect(texts.sql == start + "SELECT value FROM json_each(?))")
    #expect(texts.values == [.text("[" + (1...40).map { "\"é\\\"\($0)\"" }.joined(separator: ",") + "]")])
    let ids = try request(Bicycle.id.in(Array(1...33)))
    #expect(ids.values == [.text("[" + (1...33).map { "\($0)" }.joined(separator: ",") + "]")])
    let withNul = try request(Bicycle.name.in((1...40).map { "\0\($0)" }))
    #expect(withNul.sql == start + Array(repeating: "?", count: 40).joined(separator: ", ") + ")")
    let reals = try Car.count().filter(Car.price.in((1...40).map { Double($0) / 3 })).requests()[0]
    #expect(reals.values.count == 40)
  }

  /// A remote SQLite may read an unknown name in double quotes as a text.
  @Test func aColumnIsSentWithItsTable() throws {
    func sql(_ work: some Runnable) throws -> String { try work.requests()[0].sql }
    let bike = Bicycle(id: 7, name: "Trek", color: "red")
    let (red, owner) = (Bicycle.color == "red", Bicycle.ownerId)
    let all = #""bicycle"."id", "bicycle"."name", "bicycle"."color", "bicycle"."owner_id""#
    #expect(try sql(Bicycle.read()) == #"SELECT \#(all) FROM "bicycle""#)
    #expect(
      try sql(Bicycle.read().filter(red).orderBy(owner).limit(1))
        == #"SELECT \#(all) FROM "bicycle" WHERE "bicycle"."color" = ? ORDER BY "bicycle"."owner_id" LIMIT ?"#)
    #expect(
      try sql(Bicycle.updateAll(Bicycle.name.set(to: Bicycle.color)).returning())
        == #"UPDATE "bicycle" SET "name" = "bicycle"."color" RETURNING \#(all)"#)
    #expect(try sql(Bicycle.delete().filter(red)) == #"DELETE FROM "bicycle" WHERE "bicycle"."color" = ?"#)
    #expect(
      try sql(bike.update())
        == #"UPDATE "bicycle" SET "name" = ?, "color" = ? WHERE "bicycle"."id" = ?"#)
    #expect(try sql(bike.insert()) == bike.insert().sql)
  }

  @Test func statementsOverATransportMatchAHandle() async throws {
    try await withTwins { there, here in
      try await TransportTwins(there: there, here: here, text: "é\0ñ").compareStatements()
    }
  }

  @Test func queriesOverATransportMatchAHandle() async throws {
    try await withTwins { there, here in
      try await TransportTwins(there: there, here: here, text: "é\0ñ").compareQueries()
    }
  }

  @Test func includedRowsOverATransportMatchAHandle() async throws {
    try await withTwins { there, here in
      try await TransportTwins(there: there, here: here, text: "é\0ñ").compareChildren()
    }
  }

  @Test func collectedResultsOverATransportMatchAHandle() async throws {
    try await withTwins { there, here in
      try await TransportTwins(there: there, here: here, text: "é\0ñ").compareResults()
    }
  }

  @Test func aFailedBatchOverATransportStoresNothing() async throws {
    try await withTwins { there, here in
      let bikes = ["a", "b", "a"].map { Bicycle(name: $0, color: "red") }
      let error = await #expect(throws: SqlError.self) { try await Bicycle.insert(bikes).run(there) }
      #expect(error?.message.contains("UNIQUE") == true)
      let calls = await there.calls
      let count = try await Bicycle.count().run(there)
      #expect(count == 0)
      #expect(calls == 1)
    }
  }

  @Test func aDecodingErrorNamesTheSentSQL() async throws {
    try await withTwins { there, here in
      try await there.execute("INSERT INTO car (name, price, is_electric) VALUES ('x', 1, 7)")
      let error = await #expect(throws: SqlError.self) { try await Car.read().run(there) }
      let sent = try Car.read().requests()[0].sql
      #expect(error?.sql == sent)
      #expect(error?.column == "is_electric")
      guard case .decoding = error?.kind else {
        Issue.record("\(String(describing: error))")
        return
      }
    }
  }
}
