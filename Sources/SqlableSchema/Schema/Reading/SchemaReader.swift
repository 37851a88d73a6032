import SqlableCore

/// A parser for the text of a CREATE statement, as stored in SQLite's schema table.
///
/// SQLite has already accepted the text, so the parser does not validate the text. The parser throws
/// `.schema(.mismatch)` for unknown syntax.
package struct SchemaReader {
  private let sql: String
  private let tokens: SQLTokenList
  private var at = 0

  package init(_ sql: String) {
    self.sql = sql
    tokens = SQLTokenList(sql)
  }

  // MARK: Statements

  package mutating func table() throws -> DatabaseSchema.Table {
    try expect("create")
    _ = accept("temp") || accept("temporary")
    let isVirtual = accept("virtual")
    try expect("table")
    var table = DatabaseSchema.Table(name: try qualifiedName(), sql: sql)
    if isVirtual {
      try expect("using")
      table.module = SchemaText(tokens, at..<tokens.count)
      return table
    }
    try expect(sign: "(")
    while !isSign(")") {
      if isTableConstraint { try constraint(of: &table) } else { try column(of: &table) }
      // SQLite does not require a comma between table constraints.
      _ = accept(sign: ",")
    }
    try expect(sign: ")")
    while at < tokens.count {
      if accept("without") {
        try expect("rowid")
        table.isWithoutRowid = true
      } else if accept("strict") {
        table.isStrict = true
      } else {
        try expect(sign: ",")
      }
    }
    return table
  }

  package mutating func index() throws -> (index: DatabaseSchema.Index, table: String) {
    try expect("create")
    let isUnique = accept("unique")
    try expect("index")
    let name = try qualifiedName()
    try expect("on")
    let table = try self.name()
    var index = DatabaseSchema.Index(name: name, terms: try terms().list, isUnique: isUnique, sql: sql)
    if accept("where") { index.condition = SchemaText(tokens, at..<tokens.count) }
    return (index, table)
  }

  mutating func view() throws -> (columns: [SchemaText]?, query: SchemaText) {
    try expect("create")
    _ = accept("temp") || accept("temporary")
    try expect("view")
    _ = try qualifiedName()
    let columns = isSign("(") ? try names() : nil
    try expect("as")
    return (columns, SchemaText(tokens, at..<tokens.count))
  }

  // MARK: Columns

  private mutating func column(of table: inout DatabaseSchema.Table) throws {
    let name = try name()
    let start = at
    while isTypeWord, !isColumnConstraint { at += 1 }
    if at > start, isSign("(") { try skipParentheses() }
    var column = DatabaseSchema.Column(name: name, type: SchemaText(tokens, start..<at))
    while !isSign(","), !isSign(")"), at < tokens.count {
      let constraintName = try constraintName()
      if accept("primary") {
        try expect("key")
        let isDescending = accept("desc")
        if !isDescending { _ = accept("asc") }
        let conflict = try conflict()
        table.primaryKey = DatabaseSchema.PrimaryKey(
          columns: [DatabaseSchema.Term(expression: SchemaText(name: name), isDescending: isDescending)],
          isAutoincrement: accept("autoincrement"), onConflict: conflict, name: constraintName)
      } else if isDeferral {
        // SQLite applies DEFERRABLE to the last REFERENCES clause, even if other constraints come in between.
        let isDeferred = try deferral()
        if let last = table.foreignKeys.indices.last { table.foreignKeys[last].isDeferred = isDeferred }
      } else if accept("not") {
        try expect("null")
        column.isNotNull = true
        column.notNullConflict = try conflict()
        column.notNullName = constraintName
      } else if accept("null") {
        _ = try conflict()
      } else if accept("unique") {
        let terms = [DatabaseSchema.Term(expression: SchemaText(name: name))]
        table.uniques.append(
          DatabaseSchema.Unique(columns: terms, onConflict: try conflict(), name: constraintName))
      } else if accept("check") {
        table.checks.append(DatabaseSchema.Check(expression: try expression(), name: constraintName))
      } else if accept("default") {
        column.defaultValue = try defaultValue()
      } else if accept("collate") {
        column.collation = try collation()
      } else if isWord("references") {
        var key = try references(from: [SchemaText(name: name)])
        key.name = constraintName
        table.foreignKeys.append(key)
      } else if accept("generated") || isWord("as") {
        _ = accept("always")
        try expect("as")
        let expression = try expression()
        let isStored = accept("stored")
        if !isStored { _ = accept("virtual") }
        column.generated = DatabaseSchema.Column.Generated(expression: expression, isStored: isStored)
      } else if constraintName == nil {
        throw unknown()
      }
    }
    table.columns.append(column)
  }

  private mutating func defaultValue() throws -> SchemaText {
    if isSign("(") { return try expression() }
    let start = at
    if isSign("-") || isSign("+") { at += 1 }
    guard at < tokens.count else { throw unknown() }
    at += 1
    return SchemaText(tokens, start..<at)
  }

  /// Reads a collation; returns nil for `BINARY`, the default.
  private mutating func collation() throws -> SchemaText? {
    let name = try name()
    return name.isSameName(as: "BINARY") ? nil : SchemaText(name: name)
  }

  // MARK: Constraints

  private mutating func constraint(of table: inout DatabaseSchema.Table) throws {
    let name = try constraintName()
    if accept("primary") {
      try expect("key")
      let (terms, isAutoincrement) = try terms()
      table.primaryKey = DatabaseSchema.PrimaryKey(
        columns: terms, isAutoincrement: isAutoincrement, onConflict: try conflict(), name: name)
    } else if accept("unique") {
      table.uniques.append(
        DatabaseSchema.Unique(columns: try terms().list, onConflict: try conflict(), name: name))
    } else if accept("check") {
      table.checks.append(DatabaseSchema.Check(expression: try expression(), name: name))
      _ = try conflict()
    } else if accept("foreign") {
      try expect("key")
      var key = try references(from: names())
      key.name = name
      table.foreignKeys.append(key)
    } else if name == nil {
      throw unknown()
    }
  }

  private mutating func references(from columns: [SchemaText]) throws -> DatabaseSchema.ForeignKey {
    try expect("references")
    let table = SchemaText(name: try name())
    var key = DatabaseSchema.ForeignKey(
      columns: columns, table: table, references: isSign("(") ? try names() : [])
    while true {
      if accept("on") {
        let isDelete = accept("delete")
        let isUpdate = !isDelete && accept("update")
        if !isDelete, !isUpdate { try expect("insert") }
        let action = try action()
        if isDelete { key.onDelete = action }
        if isUpdate { key.onUpdate = action }
      } else if accept("match") {
        _ = try name()
      } else if isDeferral {
        key.isDeferred = try deferral()
      } else {
        return key
      }
    }
  }

  private var isDeferral: Bool {
    isWord("deferrable") || (isWord("not") && tokens.isWord(at + 1, "deferrable"))
  }

  private mutating func deferral() throws -> Bool {
    let isDeferrable = !accept("not")
    try expect("deferrable")
    guard accept("initially") else { return false }
    if accept("deferred") { return isDeferrable }
    try expect("immediate")
    return false
  }

  private mutating func action() throws -> ForeignKeyAction {
    if accept("cascade") { return .cascade }
    if accept("restrict") { return .restrict }
    if accept("no") {
      try expect("action")
      return .noAction
    }
    try expect("set")
    if accept("null") { return .setNull }
    try expect("default")
    return .setDefault
  }

  private mutating func constraintName() throws -> String? { accept("constraint") ? try name() : nil }

  /// Reads ON CONFLICT; returns nil for `ABORT`, the default, and for a missing clause.
  private mutating func conflict() throws -> SchemaText? {
    guard isWord("on"), tokens.isWord(at + 1, "conflict") else { return nil }
    at += 2
    let conflict = SchemaText(name: try name())
    return conflict == "abort" ? nil : conflict
  }

  // MARK: Parts

  /// Reads the terms of an index or key in parentheses. Also returns true if AUTOINCREMENT follows a term.
  private mutating func terms() throws -> (list: [DatabaseSchema.Term], isAutoincrement: Bool) {
    try expect(sign: "(")
    var list: [DatabaseSchema.Term] = []
    var isAutoincrement = false
    repeat {
      let start = at
      while !isSign(","), !isSign(")"), at < tokens.count {
        if isSign("(") { try skipParentheses() } else { at += 1 }
      }
      // Strip the clauses after the expression, from the last to the first.
      var end = at
      if tokens.isWord(end - 1, "autoincrement"), end - 1 > start {
        isAutoincrement = true
        end -= 1
      }
      if end - 2 > start, tokens.isWord(end - 2, "nulls") { end -= 2 }
      let isDescending = end - 1 > start && tokens.isWord(end - 1, "desc")
      if isDescending || (end - 1 > start && tokens.isWord(end - 1, "asc")) { end -= 1 }
      var collation: SchemaText?
      if end - 2 > start, tokens.isWord(end - 2, "collate"), let name = tokens.name(end - 1) {
        collation = name.isSameName(as: "BINARY") ? nil : SchemaText(name: name)
        end -= 2
      }
      let single = end == start + 1 ? tokens.name(start) : nil
      list.append(
        DatabaseSchema.Term(
          expression: single.map { SchemaText(name: $0) } ?? SchemaText(tokens, start..<end), collation: collation,
          isDescending: isDescending))
    } while accept(sign: ",")
    try expect(sign: ")")
    return (list, isAutoincrement)
  }

  private mutating func names() throws -> [SchemaText] {
    try expect(sign: "(")
    var names: [SchemaText] = []
    repeat { names.append(SchemaText(name: try name())) } while accept(sign: ",")
    try expect(sign: ")")
    return names
  }

  private mutating func expression() throws -> SchemaText {
    guard isSign("(") else { throw unknown() }
    let start = at + 1
    try skipParentheses()
    return SchemaText(tokens, start..<at - 1)
  }

  private mutating func skipParentheses() throws {
    var depth = 0
    repeat {
      guard at < tokens.count else { throw unknown() }
      if isSign("(") { depth += 1 }
      if isSign(")") { depth -= 1 }
      at += 1
    } while depth > 0
  }

  private mutating func qualifiedName() throws -> String {
    if isWord("if"), tokens.isWord(at + 1, "not"), tokens.isWord(at + 2, "exists") { at += 3 }
    let name = try name()
    return accept(sign: ".") ? try self.name() : name
  }

  private mutating func name() throws -> String {
    guard let name = tokens.name(at) else { throw unknown() }
    at += 1
    return name
  }

  // MARK: Tokens

  /// True if the token can be a word of a declared type. SQLite also accepts quoted names and texts.
  private var isTypeWord: Bool { [.word, .name, .text].contains(tokens.kind(at)) }

  /// True if a table constraint starts here. The keywords of constraints can't be unquoted column names.
  private var isTableConstraint: Bool {
    isWord("constraint") || isWord("primary") || isWord("unique") || isWord("check") || isWord("foreign")
  }

  private var isColumnConstraint: Bool {
    isWord("constraint") || isWord("primary") || isWord("not") || isWord("null") || isWord("unique") || isWord("check")
      || isWord("default") || isWord("collate") || isWord("references") || isWord("as") || isWord("deferrable")
      || (isWord("generated") && tokens.isWord(at + 1, "always"))
  }

  private func isWord(_ word: StaticString) -> Bool { tokens.isWord(at, word) }

  private func isSign(_ sign: Unicode.Scalar) -> Bool { tokens.isSign(at, UInt8(ascii: sign)) }

  private mutating func accept(_ word: StaticString) -> Bool {
    guard isWord(word) else { return false }
    at += 1
    return true
  }

  private mutating func accept(sign: Unicode.Scalar) -> Bool {
    guard isSign(sign) else { return false }
    at += 1
    return true
  }

  private mutating func expect(_ word: StaticString) throws { if !accept(word) { throw unknown() } }

  private mutating func expect(sign: Unicode.Scalar) throws { if !accept(sign: sign) { throw unknown() } }

  private func unknown() -> SqlError {
    let message = "can't read the schema: unknown syntax at word \(at + 1)"
    return SqlError(.schema(.mismatch(message)), message: message)
  }
}
