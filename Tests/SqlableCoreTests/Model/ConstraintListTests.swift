import SqlableCodable
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private protocol Numbered: Sqlable { init() }
extension Numbered {
  static var tableName: String { "t" }
  static var tableLayout: [Column] { [Column("a", .integer), Column("b", .integer)] }
  init(row: ReadRow) throws { self.init() }
  func valueForColumn(_ column: Column) -> SqlValue? { nil }
}

private let a = Column("a", .integer)
private let b = Column("b", .integer)

private struct Distinct: Numbered { static let tableConstraints = [Unique(a, b), Unique(b)] }
private struct Keyed: Numbered { static let tableConstraints = [PrimaryKeys(a, b)] }
private struct Checked: Numbered { static let tableConstraints = [Check("a < b")] }
private struct Referring: Numbered { static let tableConstraints = [ForeignKeys([a, b], to: Keyed.self, [a, b])] }
private struct Mixed: Numbered { static let tableConstraints: [TableConstraint] = [Unique(a), Check("a < b")] }
private struct Coded: SqlCodable {
  var a: Int
  static let a = column("a", Int.self)
  static let tableLayout = [a.column]
  static let tableConstraints = [Unique(a)]
}

@Suite struct ConstraintListTests {
  private func sql(_ model: any Sqlable.Type) throws -> String? {
    var sql: String?
    try withDatabase { db in
      try db.createTables([model])
      sql = try db.definition(of: model.tableName)
    }
    return sql
  }

  @Test func listOfOneKindNeedsNoType() throws {
    let columns = #"CREATE TABLE "t" ("a" INTEGER NOT NULL, "b" INTEGER NOT NULL, "#
    #expect(try sql(Distinct.self) == columns + #"UNIQUE ("a", "b"), UNIQUE ("b"))"#)
    #expect(try sql(Keyed.self) == columns + #"PRIMARY KEY ("a", "b"))"#)
    #expect(try sql(Checked.self) == columns + "CHECK (a < b))")
    #expect(try sql(Referring.self) == columns + #"FOREIGN KEY ("a", "b") REFERENCES "t" ("a", "b"))"#)
    #expect(try sql(Mixed.self) == columns + #"UNIQUE ("a"), CHECK (a < b))"#)
    #expect(try sql(Coded.self) == #"CREATE TABLE "coded" ("a" INTEGER NOT NULL, UNIQUE ("a"))"#)
  }

  @Test func genericCodeReadsTheListsWithoutAmbiguity() {
    func counts<Model: Sqlable>(_ model: Model.Type) -> [Int] {
      let constraints: [TableConstraint] = Model.tableConstraints
      return [constraints.count, Model.tableConstraints.count, Model.tableIndexes.count]
    }
    #expect(counts(Mixed.self) == [2, 2, 0])
    #expect(Distinct.tableConstraints.count == 2)
    #expect(Mixed.tableConstraints.count == 2)
    #expect((Mixed.self as any Sqlable.Type).tableIndexes.isEmpty)
  }

  private struct Indices: Numbered { static let tableIndices = [Index(a)] }
  private struct IndexList: Numbered { static let tableIndex = [Index(a)] }
  private struct SingleIndex: Numbered { static let tableIndex = Index(a) }
  private struct ConstraintList: Numbered { static let tableConstraint = [Check("a < b")] }
  private struct SingleConstraint: Numbered { static let tableConstraint = Unique(a, b) }
  private struct Option: Numbered { static let tableOption: [TableOption] = [.strict] }
  private struct Fulltext: Numbered { static let tableFulltext = FullTextIndex(a) }
  private struct IndexAmongConstraints: Numbered { static let tableConstraints = [Index(a, unique: true)] }
  private struct ConstraintAmongIndexes: Numbered { static let tableIndexes = [Unique(a)] }
  private struct OneConstraint: Numbered { static let tableConstraints = Unique(a, b) }
  private struct OneIndex: Numbered { static let tableIndexes = Index(a) }

  @Test func misnamedListsAreRefusedAtTheFirstUse() throws {
    func refusal(_ model: any Sqlable.Type) throws -> String? {
      var text: String?
      try withDatabase { db in
        let error = expectMisuse { try db.createTables([model]) }
        text = error?.message.replacing("the model \(model) of table t declares ", with: "")
      }
      return text
    }
    #expect(try refusal(Indices.self) == "tableIndices, which has no effect; rename it to tableIndexes")
    for model in [IndexList.self, SingleIndex.self] as [any Sqlable.Type] {
      #expect(try refusal(model) == "tableIndex, which has no effect; rename it to tableIndexes, a list")
    }
    for model in [ConstraintList.self, SingleConstraint.self] as [any Sqlable.Type] {
      #expect(try refusal(model) == "tableConstraint, which has no effect; rename it to tableConstraints, a list")
    }
    #expect(try refusal(Option.self) == "tableOption, which has no effect; rename it to tableOptions")
    #expect(try refusal(Fulltext.self) == "tableFulltext, which has no effect; rename it to tableFullText")
    #expect(
      try refusal(IndexAmongConstraints.self)
        == "indexes in tableConstraints, which has no effect; move them to tableIndexes")
    #expect(
      try refusal(ConstraintAmongIndexes.self)
        == "constraints in tableIndexes, which has no effect; move them to tableConstraints")
    #expect(
      try refusal(OneConstraint.self)
        == "a single constraint in tableConstraints, which has no effect; make it a list")
    #expect(try refusal(OneIndex.self) == "a single index in tableIndexes, which has no effect; make it a list")
  }
}
