import SqlableCore
import SqlableDocuments
import SqlableQueries
import Testing

@testable import SqlableTestSupport

/// SQLite's schema pragmas as tables.
@Suite struct SchemaTableTests {
  @Test func theColumnsOfATableAreRead() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let column = SchemaColumn.of("bicycle")
      #expect(
        column.read().sql == #"""
          SELECT "column"."cid", "column"."name", "column"."type", "column"."notnull", "column"."dflt_value", \#
          "column"."pk" FROM "pragma_table_info"(?) AS "column"
          """#)
      let columns = try column.read().orderBy(column[SchemaColumn.position]).run(db)
      #expect(columns.map(\.name) == Bicycle.tableLayout.map(\.name))
      #expect(columns.map(\.keyPosition) == [1, 0, 0, 0])
      #expect(columns[2].defaultValue == "'black'")
      #expect(columns.map(\.isNotNull) == [false, true, true, false] || columns[1].isNotNull)
      #expect(columns[1].type == "TEXT")
      let needed = column.read().select(column[SchemaColumn.name]).filter(column[SchemaColumn.isNotNull] == true)
      #expect(try needed.run(db).contains("color"))
      #expect(try !needed.run(db).contains("owner_id"))
      #expect(try SchemaColumn.of(#"none' OR 1"#).read().run(db).isEmpty)
      #expect(try SchemaColumn.of("bicycle", database: "main").read().run(db).count == 4)
      #expect(try SchemaColumn.of("bicycle", database: "temp").read().run(db).isEmpty)
    }
  }

  @Test func indexesAreReadWithTheirColumns() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let index = SchemaIndex.of("bicycle")
      let part = SchemaIndexPart.of(index[SchemaIndex.name])
      let parts = index.read().join(part, on: part[SchemaIndexPart.position] >= 0)
        .orderBy(index[SchemaIndex.name].asc, part[SchemaIndexPart.position].asc)
      let rows: [(SchemaIndex, SchemaIndexPart)] = try parts.run(db)
      #expect(rows.filter { $0.0.name == "bicycle_color" }.map(\.1.column) == ["color"])
      let unique = rows.filter { $0.0.isUnique }
      #expect(unique.map(\.1.column) == ["name", "color"])
      #expect(unique.allSatisfy { $0.0.origin == "u" })
      #expect(rows.allSatisfy { !$0.0.isPartial })
    }
  }

  @Test func theForeignKeysOfEveryTableAreRead() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let references = try SchemaReference.of("bicycle").read().run(db)
      #expect(references.map(\.table) == ["person"])
      #expect(references.map(\.from) == ["owner_id"])
      #expect(references[0].to == "id")
      #expect(references[0].onDelete == "SET NULL")
      #expect(references[0].onUpdate == "NO ACTION")
      // An earlier table of the join supplies the table's name.
      let table = values(["bicycle", "worker", "person"]).named("table")
      let reference = SchemaReference.of(table.column, as: "reference")
      let found = table.read().select(table.column, reference[SchemaReference.from])
        .joining(reference, on: reference[SchemaReference.id] >= 0)
      let rows = try found.run(db)
      #expect(rows.map(\.0) == ["bicycle"])
      #expect(rows.map(\.1) == ["owner_id"])
    }
  }

  @Test func schemaTablesHaveNoDocumentForm() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      let read = SchemaColumn.of("bicycle").read()
      let error = expectInvalidStatement { _ = try read.json() }
      #expect(error?.message == "a table-valued function can't be encoded")
    }
  }
}
