import Sqlable
import Testing

private protocol Unwritten: Sqlable {}
extension Unwritten {
  func valueForColumn(_ column: Column) -> SqlValue? { nil }
}

private struct HTTPServer: Unwritten {
  static let tableLayout = [Column("id", .integer)]
  init(row: ReadRow) throws {}
}

@Suite struct ModelDeclarationTests {
  private struct Bicycle2Shop: Unwritten {
    static let tableLayout = [Column("id", .integer)]
    init(row: ReadRow) throws {}
    struct InnerThing: Unwritten {
      static let tableLayout = [Column("id", .integer)]
      init(row: ReadRow) throws {}
    }
  }
  private struct Shelf<Content>: Unwritten {
    static var tableLayout: [Column] { [Column("id", .integer)] }
    init(row: ReadRow) throws {}
    struct BookEnd: Unwritten {
      static var tableLayout: [Column] { [Column("id", .integer)] }
      init(row: ReadRow) throws {}
    }
  }
  private struct URLOfX: Unwritten {
    static let tableLayout = [Column("id", .integer)]
    init(row: ReadRow) throws {}
  }
  private struct Größe: Unwritten {
    static let tableLayout = [Column("id", .integer)]
    init(row: ReadRow) throws {}
  }

  @Test func tablesAreNamedAfterTheirTypes() {
    struct InsideFunction: Unwritten {
      static let tableLayout = [Column("id", .integer)]
      init(row: ReadRow) throws {}
    }
    #expect(HTTPServer.tableName == "http_server")
    #expect(Bicycle2Shop.tableName == "bicycle2_shop")
    #expect(Bicycle2Shop.InnerThing.tableName == "inner_thing")
    #expect(Shelf<[Int: String]>.tableName == "shelf")
    #expect(Shelf<Int>.BookEnd.tableName == "book_end")
    #expect(URLOfX.tableName == "url_of_x")
    #expect(Größe.tableName == "größe")
    #expect(InsideFunction.tableName == "inside_function")
  }

  /// A model whose declaration is what its parameter says.
  private struct Declared<Declaration: Declaring>: Unwritten {
    static var tableName: String { Declaration.name }
    static var tableLayout: [Column] { Declaration.columns }
    static var tableConstraints: [TableConstraint] { Declaration.constraints }
    static var tableIndexes: [Index] { Declaration.indexes }
    static var tableOptions: [TableOption] { Declaration.options }
    init() {}
    init(row: ReadRow) throws {}
  }

  private func expectContradiction<D: Declaring>(
    _ declaration: D.Type, _ message: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try withDatabase { db in
      let attempts: [() throws -> Void] = [
        { try db.createTable(Declared<D>.self) }, { _ = try Declared<D>.read().run(db) },
        { try Declared<D>().insert().run(db) }, { _ = try Declared<D>.byId(1).run(db) },
        { _ = try db.query("SELECT 1", as: Declared<D>.self) },
      ]
      for attempt in attempts {
        let error = expectMisuse(sourceLocation: sourceLocation, attempt)
        #expect(error?.message.contains(message) == true, sourceLocation: sourceLocation)
        #expect(error?.table == D.name, sourceLocation: sourceLocation)
      }
      let count = try db.query("SELECT count(*) FROM sqlite_schema", as: Int.self)
      #expect(count == [0], sourceLocation: sourceLocation)
    }
  }

  @Test func contradictionsAreThrownByEveryUse() throws {
    try expectContradiction(NoColumns.self, "has no columns")
    try expectContradiction(TwoOfOneName.self, "has two columns with the same name")
    try expectContradiction(NamesOfOneCase.self, "has two columns with the same name")
    try expectContradiction(EmptyTable.self, "has an empty name")
    try expectContradiction(NulTable.self, "NUL")
    try expectContradiction(EmptyColumn.self, "has a column with an empty name")
    try expectContradiction(NulColumn.self, "NUL")
    try expectContradiction(TwoKeys.self, "has two primary keys")
    try expectContradiction(KeyTwice.self, "has two primary keys")
    try expectContradiction(KeyOfAnother.self, "that is not in its layout")
    try expectContradiction(KeylessWithoutRowid.self, "needs a primary key")
    try expectContradiction(TwoIndexesOfOneName.self, "has two indexes with the same name")
  }

  @Test func genericModelsWithComputedColumnsWorkThroughout() throws {
    try withDatabase { db in
      typealias Row = Stored<[String: Int], TextForm>
      try db.createTable(Row.self)
      let id = try Row(["a": 1]).insert().run(db)
      #expect(try Row.byId(id).run(db)?.value == ["a": 1])
      #expect(try Row.count().filter(Row.value == ["a": 1] && Row.id == id).run(db) == 1)
      #expect(try Row(["b": 2], id: id).update(Row.value).run(db) == 1)
      #expect(try Row(["c": 3], id: id).insert().onConflict(Row.id, update: Row.value).run(db) == id)
      #expect(try Row.read().orderBy(Row.value, .desc).run(db).map(\.value) == [["c": 3]])
      #expect(try Row(["c": 3], id: id).delete().run(db) == 1)
    }
  }
}

private protocol Declaring: Sendable {
  static var name: String { get }
  static var columns: [Column] { get }
  static var constraints: [TableConstraint] { get }
  static var indexes: [Index] { get }
  static var options: [TableOption] { get }
}

extension Declaring {
  static var name: String { "declared" }
  static var columns: [Column] { [Column("id", .integer), Column("name", .text)] }
  static var constraints: [TableConstraint] { [] }
  static var indexes: [Index] { [] }
  static var options: [TableOption] { [] }
}

private enum NoColumns: Declaring { static var columns: [Column] { [] } }
private enum TwoOfOneName: Declaring { static var columns: [Column] { [Column("a", .text), Column("a", .integer)] } }
private enum NamesOfOneCase: Declaring { static var columns: [Column] { [Column("a", .text), Column("A", .text)] } }
private enum EmptyTable: Declaring { static var name: String { "" } }
private enum NulTable: Declaring { static var name: String { "a\0b" } }
private enum EmptyColumn: Declaring { static var columns: [Column] { [Column("", .text)] } }
private enum NulColumn: Declaring { static var columns: [Column] { [Column("a\0b", .text)] } }
private enum TwoKeys: Declaring {
  static var columns: [Column] { [Column("a", .text, PrimaryKey()), Column("b", .text, PrimaryKey())] }
}
private enum KeyTwice: Declaring {
  static let a = Column("a", .text, PrimaryKey())
  static var columns: [Column] { [a] }
  static var constraints: [TableConstraint] { [PrimaryKeys(a)] }
}
private enum KeyOfAnother: Declaring {
  static var constraints: [TableConstraint] { [PrimaryKeys(Column("other", .text))] }
}
private enum KeylessWithoutRowid: Declaring { static var options: [TableOption] { [.withoutRowid] } }
private enum TwoIndexesOfOneName: Declaring {
  static let a = Column("a", .text)
  static var columns: [Column] { [a] }
  static var indexes: [Index] { [Index(a), Index(a, unique: true)] }
}
