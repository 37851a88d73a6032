import Foundation
import SqlableCore
import SqlableDocuments
import SqlablePolicies
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Manifests of approved statements, which a client runs with its values.
@Suite struct StatementManifestTests {
  private func manifest() throws -> StatementManifest {
    var manifest = StatementManifest(rules: StatementRules(models: [Account.self, Payment.self]))
    try manifest.approve(
      Account.select(Account.id, Account.name).filter(
        Account.tenant == Parameter("tenant") && Account.name >= Parameter("from")
      ).orderBy(Account.name), as: "names")
    try manifest.approve(Account.count(), as: "count")
    try manifest.approve(
      Account.update(Account.color.set(to: Parameter("color"))).filter(Account.id == Parameter("id")), as: "paint")
    return manifest
  }

  private func data(_ body: String) -> Data { Data(#"{"sqlable":1,\#(body)}"#.utf8) }

  private func error(_ body: String, with own: [String: DatabaseValue] = [:]) -> SqlError? {
    sqlError { _ = try manifest().statement(json: data(body), with: own) }
  }

  @Test func anApprovedStatementRunsWithTheValuesOfTheRequest() throws {
    try withDatabase { db in
      try db.createTable(Account.self)
      try Account.insert([
        Account(id: 1, tenant: 1, name: "Anna", owed: 0), Account(id: 2, tenant: 1, name: "Bo", owed: 0),
        Account(id: 3, tenant: 2, name: "Cid", owed: 0),
      ]).run(db)
      let manifest = try manifest()
      let names = try manifest.statement(
        json: data(#""run":"names","with":{"from":"B' OR 1"}"#), with: ["tenant": .integer(1)])
      #expect(
        names.sql == #"SELECT "id", "name" FROM "account" WHERE "tenant" = ? AND "name" >= ? ORDER BY "name""#)
      guard case .rows(let rows) = try names.run(db) else { throw CancellationError() }
      #expect(rows.map(\.values) == [[.integer(2), .text("Bo")]])
      #expect(try manifest.statement(json: data(#""run":"count""#)).run(db) == .number(3))
      let paint = try manifest.statement(json: data(#""run":"paint","with":{"id":3,"color":{"null":true}}"#))
      #expect(try paint.run(db) == .number(1))
      #expect(paint.kind == .update)
    }
  }

  @Test func aRequestCanNameAStatementByTheHashOfItsDocument() throws {
    let manifest = try manifest()
    // echo -n '{"count":{"from":"account"},"sqlable":1}' | sha256sum
    let hash = "66c9c2e336627d2bb04a6a3e24b5da11951bad8722d35dd9bad0af87d15f6764"
    #expect(manifest.sha256(of: "count") == hash)
    #expect(manifest.sha256(of: "none") == nil)
    #expect(try manifest.statement(json: data(#""run":{"sha256":"\#(hash)"}"#)).kind == .count)
    #expect(
      error(#""run":{"sha256":"\#(hash.dropLast())0"}"#)?.message
        == "the manifest has no statement with the name or hash of the request")
  }

  @Test func aDocumentHasTheSameHashUnderEveryName() throws {
    var manifest = try manifest()
    try manifest.approve(Account.count(), as: "number")
    let hash = try #require(manifest.sha256(of: "number"))
    #expect(manifest.sha256(of: "count") == hash)
    #expect(try manifest.statement(json: data(#""run":{"sha256":"\#(hash)"}"#)).kind == .count)
  }

  @Test func unapprovedRequestsAreRefused() {
    for (body, message, path) in [
      (#""run":"none""#, "the manifest has no statement with the name or hash of the request", nil),
      (#""run":"cou\u0000nt""#, "the manifest has no statement with the name or hash of the request", nil),
      (#""count":{"from":"account"}"#, "a request has an unknown key", "count"),
      (
        #""run":{"count":{"from":"account"}}"#,
        #"the value of "run" must be a name, or an object with the key "sha256""#, "run"
      ),
      (#""with":{}"#, #"a request needs the key "run""#, nil),
      (#""run":"paint","with":{"id":1}"#, "the request does not set a parameter of the statement", "with.color"),
      (
        #""run":"paint","with":{"id":1,"color":"red","owed":2}"#,
        "the request sets a parameter that the statement does not have", "with.owed"
      ),
      (
        #""run":"paint","with":{"id":{"column":"id"},"color":"red"}"#, "expected a value, found a term", "with.id"
      ),
    ] as [(String, String, String?)] {
      let found = error(body)
      #expect(found?.message == message, "\(body): \(found?.documentPath ?? "")")
      #expect(found?.documentPath == path, "\(body): \(found?.documentPath ?? "")")
    }
    #expect(error(#""run":"paint","with":{"id":"1","color":"red"}"#)?.documentPath == "with")
    // A request can't give the values that the program gives.
    let own = ["tenant": DatabaseValue.integer(1)]
    #expect(error(#""run":"names","with":{"from":"a","tenant":2}"#, with: own)?.documentPath == "with.tenant")
    #expect(error(#""run":"names","with":{"from":"a"}"#)?.documentPath == "with.tenant")
    let large = String(repeating: "a", count: 70_000)
    #expect(error(#""run":"names","with":{"from":"\#(large)"}"#, with: own)?.message.contains("65536 bytes") == true)
    #expect(
      sqlError { _ = try manifest().statement(json: Data(#"{"sqlable":2,"run":"count"}"#.utf8)) }?.message
        == #"a request needs its version: "sqlable": 1"#)
  }

  @Test func aStatementIsApprovedOnceAndWithinTheRules() throws {
    var manifest = try manifest()
    #expect(sqlError { try manifest.approve(Payment.count(), as: "count") }?.message.contains("named count") == true)
    var reads = StatementManifest(rules: StatementRules(kinds: StatementKind.reads, models: [Account.self]))
    expectInvalidStatement { try reads.approve(Account.deleteAll(), as: "clear") }
    expectInvalidStatement { try reads.approve(Payment.count(), as: "payments") }
    expectInvalidStatement { try reads.approve(json: data(#""count":{"from":"secrets"}"#), as: "secrets") }
    #expect(reads.sha256(of: "clear") == nil)
  }

  private let hostileStrings = [
    "' OR 1=1 --", "\" OR \"\"=\"", "'; DROP TABLE account; --", "?1", ":id", "{\"column\":\"owed\"}", "$.a", "\0",
    "/*", "",
  ]

  @Test func hostileNamesAndValuesNeverChangeTheSQL() throws {
    let manifest = try manifest()
    let expected = try manifest.statement(json: data(#""run":"paint","with":{"id":1,"color":"x"}"#)).sql
    for text in hostileStrings {
      let value = String(decoding: try JSONEncoder().encode(text), as: UTF8.self)
      let statement = try manifest.statement(json: data(#""run":"paint","with":{"id":1,"color":\#(value)}"#))
      #expect(statement.sql == expected)
      expectInvalidStatement { _ = try manifest.statement(json: data(#""run":\#(value)"#)) }
      expectInvalidStatement { _ = try manifest.statement(json: data(#""run":"count","with":{\#(value):1}"#)) }
    }
  }
}
