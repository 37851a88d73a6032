import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

private protocol Unwritten: Sqlable { init() }
extension Unwritten {
  init(row: ReadRow) throws { self.init() }
  func valueForColumn(_ column: Column) -> SqlValue? { nil }
}

private struct HTTPServer: Unwritten {
  static let tableLayout = [Column("id", .integer)]
}

@Suite struct ModelDeclarationTests {
  private struct Bicycle2Shop: Unwritten {
    static let tableLayout = [Column("id", .integer)]
    struct InnerThing: Unwritten {
      static let tableLayout = [Column("id", .integer)]
    }
  }
  private struct Shelf<Content>: Unwritten {
    static var tableLayout: [Column] { [Column("id", .integer)] }
    struct BookEnd: Unwritten {
      static var tableLayout: [Column] { [Column("id", .integer)] }
    }
  }
  private struct URLOfX: Unwritten {
    static let tableLayout = [Column("id", .integer)]
  }
  private struct Größe: Unwritten {
    static let tableLayout = [Column("id", .integer)]
  }

  @Test func tablesAreNamedAfterTheirTypes() {
    struct InsideFunction: Unwritten {
      static let tableLayout = [Column("id", .integer)]
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

  private func expectContradiction<D: Declaring>(
    _ declaration: D.Type, _ message: String, sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    try withDatabase { db in
      let attempts: [() throws -> Void] = [
        { try db.createTable(Entry<D>.self) }, { _ = try Entry<D>.read().run(db) },
        { try Entry<D>().insert().run(db) }, { _ = try Entry<D>.byId(1).run(db) },
        { _ = try db.query("SELECT 1", as: Entry<D>.self) },
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

  @Test func everyUseOfAContradictoryModelThrows() throws {
    try expectContradiction(NoColumns.self, "has no columns")
    try expectContradiction(TwoOfOneName.self, "has two columns named")
    try expectContradiction(NamesOfOneCase.self, "has two columns named")
    try expectContradiction(EmptyTable.self, "has a name that is empty")
    try expectContradiction(NulTable.self, "NUL")
    try expectContradiction(EmptyColumn.self, "has a column with a name that is empty")
    try expectContradiction(NulColumn.self, "NUL")
    try expectContradiction(TwoKeys.self, "has two primary keys")
    try expectContradiction(KeyTwice.self, "has two primary keys")
    try expectContradiction(KeyOfAnother.self, "which is not in its layout")
    try expectContradiction(KeylessWithoutRowid.self, "needs a primary key")
    try expectContradiction(TwoIndexesOfOneName.self, "has two indexes named")
    try expectContradiction(TwoKeyConstraints.self, "has two primary keys")
    try expectContradiction(KeyWithAColumnTwice.self, "has a primary key with the column a twice")
    try expectContradiction(EmptyKey.self, "has a primary key without columns")
    try expectContradiction(EmptyUnique.self, "has a Unique constraint without columns")
    try expectContradiction(
      UniqueOfAnother.self, "has a Unique constraint on column other, which is not in its layout")
    try expectContradiction(IndexOfAnother.self, "on column other, which is not in its layout")
    try expectContradiction(IndexNamedAsItsTable.self, "has an index with the table's own name")
    try expectContradiction(IndexWithAReservedName.self, "has an index with the reserved name")
    try expectContradiction(TwoConstraintsOfOneName.self, "has two constraints named Rule")
    try expectContradiction(CountedText.self, "has an invalid column id: autoincrement needs a single")
    try expectContradiction(CountedDownwards.self, "has an invalid column id: autoincrement needs a single")
    try expectContradiction(CountedWithoutRowid.self, "has an invalid column id: autoincrement needs a single")
    try expectContradiction(TwoDefaults.self, "has an invalid column a: the option Default is given twice")
    try expectContradiction(MisplacedUnique.self, "has an invalid column b: the option Unique can't list columns")
    try expectContradiction(
      NullableNotNull.self, "has an invalid column a: NotNull() needs a type that is not optional")
    try expectContradiction(GeneratedDefault.self, "has an invalid column b: a generated column can't have a default")
    try expectContradiction(GeneratedKey.self, "has an invalid column b: a generated column can't be the primary key")
    try expectContradiction(GeneratedKeyColumn.self, "has a primary key on the generated column b")
    try expectContradiction(OnlyGenerated.self, "has only generated columns")
  }

  @Test func anErrorForAContradictionNamesTheModelAndTheColumn() {
    let error = expectMisuse { _ = try Entry<TwoOfOneName>.read().run(.inMemory()) }
    #expect(
      error?.message == "the model Entry<TwoOfOneName> of table declared has two columns named a")
    #expect(error?.column == "a")
  }

  @Test func everyUseOfAModelWithAnInvalidForeignKeyThrows() throws {
    try expectContradiction(ToNothingUnique.self, "has a foreign key on id to chairs.note, which is neither")
    try expectContradiction(ToHalfAKey.self, "has a foreign key on id to chairs.row, which is neither")
    try expectContradiction(
      ToTooMany.self, "has a foreign key on id to 2 columns of chairs: row, number; both sides need")
    try expectContradiction(ToAnotherModelsColumn.self, "to chairs.name, but the model Entry<Chairs>")
    try expectContradiction(ToKeyless.self, "has a foreign key on id to table keyless, which has no primary key")
    try expectContradiction(FromAnother.self, "has a foreign key on column other, which is not in its layout")
    try expectContradiction(ToItselfWrongly.self, "has a foreign key on id to declared.name, which is neither")
    try expectContradiction(ToTwoThatAreNotUnique.self, "to (row, note) of table chairs, which is neither")
  }

  @Test func foreignKeysMayReferToKeysAndUniqueColumns() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTables(Entry<Chairs>.self, Entry<Sound>.self)
      #expect(try Entry<Sound>.count().run(db) == 0)
    }
  }

  /// Models refer to one another in a ring, and several threads use them for the first time.
  @Test func threadsCheckModelsThatReferToOneAnother() throws {
    struct Ring<Number>: Unwritten {
      static var tableName: String { "ring" }
      static var tableLayout: [Column] {
        [
          Column("id", .integer, PrimaryKey()),
          Column("next", .integer, ForeignKey<Ring<[Number]?>>(column: Column("id", .integer))),
        ]
      }
    }
    struct Left: Unwritten {
      static let id = Column("id", .integer, PrimaryKey())
      static let tableLayout = [id, Column("right", .integer, ForeignKey<Right>(column: Right.code))]
    }
    struct Right: Unwritten {
      static let id = Column("id", .integer, PrimaryKey())
      static let code = Column("code", .integer, Unique())
      static let tableLayout = [id, code, Column("left", .integer, ForeignKey<Left>())]
      static let tableIndexes = [Index(code)]
    }
    onThreads(8) { number in
      let error = sqlError {
        let db = try SqliteDatabase.inMemory()
        if number.isMultiple(of: 2) {
          try db.createTables(Left.self, Right.self)
        } else {
          try db.createTables(Right.self, Left.self)
        }
        try db.createTable(Ring<Int>.self)
        #expect(try Left.count().run(db) == 0)
        #expect(try Right.count().run(db) == 0)
        #expect(try Ring<Int>.count().run(db) == 0)
      }
      #expect(error == nil, "\(String(describing: error))")
    }
  }

  @Test func genericModelsWithComputedColumnsWork() throws {
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

/// A declaration in which only the contradiction is stated.
private protocol Declaring: TableDeclaration {}
extension Declaring {
  static var name: String { "declared" }
  static var columns: [Column] { [Column("id", .integer), Column("name", .text)] }
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
private enum TwoKeyConstraints: Declaring {
  static let a = Column("a", .text)
  static let b = Column("b", .text)
  static var columns: [Column] { [a, b] }
  static var constraints: [TableConstraint] { [PrimaryKeys(a), PrimaryKeys(b)] }
}
private enum KeyWithAColumnTwice: Declaring {
  static let a = Column("a", .text)
  static var columns: [Column] { [a] }
  static var constraints: [TableConstraint] { [PrimaryKeys(a, a)] }
}
private enum EmptyKey: Declaring { static var constraints: [TableConstraint] { [PrimaryKeys()] } }
private enum EmptyUnique: Declaring { static var constraints: [TableConstraint] { [Unique()] } }
private enum UniqueOfAnother: Declaring {
  static var constraints: [TableConstraint] { [Unique(Column("other", .text))] }
}
private enum IndexOfAnother: Declaring { static var indexes: [Index] { [Index(Column("other", .text))] } }
private enum IndexNamedAsItsTable: Declaring {
  static var indexes: [Index] { [Index(Column("name", .text), name: "DECLARED")] }
}
private enum IndexWithAReservedName: Declaring {
  static var indexes: [Index] { [Index(Column("name", .text), name: "SQLite_1")] }
}
private enum TwoConstraintsOfOneName: Declaring {
  static var columns: [Column] { [Column("a", .text, Check("a <> ''", name: "rule"))] }
  static var constraints: [TableConstraint] { [Check("a <> 'b'", name: "Rule")] }
}
private enum CountedText: Declaring {
  static var columns: [Column] { [Column("id", .text, PrimaryKey(autoincrement: true))] }
}
private enum CountedDownwards: Declaring {
  static var columns: [Column] { [Column("id", .integer, PrimaryKey(autoincrement: true, descending: true))] }
}
private enum CountedWithoutRowid: Declaring {
  static var columns: [Column] { [Column("id", .integer, PrimaryKey(autoincrement: true))] }
  static var options: [TableOption] { [.withoutRowid] }
}
private enum TwoDefaults: Declaring {
  static var columns: [Column] { [Column("a", .text, Default("x"), Default("y"))] }
}
private enum MisplacedUnique: Declaring {
  static let a = Column("a", .text)
  static var columns: [Column] { [a, Column("b", .text, Unique(a))] }
}
private enum NullableNotNull: Declaring {
  static var columns: [Column] { [Column("a", .nullable(.text), NotNull(onConflict: .ignore))] }
}
private enum GeneratedDefault: Declaring {
  static var columns: [Column] { [Column("a", .text), Column("b", .text, Generated("a"), Default("x"))] }
}
private enum GeneratedKey: Declaring {
  static var columns: [Column] { [Column("a", .text), Column("b", .text, Generated("a"), PrimaryKey())] }
}
private enum GeneratedKeyColumn: Declaring {
  static let b = Column("b", .text, Generated("a"))
  static var columns: [Column] { [Column("a", .text), b] }
  static var constraints: [TableConstraint] { [PrimaryKeys(b)] }
}
private enum OnlyGenerated: Declaring { static var columns: [Column] { [Column("b", .text, Generated("1"))] } }

// MARK: Foreign keys

private enum Chairs: Declaring {
  static let (row, number) = (Column("row", .text), Column("number", .integer))
  static let code = Column("code", .text, Unique())
  static let note = Column("note", .text)
  static let (x, y) = (Column("x", .integer), Column("y", .integer))
  static var name: String { "chairs" }
  static var columns: [Column] { [row, number, code, note, x, y] }
  static var constraints: [TableConstraint] { [PrimaryKeys(row, number), Unique(note, code)] }
  static var indexes: [Index] { [Index(x, y.desc, unique: true), Index(note)] }
}
private enum Keyless: Declaring { static var name: String { "keyless" } }

private typealias ToChairs = ForeignKey<Entry<Chairs>>
private func chairs(
  _ columns: [Column], _ referred: @escaping @Sendable @autoclosure () -> [any ColumnConvertible]
) -> [TableConstraint] {
  [ForeignKeys(columns, to: Entry<Chairs>.self, referred())]
}

private enum ToNothingUnique: Declaring {
  static var columns: [Column] { [Column("id", .integer, ToChairs(column: Chairs.note))] }
}
private enum ToHalfAKey: Declaring {
  static var columns: [Column] { [Column("id", .integer, ToChairs(column: Chairs.row))] }
}
private enum ToTooMany: Declaring { static var columns: [Column] { [Column("id", .integer, ToChairs())] } }
private enum ToAnotherModelsColumn: Declaring {
  static var columns: [Column] { [Column("id", .integer, ToChairs(column: Column("name", .text)))] }
}
private enum ToKeyless: Declaring {
  static var columns: [Column] { [Column("id", .integer, ForeignKey<Entry<Keyless>>())] }
}
private enum FromAnother: Declaring {
  static var constraints: [TableConstraint] { chairs([Column("other", .text)], [Chairs.code]) }
}
private enum ToItselfWrongly: Declaring {
  static var columns: [Column] {
    [
      Column("id", .integer, ForeignKey<Entry<ToItselfWrongly>>(column: Column("name", .text))),
      Column("name", .text),
    ]
  }
}
private enum ToTwoThatAreNotUnique: Declaring {
  static let (id, other) = (Column("id", .text), Column("other", .text))
  static var columns: [Column] { [id, other] }
  static var constraints: [TableConstraint] { chairs([id, other], [Chairs.row, Chairs.note]) }
}
private enum Sound: Declaring {
  static let (a, b) = (Column("a", .text), Column("b", .integer))
  static let own = Column("own", .integer, PrimaryKey())
  static var name: String { "sound" }
  static var columns: [Column] {
    [
      a, b, own, Column("code", .text, ToChairs(column: Chairs.code)),
      Column("up", .integer, ForeignKey<Entry<Sound>>()),
    ]
  }
  static var constraints: [TableConstraint] {
    chairs([a, b], [Chairs.row, Chairs.number]) + chairs([b, a], [Chairs.number, Chairs.row])
      + chairs([a, b], [Chairs.code, Chairs.note]) + chairs([b, own], [Chairs.x, Chairs.y])
  }
}
