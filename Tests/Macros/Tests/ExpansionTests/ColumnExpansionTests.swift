import Testing

/// Tests of the expansion of each attribute of a property.
@Suite struct ColumnExpansionTests {
  @Test func aPropertyIsAColumnInSnakeCase() {
    expectColumn(
      "", "var ownerID: Int?", #"static let ownerID = column("owner_id", Int?.self)"#, name: "ownerID")
    expectColumn("", "let a: [String: Int]", #"static let a = column("a", [String: Int].self)"#)
  }

  @Test func literalDeterminesTheType() {
    expectColumn("", "var a = -1", #"static let a = column("a", Int.self)"#)
    expectColumn("", "var a = 0.5", #"static let a = column("a", Double.self)"#)
    expectColumn("", #"var a = "x\(1)""#, #"static let a = column("a", String.self)"#)
    expectColumn("", "var a = true", #"static let a = column("a", Bool.self)"#)
    expectColumn("", "var a = Date()", #"static let a = column("a", Date.self)"#)
  }

  @Test func optionalsAreWrittenWithAQuestionMark() {
    expectColumn("", "var a: Int!", #"static let a = column("a", Int?.self)"#)
    expectColumn("", "var a: Optional<Int>", #"static let a = column("a", Int?.self)"#)
  }

  @Test func observersDoNotMakeAPropertyComputed() {
    expectColumn("", "var a = 0 { didSet {} }", #"static let a = column("a", Int.self)"#)
  }

  @Test func aPropertyNamedRowOrAsAKeywordIsReached() {
    expectExpansion(
      """
      @Sqlable struct Model {
        var row: Int
        var `default`: Int
      }
      """,
      """
      struct Model {
        var row: Int
        var `default`: Int
      }

      extension Model: Sqlable {
        static let row = column("row", Int.self)
        static let `default` = column("default", Int.self)
        static let tableLayout = [row.column, `default`.column]

        init(row: ReadRow) throws {
          self.row = try row.get(Model.row)
          `default` = try row.get(Model.`default`)
        }

        func write(to row: inout RowWriter) throws {
          row.set(Model.row, self.row)
          row.set(Model.`default`, `default`)
        }
      }
      """)
  }

  @Test func columnHasTheArgumentsOfTheFunction() {
    expectColumn(#"@Column("A b")"#, "var a: Int", #"static let a = column("A b", Int.self)"#)
    expectColumn(
      #"@Column("x", as: .date(.iso8601), Unique(), Default(start))"#, "var a: Date",
      #"static let a: TypedColumn<Model, Date> = column("x", Date.self, as: .date(.iso8601), Unique(), Default(start))"#
    )
    expectColumn(#"@Column("x", Double.self)"#, "var a: Double?", #"static let a = column("x", Double.self)"#)
    expectColumn("@Column(Double.self)", "var a = value", #"static let a = column("a", Double.self)"#)
    expectColumn(
      "@Column(as: .text)", "var a: UUID",
      #"static let a: TypedColumn<Model, UUID> = column("a", UUID.self, as: .text)"#)
    expectColumn(
      #"@Column(Check("a > 0"), Unindexed())"#, "var a: Int",
      #"static let a: TypedColumn<Model, Int> = column("a", Int.self, Check("a > 0"), Unindexed())"#)
  }

  @Test func anIntegerKeyIsNeverNilInQueries() {
    expectColumn(
      "@PrimaryKey", "var a: Int?", #"static let a: TypedColumn<Model, Int> = column("a", Int.self, PrimaryKey())"#)
    expectColumn(
      "@PrimaryKey(autoincrement: true)", "let a: Int64?",
      #"static let a: TypedColumn<Model, Int64> = column("a", Int64.self, PrimaryKey(autoincrement: true))"#)
    expectColumn(
      "@PrimaryKey(descending: true)", "var a: UUID?",
      #"static let a: TypedColumn<Model, UUID?> = column("a", UUID?.self, PrimaryKey(descending: true))"#)
    expectColumn(
      "@Column(PrimaryKey())", "var a: Int?",
      #"static let a: TypedColumn<Model, Int> = column("a", Int.self, PrimaryKey())"#)
  }

  @Test func defaultTakesAValueOrTheInitialOne() {
    expectColumn(
      #"@Default("black")"#, "var a: String",
      #"static let a: TypedColumn<Model, String> = column("a", String.self, Default("black"))"#)
    expectColumn("@Default", "var a = 5", #"static let a: TypedColumn<Model, Int> = column("a", Int.self, Default(5))"#)
    expectColumn(
      "@Default", "var a: Rig = .sloop", #"static let a = column("a", Rig.self, Default(Rig.sloop))"#)
    expectColumn(
      "@Default(Rig.sloop)", "var a: Rig?", #"static let a = column("a", Rig?.self, Default(Rig.sloop))"#)
    expectColumn(
      "@Default(.now)", "var a: Date",
      #"static let a: TypedColumn<Model, Date> = column("a", Date.self, Default(.now))"#)
    expectColumn(
      #"@Default(sql: "hex(randomblob(8))")"#, "var a: String",
      #"static let a: TypedColumn<Model, String> = column("a", String.self, Default(sql: "hex(randomblob(8))"))"#)
  }

  @Test func attributesBecomeOptionsOfTheSameName() {
    expectColumn("@Unique", "var a: Int", #"static let a: TypedColumn<Model, Int> = column("a", Int.self, Unique())"#)
    expectColumn(
      #"@Check("a > 0") @Unique"#, "var a: Int",
      #"static let a: TypedColumn<Model, Int> = column("a", Int.self, Check("a > 0"), Unique())"#)
    expectColumn(
      #"@Check("a > 0") @Check("a < 9")"#, "var a: Int",
      #"static let a: TypedColumn<Model, Int> = column("a", Int.self, Check("a > 0"), Check("a < 9"))"#)
    expectColumn(
      #"@Check("a > 0", name: "positive") @NotNull(onConflict: .ignore)"#, "var a: Int",
      #"""
      static let a: TypedColumn<Model, Int> = column(
          "a", Int.self, Check("a > 0", name: "positive"), NotNull(onConflict: .ignore))
      """#)
    expectColumn(
      "@Collate(.nocase)", "var a: String",
      #"static let a: TypedColumn<Model, String> = column("a", String.self, Collate.nocase)"#)
    expectColumn(
      #"@Collate(.named("local"))"#, "var a: String",
      #"static let a: TypedColumn<Model, String> = column("a", String.self, Collate.named("local"))"#)
    expectColumn(
      "@Collate(german)", "var a: String",
      #"static let a: TypedColumn<Model, String> = column("a", String.self, german)"#)
    expectColumn(
      "@Unindexed", "var a: String",
      #"static let a: TypedColumn<Model, String> = column("a", String.self, Unindexed())"#)
  }

  @Test func aGeneratedColumnIsNotWritten() {
    expectColumn(
      #"@Generated("b * 2", stored: true)"#, "var a: Int?",
      #"static let a: TypedColumn<Model, Int?> = column("a", Int?.self, Generated("b * 2", stored: true))"#,
      isWritten: false)
  }

  @Test func aForeignKeyNamesAColumnByItsKeyPath() {
    expectColumn(
      "@ForeignKey<Person>", "var a: Int",
      #"static let a: TypedColumn<Model, Int> = column("a", Int.self, ForeignKey<Person>())"#)
    expectColumn(
      "@ForeignKey<Person>(onDelete: .setNull, deferred: true)", "var a: Int?",
      """
      static let a: TypedColumn<Model, Int?> = column(
          "a", Int?.self, ForeignKey<Person>(onDelete: .setNull, deferred: true))
      """)
    // The expansion states the type. Without it, Swift would infer it from the options and find the other column's.
    expectColumn(
      #"@ForeignKey<Shop.Person>(column: \.code)"#, "var a: Int",
      """
      static let a: TypedColumn<Model, Int> = \
      column("a", Int.self, ForeignKey<Shop.Person>(column: Shop.Person.code))
      """)
    expectColumn(
      #"@ForeignKey<Person>(column: \Person.code, onUpdate: .cascade)"#, "var a: Int",
      """
      static let a: TypedColumn<Model, Int> = column(
          "a", Int.self, ForeignKey<Person>(column: Person.code, onUpdate: .cascade))
      """)
  }

  @Test func indexesAndFullTextAreDeclaredOfTheTable() {
    let column = #"static let a = column("a", String.self)"#
    expectColumn("@Index", "var a: String", column, "static let tableIndexes = [Index(a)]")
    expectColumn(
      #"@Index(unique: true, name: "x", descending: true)"#, "var a: String", column,
      #"static let tableIndexes = [Index(a.desc, unique: true, name: "x")]"#)
    expectColumn(
      "@FullText(tokenizer: .porter, prefixes: [2])", "var a: String", column,
      "static let tableFullText = FullTextIndex(a, tokenizer: .porter, prefixes: [2])")
  }

  @Test func anEmbeddedStructHasItsColumnsInTheLayout() {
    expectColumn(
      "@Embedded", "var homeAddress: Address?", #"static let homeAddress = embedded("home_address", Address?.self)"#,
      name: "homeAddress", layout: ": [Column] = homeAddress.columns")
    expectColumn(
      #"@Embedded("w")"#, "var a: Address", #"static let a = embedded("w", Address.self)"#,
      layout: ": [Column] = a.columns")
  }

  @Test func aTransientPropertyHasNoColumn() {
    expectExpansion(
      """
      @Sqlable struct Model {
        var a: Int
        @Transient var isDirty = false
        @Transient var note: String?
        lazy var cached = 5
        var sum: Int { a + 1 }
        static let limit = 5
      }
      """,
      """
      struct Model {
        var a: Int
        var isDirty = false
        var note: String?
        lazy var cached = 5
        var sum: Int { a + 1 }
        static let limit = 5
      }

      extension Model: Sqlable {
        static let a = column("a", Int.self)
        static let tableLayout = [a.column]

        init(row: ReadRow) throws {
          a = try row.get(Model.a)
        }

        func write(to row: inout RowWriter) throws {
          row.set(Model.a, a)
        }
      }
      """)
  }
}
