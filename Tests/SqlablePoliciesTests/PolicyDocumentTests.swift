import Foundation
import SqlableCore
import SqlableDocuments
import SqlablePolicies
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Policies as JSON.
@Suite struct PolicyDocumentTests {
  private let models: [any Sqlable.Type] = [Person.self, Bicycle.self, Car.self]

  private func policy(_ text: String, _ parameters: [String: DatabaseValue] = [:]) throws -> StatementPolicy {
    try StatementPolicy(json: Data(text.utf8), models: models, with: parameters)
  }

  private func error(_ text: String, _ parameters: [String: DatabaseValue] = [:]) -> SqlError? {
    sqlError { _ = try policy(text, parameters) }
  }

  @Test func aPolicyIsWrittenAndReadBack() throws {
    var limits = StatementPolicy.Limits()
    limits.rows = 7
    limits.nodes = 20
    let policy = StatementPolicy(
      .table(Bicycle.self).reading(Bicycle.id, Bicycle.name).filtering(Bicycle.color, by: .equality, .pattern)
        .sorting(Bicycle.name).setting(Bicycle.color)
        .rows(where: Bicycle.ownerId == 7 && exists(Person.read().filter(Person.id == Bicycle.ownerId))),
      .table(Person.self).readingAll(), kinds: [.read, .update], features: [.joins, .dates],
      functions: ["lower", "abs"], registered: ["shout"], limits: limits)
    let json = try policy.json()
    #expect(
      String(decoding: json, as: UTF8.self) == """
        {"policy":{\
        "features":["dates","joins"],\
        "functions":["abs","lower"],\
        "kinds":["read","update"],\
        "limits":{"nodes":20,"rows":7},\
        "registered":["shout"],\
        "tables":{"bicycle":{\
        "filter":{"color":["equality","pattern"]},\
        "read":["id","name"],\
        "rows":{"and":[{"=":[{"column":"owner_id"},7]},\
        {"exists":{"from":"person",\
        "where":{"=":[{"column":"id","of":"person"},{"column":"owner_id","of":"bicycle"}]}}}]},\
        "set":["color"],\
        "sort":["name"]},\
        "person":{"read":true}}},\
        "sqlable":1}
        """)
    let same = try StatementPolicy(json: json, models: models)
    #expect(try same.json() == json)
    #expect(same.kinds == policy.kinds)
    #expect(same.features == policy.features)
    #expect(same.limits == policy.limits)
    #expect(same.functions == policy.functions)
    #expect(same.registered == policy.registered)
    let document = Data(
      #"{"read":{"from":"bicycle","select":[{"column":"name"}],"where":{"=":[{"column":"color"},"red"]}},"sqlable":1}"#
        .utf8)
    let statement = try same.statement(json: document)
    #expect(try statement == policy.statement(json: document))
    #expect(try statement.sql == policy.statement(json: document).sql)
    #expect(statement.sql.contains(#""owner_id" = ? AND EXISTS (SELECT"#))
  }

  @Test func permissionsThatAPolicyOmitsAreDenied() throws {
    let policy = try policy(#"{"policy":{"tables":{"bicycle":{"read":["id"]}}},"sqlable":1}"#)
    #expect(policy.kinds == StatementKind.reads)
    #expect(policy.features == [])
    #expect(policy.limits == StatementPolicy.Limits())
    for (body, isAllowed) in [
      (#""read":{"from":"bicycle","select":[{"column":"id"}]}"#, true),
      (#""read":{"from":"bicycle"}"#, false), (#""read":{"from":"person","select":[{"column":"id"}]}"#, false),
      (#""delete":{"all":true,"from":"bicycle"}"#, false),
    ] {
      let error = sqlError { _ = try policy.statement(json: Data("{\(body),\"sqlable\":1}".utf8)) }
      #expect((error == nil) == isAllowed, "\(body)")
    }
    #expect(String(decoding: try StatementPolicy().json(), as: UTF8.self) == #"{"policy":{},"sqlable":1}"#)
  }

  @Test func aConditionsParameterTakesTheValueOfTheRequest() throws {
    let text = """
      {"policy":{"tables":{"bicycle":{"read":true,"rows":{"or":[\
      {"=":[{"column":"owner_id"},{"parameter":"tenant"}]},\
      {"in":[{"column":"name"},["shared"]]}]}}}},"sqlable":1}
      """
    try withDatabase { db in
      try db.createTables(Person.self, Bicycle.self)
      try Person.insert([Person(id: 1, name: "Anna"), Person(id: 2, name: "Bo")]).run(db)
      try Bicycle.insert([
        Bicycle(name: "Norco", color: "red", ownerId: 1), Bicycle(name: "Trek", color: "red", ownerId: 2),
        Bicycle(name: "shared", color: "red"),
      ]).run(db)
      let visible: [(Int64, [String])] = [
        (1, ["Norco", "shared"]),
        (2, ["Trek", "shared"]),
        (3, ["shared"]),
      ]
      for (tenant, names) in visible {
        let policy = try policy(text, ["tenant": .integer(tenant), "unused": .text("x")])
        let bikes = try policy.statement(
          Statement<Bicycle, [Bicycle]>.self, json: Data(#"{"read":{"from":"bicycle"},"sqlable":1}"#.utf8))
        #expect(try bikes.run(db).map(\.name) == names)
      }
      let none = try policy(text, ["tenant": .null])
      #expect(try none.statement(json: Bicycle.count().json()).run(db) == .number(1))
    }
    let missing = error(text, ["Tenant": .integer(1)])
    #expect(missing?.message == "parameter tenant of the policy has no value")
    #expect(missing?.documentPath == "policy.tables.bicycle.rows")
    #expect(error(text, ["tenant": .text("seven")])?.kind == .encoding(.init(expected: "INTEGER", found: "TEXT")))
  }

  @Test func invalidPoliciesAreRefusedWithTheirPath() {
    for (text, path, message) in [
      ("[]", nil, "a policy must be an object"),
      (#"{"policy":{}}"#, nil, #"a policy must be an object with the keys "policy" and "sqlable""#),
      (#"{"sqlable":1}"#, nil, #"a policy must be an object with the keys "policy" and "sqlable""#),
      (
        #"{"policy":{},"sqlable":2}"#, "sqlable",
        "the policy has an unknown version; this library reads versions 1 to 1"
      ),
      (#"{"policy":{"table":{}},"sqlable":1}"#, "policy.table", "a policy has an unknown key"),
      (
        #"{"policy":{"tables":{"bike":{}}},"sqlable":1}"#, "policy.tables.bike",
        "unknown table; add the table's model to the rules of the decoder"
      ),
      (
        #"{"policy":{"tables":{"bicycle":{"read":["colour"]}}},"sqlable":1}"#, "policy.tables.bicycle.read[0]",
        "table bicycle has no column colour"
      ),
      (
        #"{"policy":{"tables":{"bicycle":{"read":false}}},"sqlable":1}"#, "policy.tables.bicycle.read",
        "the columns must be a list"
      ),
      (
        #"{"policy":{"tables":{"bicycle":{"filter":{"color":["="]}}}},"sqlable":1}"#,
        "policy.tables.bicycle.filter.color[0]",
        "unknown name in the operators; known names: comparison, equality, pattern"
      ),
      (
        #"{"policy":{"tables":{"bicycle":{"rows":{"=":[{"column":"color"},3]}}}},"sqlable":1}"#,
        "policy.tables.bicycle.rows.=", "expected TEXT, found INTEGER"
      ),
      (
        #"{"policy":{"kinds":["read","drop"]},"sqlable":1}"#, "policy.kinds[1]",
        "unknown name in the kinds; known names: count, delete, deleteAll, exists, first, insert, read, save, "
          + "update, updateAll"
      ),
      (
        #"{"policy":{"features":["join"]},"sqlable":1}"#, "policy.features[0]",
        "unknown name in the features; known names: aggregates, arithmetic, compounds, dates, distinct, "
          + "excerpts, fullText, joins, json, literalRows, namedQueries, parameters, regularExpressions, "
          + "subqueries, windows"
      ),
      (
        #"{"policy":{"functions":["load_extension"]},"sqlable":1}"#, "policy.functions[0]",
        "unknown name in the functions"
      ),
      (#"{"policy":{"limits":{"rows":-1}},"sqlable":1}"#, "policy.limits.rows", "a limit can't be negative"),
      (#"{"policy":{"limits":{"rows":"none"}},"sqlable":1}"#, "policy.limits.rows", "a limit must be an integer"),
      (#"{"policy":{"limits":{"row":1}},"sqlable":1}"#, "policy.limits.row", "unknown limit"),
    ] as [(String, String?, String)] {
      let error = error(text)
      #expect(error?.message == message, "\(text): \(String(describing: error))")
      #expect(error?.documentPath == path, "\(text): \(String(describing: error))")
    }
  }

  /// A new limit needs a name in policies and a line in the guide.
  @Test func everyLimitHasANameAndStandsInTheGuide() throws {
    let guide = try Repository.text(of: "Docs/Policies.md")
    for child in Mirror(reflecting: StatementPolicy.Limits()).children {
      let label = try #require(child.label)
      let name = label == "time" ? "milliseconds" : label
      let json = #"{"policy":{"limits":{"\#(name)":3}},"sqlable":1}"#
      let error = sqlError { _ = try StatementPolicy(json: Data(json.utf8), models: []) }
      #expect(error == nil, "NamedLimit.all lacks \(label)")
      #expect(guide.contains("`\(name)`"), "Docs/Policies.md lacks \(name)")
    }
  }

  @Test func limitsOfRunsAreRemovedByTheWordNone() throws {
    var limits = StatementPolicy.Limits()
    (limits.time, limits.steps, limits.scannedRows) = (.milliseconds(1_500), nil, nil)
    let json = try StatementPolicy(limits: limits).json()
    #expect(
      String(decoding: json, as: UTF8.self)
        == #"{"policy":{"limits":{"milliseconds":1500,"scannedRows":"none","steps":"none"}},"sqlable":1}"#)
    #expect(try StatementPolicy(json: json, models: []).limits == limits)
    limits.time = .microseconds(1)
    expectMisuse { _ = try StatementPolicy(limits: limits).json() }
  }

  @Test func anInvalidPolicyIsNotEncoded() {
    expectMisuse { _ = try StatementPolicy(.table(Bicycle.self).reading(Car.name)).json() }
    expectMisuse { _ = try StatementPolicy(.table(Bicycle.self), .table(Bicycle.self)).json() }
  }
}
