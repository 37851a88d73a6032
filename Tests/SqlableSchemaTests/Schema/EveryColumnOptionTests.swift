import SqlableSchema
import Testing

@testable import SqlableCore
@testable import SqlableTestSupport

/// Tests that no column option is forgotten: in the SQL of tables, in full-text tables, or in views.
@Suite struct EveryColumnOptionTests {
  private enum Optioned: TableDeclaration {
    static let columns = [
      Column("id", .integer, PrimaryKey(autoincrement: true)),
      Column(
        "name", .text, NotNull(name: "here"), Unique(), Default("red"), Collate.nocase, Check("name <> ''"),
        DeclaredType("VARCHAR(9)")),
      Column("owner_id", .integer, ForeignKey<Person>()),
      Column("size", .nullable(.integer), Generated("length(name)")),
    ]
  }

  /// Each property of ``ColumnOptions`` with an option that sets the property, a part of the SQL of `Optioned`, and
  /// whether columns of full-text tables and of views can have the option.
  private static let options: [String: (option: any ColumnOption, sql: String, inFullText: Bool, inView: Bool)] = [
    "primaryKey": (PrimaryKey(), "PRIMARY KEY AUTOINCREMENT", true, true),
    "isRowId": (RowId(), "", true, true),
    "notNull": (NotNull(), #"CONSTRAINT "here" NOT NULL"#, false, false),
    "unique": (Unique(), " UNIQUE", false, false),
    "defaultValue": (Default("red"), " DEFAULT 'red'", false, false),
    "collation": (Collate.nocase, " COLLATE NOCASE", false, false),
    "checks": (Check("1"), " CHECK (name <> '')", false, false),
    "generated": (Generated("1"), " GENERATED ALWAYS AS (length(name))", false, false),
    "foreignKeys": (ForeignKey<Person>(), #" REFERENCES "person""#, false, false),
    "isUnindexed": (Unindexed(), "", true, false),
    "declaredType": (DeclaredType("VARCHAR(9)"), #""name" VARCHAR(9)"#, true, false),
  ]

  @Test func everyOptionIsWrittenAndHasItsPlaces() {
    let labels = Mirror(reflecting: ColumnOptions()).children.compactMap(\.label)
    #expect(Set(labels).subtracting(["defect"]) == Set(EveryColumnOptionTests.options.keys))
    let sql = Entry<Optioned>.createTable().sql
    for (label, expected) in EveryColumnOptionTests.options {
      let options = Column("c", .text, expected.option).definition.options
      #expect(expected.sql.isEmpty || sql.contains(expected.sql), "\(label): \(sql)")
      #expect(options.standInFullText == expected.inFullText, "\(label)")
      #expect(options.standInView == expected.inView, "\(label)")
    }
  }
}
