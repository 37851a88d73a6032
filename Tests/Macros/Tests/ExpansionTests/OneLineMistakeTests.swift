import Testing

/// Tests of the fix-its in a type that is written on one line.
@Suite struct OneLineMistakeTests {
  @Test func aKeyOfTwoColumnsIsDeclared() {
    expectMistake(
      "@Sqlable struct Berth { @PrimaryKey var deck: Int; @PrimaryKey var number: Int }",
      "a table can't have two primary keys; declare a key of several columns in tableConstraints", at: "@PrimaryKey",
      [
        "declare a compound key": """
        @Sqlable struct Berth { var deck: Int; var number: Int; \
        static let tableConstraints = [PrimaryKeys(deck, number)] }
        """
      ])
    expectMistake(
      "@Sqlable public struct Berth {@PrimaryKey var deck: Int; @PrimaryKey var number: Int;}",
      "a table can't have two primary keys; declare a key of several columns in tableConstraints", at: "@PrimaryKey",
      [
        "declare a compound key": """
        @Sqlable public struct Berth {var deck: Int; var number: Int; \
        public static let tableConstraints = [PrimaryKeys(deck, number)] }
        """
      ])
  }

  @Test func anIndexMovesToTheListOfIndexes() {
    expectMistake(
      "@Sqlable struct Boat { var id: Int; @Index var a: Int; static let tableIndexes = [Index(id)] }",
      "Boat already declares tableIndexes; add Index(a) there", at: "@Index",
      [
        "move the index to tableIndexes":
          "@Sqlable struct Boat { var id: Int; var a: Int; static let tableIndexes = [Index(id), Index(a)] }"
      ])
  }

  @Test func aPropertyIsMended() {
    func expect(
      _ property: String, _ message: String, at marked: String, _ fixIt: String, _ mended: String,
      sourceLocation: Testing.SourceLocation = #_sourceLocation
    ) {
      for (before, after) in [("var b: Int; ", ""), ("", "; var b: Int")] {
        expectMistake(
          "@Sqlable struct Boat { \(before)\(property)\(after) }", message, at: marked,
          [fixIt: "@Sqlable struct Boat { \(before)\(mended)\(after) }"], sourceLocation: sourceLocation)
      }
    }
    expect(
      "@Unique @Unique var a: Int", "a has @Unique twice", at: "@Unique", "remove @Unique", "@Unique var a: Int")
    expect(
      "@Transient var a: Int",
      "@Transient a needs an initial value, because a row has no value for a", at: "a: Int",
      "give it a value", "@Transient var a: Int = <#value#>")
    expect(
      "var a = load()", "a needs a type annotation: a macro can't infer types", at: "a = load()", "state the type",
      "var a: <#type#> = load()")
    expect(
      "@Default var a: Int", "@Default needs a value, or a needs an initial value", at: "@Default",
      "give it a value", "@Default(<#value#>) var a: Int")
    expect(
      "var tableName: String", "a model already has a member tableName; rename the property", at: "tableName",
      "rename the property, not the column", "@Column(\"table_name\") var tableNameValue: String")
    expect(
      "var a: Int??", "a column has one NULL, but a has two kinds of nil; remove one of the optionals", at: "Int??",
      "remove one of the optionals", "var a: Int?")
    expect(
      "@PrimaryKey(autoincrement: true) var a: UUID?", "autoincrement needs an integer key, not UUID",
      at: "autoincrement: true", "remove autoincrement", "@PrimaryKey var a: UUID?")
  }
}
