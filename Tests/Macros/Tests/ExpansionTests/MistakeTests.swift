import Testing

/// Tests of the message and fix-its for each mistake in a property.
@Suite struct MistakeTests {
  /// The source of a model with one property.
  private func model(_ property: String, _ macro: String = "Sqlable") -> String {
    "@\(macro) struct Model {\n  // The first.\n  \(property)\n}"
  }

  private func expect(
    _ property: String, _ message: String, at marked: String, _ fixed: (String, String)...,
    macro: String = "Sqlable", sourceLocation: Testing.SourceLocation = #_sourceLocation
  ) {
    let pairs = fixed.map { ($0.0, model($0.1, macro)) }
    switch pairs.count {
    case 0: expectMistake(model(property, macro), message, at: marked, sourceLocation: sourceLocation)
    case 1:
      expectMistake(
        model(property, macro), message, at: marked, [pairs[0].0: pairs[0].1], sourceLocation: sourceLocation)
    default:
      expectMistake(
        model(property, macro), message, at: marked, [pairs[0].0: pairs[0].1, pairs[1].0: pairs[1].1],
        sourceLocation: sourceLocation)
    }
  }

  @Test func aTypeThatCannotBeFoundHasToBeStated() {
    expect(
      "var a = load()", "a needs a type annotation: a macro can't infer types", at: "a = load()",
      ("state the type", "var a: <#type#> = load()"))
    expect(
      "var a = Rig.sloop", "a needs a type annotation: a macro can't infer types", at: "a = Rig.sloop",
      ("state the type Rig", "var a: Rig = Rig.sloop"))
    expect(
      "var a = URL(filePath: x)", "a needs a type annotation: a macro can't infer types",
      at: "a = URL(filePath: x)", ("state the type URL", "var a: URL = URL(filePath: x)"))
  }

  @Test func aConstantWithAValueCannotBeRead() {
    expect(
      "let a = 5", "a is a let with an initial value, so init(row:) can't set a", at: "a = 5",
      ("make it a var", "var a = 5"),
      ("mark the property @Transient", "@Transient let a = 5"))
  }

  @Test func onlyAStoredPropertyHasAttributes() {
    expect(
      "var a = 0\n  @Unique static var b = 5", "a static property is not stored, so @Unique has no effect",
      at: "@Unique",
      ("remove @Unique", "var a = 0\n  static var b = 5"))
    expect(
      "var a = 0\n  @Index var b: Int { a }", "a computed property is not stored, so @Index has no effect",
      at: "@Index",
      ("remove @Index", "var a = 0\n  var b: Int { a }"))
    expect(
      "var a = 0\n  @Column(\"x\") lazy var b = 5", "a lazy property is not stored, so @Column has no effect",
      at: "@Column(\"x\")", ("remove @Column", "var a = 0\n  lazy var b = 5"))
  }

  @Test func anAttributeIsGivenOnce() {
    expect(
      "@Unique @Index @Unique var a: Int", "a has @Unique twice", at: "@Unique",
      ("remove @Unique", "@Unique @Index var a: Int"))
  }

  @Test func aTransientPropertyNeedsAValueAndNothingElse() {
    expect(
      "var b = 0\n  @Transient var a: Int",
      "@Transient a needs an initial value, because a row has no value for a",
      at: "a: Int", ("give it a value", "var b = 0\n  @Transient var a: Int = <#value#>"))
    expect(
      "var b = 0\n  @Transient let a: Int?",
      "@Transient a needs an initial value, because a row has no value for a",
      at: "a: Int?", ("give it a value", "var b = 0\n  @Transient let a: Int? = <#value#>"))
    expect(
      "var b = 0\n  @Transient @Index var a = 5", "a is @Transient, so @Index has no effect", at: "@Index",
      ("remove @Index", "var b = 0\n  @Transient var a = 5"))
  }

  @Test func aPropertyCannotHaveTheNameOfAMember() {
    expect(
      "var tableName: String", "a model already has a member tableName; rename the property",
      at: "tableName",
      ("rename the property, not the column", "@Column(\"table_name\") var tableNameValue: String"))
    expect(
      "@Column(\"x\") var column: Int",
      "a model already has a member column; rename the property",
      at: "column")
    expect(
      "var fields: String",
      "a model already has a member fields; rename the property", at: "fields",
      ("rename the property, not the column", "@Column(\"fields\") var fieldsValue: String"), macro: "SqlEmbedded")
  }

  @Test func anEmbeddedStructHasNoOptions() {
    expect(
      "@Embedded @Default(5) var a: Address",
      "a is an embedded struct with several columns; write @Default at a property inside that struct",
      at: "@Default(5)",
      ("remove @Default", "@Embedded var a: Address"))
    expect(
      "var b = 0\n  @Embedded var a: Address",
      "an embedded struct can't have an @Embedded property; declare each column as a property", at: "@Embedded",
      ("remove @Embedded", "var b = 0\n  var a: Address"), macro: "SqlEmbedded")
    expect(
      "@PrimaryKey var a: Int", "@PrimaryKey needs a table; an embedded struct has no table",
      at: "@PrimaryKey", ("remove @PrimaryKey", "var a: Int"), macro: "SqlEmbedded")
    expect(
      "@Index var a: Int", "@Index needs a table; an embedded struct has no table", at: "@Index",
      ("remove @Index", "var a: Int"), macro: "SqlEmbedded")
  }

  @Test func noColumnStoresATuple() {
    for (type, marked) in [
      ("(Int, Int)", "(Int, Int)"), ("Void", "Void"), ("[(x: Int, y: Int)]", "(x: Int, y: Int)"),
      ("Set<(Int, Int)>", "(Int, Int)"), ("((Int, Int))", "(Int, Int)"),
    ] {
      expect(
        "var a: \(type)",
        "a column can't store a tuple; declare a struct that conforms to SqlJSON, or mark a @Transient", at: marked)
    }
    expect("var a = 0\n  var (b, c) = (1, 2)", "each property of a model needs a separate declaration", at: "(b, c)")
  }

  @Test func noColumnStoresAFunctionOrMetatype() {
    for (type, marked) in [
      ("() -> Void", "() -> Void"), ("@Sendable (Int) -> Int", "(Int) -> Int"),
      ("[String: () -> Void]", "() -> Void"),
    ] {
      expect("var a: \(type)", "a column can't store a function; mark a @Transient", at: marked)
    }
    expect(
      "var a: (() -> Void)?", "a column can't store a function; mark a @Transient", at: "() -> Void",
      ("mark the property @Transient", "@Transient var a: (() -> Void)?"))
    for type in ["Int.Type", "any Shape.Type", "AnyClass"] {
      let message =
        type.hasPrefix("any")
        ? "a column can't store values of different types; give a a concrete type, or mark a @Transient"
        : "a column can't store a metatype; mark a @Transient"
      expect("var a: \(type)", message, at: type)
    }
  }

  @Test func noColumnStoresValuesOfSeveralTypes() {
    for (type, marked) in [
      ("Any", "Any"), ("AnyObject", "AnyObject"), ("any Shape", "any Shape"), ("[String: Any]", "Any"),
      ("Array<any Shape>", "any Shape"), ("Shape & Sendable", "Shape & Sendable"),
      ("Dictionary<String, [Any]>", "Any"),
    ] {
      expect(
        "var a: \(type)",
        "a column can't store values of different types; give a a concrete type, or mark a @Transient",
        at: marked)
    }
    expect(
      "var a: (any Shape)?",
      "a column can't store values of different types; give a a concrete type, or mark a @Transient",
      at: "any Shape", ("mark the property @Transient", "@Transient var a: (any Shape)?"))
  }

  @Test func aColumnHasOneNull() {
    for (type, fixed) in [
      ("Int??", "Int?"), ("Optional<Int?>", "Int?"), ("(Int?)?", "Int?"), ("Int?!", "Int?"),
      ("Optional<Optional<Int>>", "Optional<Int>"),
    ] {
      expect(
        "var a: \(type)", "a column has one NULL, but a has two kinds of nil; remove one of the optionals", at: type,
        ("remove one of the optionals", "var a: \(fixed)"))
    }
  }

  @Test func manuallyDeclaredColumnsHaveNoAttributes() {
    expect(
      "@Unique var a: Int\n  static let a = column(\"a\", Int.self)",
      "Model already declares the column a, so @Unique has no effect", at: "@Unique",
      ("remove @Unique", "var a: Int\n  static let a = column(\"a\", Int.self)"))
    expect(
      "@FullText var a: String\n  static let tableFullText = FullTextIndex(b)",
      "Model already declares tableFullText; add a there", at: "@FullText")
  }

  @Test func anIndexMovesToTheListOfIndexes() {
    for (list, longer) in [
      ("[Index(b)]", "[Index(b), Index(a)]"), ("[]", "[Index(a)]"), ("[Index(b),]", "[Index(b), Index(a),]"),
      ("[\n    Index(b),\n    Index(c)\n  ]", "[\n    Index(b),\n    Index(c),\n    Index(a)\n  ]"),
      ("[\n    Index(b),\n  ]", "[\n    Index(b),\n    Index(a),\n  ]"),
    ] {
      expect(
        "@Index var a: Int\n  static let tableIndexes = \(list)",
        "Model already declares tableIndexes; add Index(a) there", at: "@Index",
        ("move the index to tableIndexes", "var a: Int\n  static let tableIndexes = \(longer)"))
    }
    expect(
      """
      @Index(unique: true, name: "x") var a: Int
        @Unique @Index(unique: true, name: "x", descending: true) var b: Int
        static let tableIndexes: [Index] = [Index(a)]
      """, "Model already declares tableIndexes; add Index(a, b.desc, unique: true, name: \"x\") there",
      at: "@Index(unique: true, name: \"x\")",
      (
        "move the index to tableIndexes",
        """
        var a: Int
          @Unique var b: Int
          static let tableIndexes: [Index] = [Index(a), Index(a, b.desc, unique: true, name: "x")]
        """
      ))
    expect(
      "@Index var a: Int\n  static var tableIndexes: [Index] { indexes }",
      "Model already declares tableIndexes; add Index(a) there", at: "@Index")
  }

  @Test func attributesOfOneIndexAgreeInUnique() {
    expect(
      "@Index(name: \"x\") var a: Int\n  @Index(unique: true, name: \"x\") var b: Int",
      "a and b declare one index, but differ in unique; write the same value in both",
      at: "@Index(unique: true, name: \"x\")")
    expect(
      "@Index(name: \"x\") @Index(unique: true, name: \"x\") var a: Int", "a has @Index twice",
      at: "@Index(unique: true, name: \"x\")", ("remove @Index", "@Index(name: \"x\") var a: Int"))
  }

  @Test func onlyAnAscendingIntegerKeyHasAutoincrement() {
    expect(
      "@PrimaryKey(autoincrement: true) var a: UUID?", "autoincrement needs an integer key, not UUID",
      at: "autoincrement: true", ("remove autoincrement", "@PrimaryKey var a: UUID?"))
    expect(
      "@PrimaryKey(autoincrement: true, descending: true) var a: Int?",
      "a key with autoincrement can't be descending", at: "autoincrement: true,",
      ("remove autoincrement", "@PrimaryKey(descending: true) var a: Int?"))
  }

  @Test func aGeneratedColumnHasNoDefaultAndIsNoKey() {
    expect(
      "@Generated(\"1\") @Default(5) var a: Int",
      "a can't have both @Generated and @Default: SQLite computes the value",
      at: "@Default(5)", ("remove @Default", "@Generated(\"1\") var a: Int"))
    expect(
      "@PrimaryKey @Generated(\"1\") var a: Int",
      "a can't have both @Generated and @PrimaryKey: SQLite computes the value",
      at: "@PrimaryKey", ("remove @PrimaryKey", "@Generated(\"1\") var a: Int"))
  }

  @Test func aDefaultNeedsAValue() {
    expect(
      "@Default var a: Int", "@Default needs a value, or a needs an initial value", at: "@Default",
      ("give it a value", "@Default(<#value#>) var a: Int"))
  }

  @Test func aBareDefaultIsAConstant() {
    for (declaration, value) in [
      ("at: Date = Date()", "Date()"), ("at: Date = .now", ".now"), ("id = UUID()", "UUID()"),
      ("id: String = \"\\(UUID())\"", "\"\\(UUID())\""), ("at: Double = 2 * clock()", "2 * clock()"),
      ("id: String = UUID().uuidString", "UUID().uuidString"),
    ] {
      let advice =
        declaration.hasPrefix("at: Date")
        ? "for the time of the insert, write @Default(.now)" : "to share the value, write @Default(\(value))"
      expect(
        "@Default var \(declaration)",
        "@Default needs a constant: all rows would share one value of \(value); \(advice)", at: "@Default",
        ("remove @Default", "var \(declaration)"))
    }
  }

  @Test func aDefaultHasTheTypeOfItsProperty() {
    for (value, type) in [(#""x""#, "Int"), ("1.5", "Int"), ("5", "Data"), ("-5", "UUID"), ("true", "Double")] {
      expect(
        "@Default(\(value)) var a: \(type)", "a of type \(type) can't have the default \(value)",
        at: "@Default(\(value))", ("remove @Default", "var a: \(type)"))
    }
  }

  @Test func aColumnHasATypeThatStoresItsProperty() {
    for (columnType, type) in [
      (".date(.iso8601)", "String"), (".date", "Int"), (".decimal(scale: 2)", "Double"), (".text", "Int"),
      (".blob", "String"), (".integer", "Date"), ("ColumnType.real", "UUID"), (".boolean", "String"),
      (".nullable(.date(.unixSeconds))", "Int"),
    ] {
      expect(
        "@Column(as: \(columnType)) var a: \(type)", "a column of type \(columnType) can't store a of type \(type)",
        at: columnType)
    }
  }

  @Test func aFullTextIndexHasText() {
    expect(
      "@FullText var a: Int?", "a full-text index needs text, not Int", at: "@FullText",
      ("remove @FullText", "var a: Int?"))
  }

  @Test func aNameIsNotEmpty() {
    expect(
      "@Column(\"\") var a: Int", "the name of a column can't be empty or contain a NUL byte", at: "\"\"")
    expect(
      "@Embedded(\"\") var a: Place", "the name of a prefix can't be empty or contain a NUL byte", at: "\"\"")
    expect(
      "@Column(\"a\\0\") var a: Int", "the name of a column can't be empty or contain a NUL byte", at: "\"a\\0\"")
  }

  @Test func aConditionalPropertyIsNoColumn() {
    expect(
      "var b = 0\n  #if DEBUG\n  var a = 5\n  #endif",
      "a stored property inside #if can't be a column; declare the property outside", at: "a = 5",
      ("mark the property @Transient", "var b = 0\n  #if DEBUG\n  @Transient var a = 5\n  #endif"))
  }
}
