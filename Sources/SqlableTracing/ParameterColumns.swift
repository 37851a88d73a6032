import SqlableCore

/// The columns that a statement's parameters are compared with or stored in.
///
/// ```swift
/// ParameterColumns(of: #"SELECT * FROM "bicycle" AS b WHERE b.color = ? AND length(b.name) > ?"#).columns
/// // bicycle.color, and none for the length
/// ```
///
/// A value must never be attributed to a wrong column. So a parameter has a column only in these forms: a comparison of
/// a column with a single parameter, `IN (?, ?)`, `BETWEEN ? AND ?`, `SET column = ?` and `VALUES`. The parameters of a
/// statement with WITH or a subquery have no columns. In a statement on several tables, a parameter has a column only
/// if the SQL qualifies the column's name.
struct ParameterColumns: Sendable {
  struct TableColumn: Sendable, Hashable {
    /// The names of the table and the column, in the form in which SQLite compares names.
    let table, column: [UInt8]
  }

  /// The columns of the parameters, in the order of the SQL; nil for a parameter whose column is uncertain.
  let columns: [TableColumn?]

  fileprivate init(columns: [TableColumn?]) { self.columns = columns }

  init(of text: String) {
    let words = DetachedSQLToken.words(of: text)
    let selects = words.count { $0.isKeyword("SELECT") }
    // A name can mean different things in each part of a statement, so a statement that contains a SELECT after its
    // first word is not analyzed.
    let isOnePart = selects == (words.first?.isKeyword("SELECT") == true ? 1 : 0)
    guard isOnePart, !words.contains(where: { $0.isKeyword("WITH") }) else {
      self.init(columns: [])
      return
    }
    self = ParameterReader(words: words).columns
  }
}

/// A reader that finds each parameter's column: the column that the parameter is compared with or stored in. Reads only
/// statements without subqueries and WITH.
private struct ParameterReader {
  private let words: [DetachedSQLToken]
  /// The name (the alias or the table's own name) and the table of each source. The name and the table are case-folded.
  /// The table is nil if the source is not a table.
  private var tables: [(name: [UInt8], table: [UInt8]?)] = []
  private var inserted: [ParameterColumns.TableColumn] = []

  init(words: [DetachedSQLToken]) {
    self.words = words
    var index = 0
    while index < words.count {
      defer { index += 1 }
      switch words[index].keyword {
      case "FROM", "JOIN":
        index = readTable(at: index + 1)
        while index + 1 < words.count, words[index + 1].isSymbol(",") { index = readTable(at: index + 2) }
      case "INTO": index = readColumns(after: readTable(at: index + 1))
      case "UPDATE" where index == 0: index = readTable(at: skipConflict(index + 1))
      default: break
      }
    }
  }

  var columns: ParameterColumns {
    let stored = storedColumns
    let parameterColumns = words.indices.filter { words[$0].kind == .parameter }.map { stored[$0] ?? column(of: $0) }
    return ParameterColumns(columns: parameterColumns)
  }

  private func word(_ index: Int) -> DetachedSQLToken? { words.indices.contains(index) ? words[index] : nil }

  // MARK: Tables

  private func skipConflict(_ index: Int) -> Int { word(index)?.isKeyword("OR") == true ? index + 2 : index }

  private mutating func readTable(at start: Int) -> Int {
    guard let first = word(start), first.isName else {
      // The source is a subquery or a join in parentheses, not a name.
      tables.append(([], nil))
      return start
    }
    var last = start
    if word(last + 1)?.isSymbol(".") == true { last += 2 }
    guard let table = word(last), table.isName else { return last }
    // A parenthesis after the name starts the arguments of a table-valued function, except after INTO.
    let isFunction = word(last + 1)?.isSymbol("(") == true && word(start - 1)?.isKeyword("INTO") == false
    var name = table.text.foldedName
    if !isFunction {
      if word(last + 1)?.isKeyword("AS") == true { last += 1 }
      if let alias = word(last + 1), alias.isName {
        name = alias.text.foldedName
        last += 1
      }
    }
    tables.append((name, isFunction ? nil : table.text.foldedName))
    return last
  }

  /// Reads the column list of an INSERT after the word at `last`. Returns the index of the closing parenthesis, or
  /// `last` if there is no list.
  private mutating func readColumns(after last: Int) -> Int {
    guard word(last + 1)?.isSymbol("(") == true, let table = tables.last?.table else { return last }
    var index = last + 2
    while let name = word(index), name.isName {
      inserted.append(.init(table: table, column: name.text.foldedName))
      index += word(index + 1)?.isSymbol(",") == true ? 2 : 1
    }
    return index
  }

  // MARK: Stored values

  /// The columns of parameters that are whole values in a row of VALUES, keyed by the parameter's index.
  private var storedColumns: [Int: ParameterColumns.TableColumn] {
    guard !inserted.isEmpty, let start = words.firstIndex(where: { $0.isKeyword("VALUES") }) else { return [:] }
    var stored: [Int: ParameterColumns.TableColumn] = [:]
    var (depth, position) = (0, 0)
    for index in words.indices[(start + 1)...] {
      let word = words[index]
      if word.isSymbol("(") {
        depth += 1
        if depth == 1 { position = 0 }
      } else if word.isSymbol(")") {
        depth -= 1
      } else if word.isSymbol(","), depth == 1 {
        position += 1
      } else if depth == 0, !word.isSymbol(",") {
        break
      } else if depth == 1, word.kind == .parameter, position < inserted.count, isAlone(index) {
        stored[index] = inserted[position]
      }
    }
    return stored
  }

  private func isAlone(_ index: Int) -> Bool {
    [index - 1, index + 1].allSatisfy { neighbor in
      word(neighbor).map { [",", "(", ")"].contains($0.text) && $0.kind == .symbol } ?? false
    }
  }

  // MARK: Compared values

  private static let comparisons: Set<String> = ["=", "==", "!=", "<>", "<", "<=", ">", ">="]
  private static let starts: Set<String> = ["WHERE", "AND", "OR", "NOT", "ON", "SET", "WHEN", "HAVING", "SELECT"]
  private static let ends = Set(
    words: """
      AND OR THEN ELSE END ORDER GROUP LIMIT HAVING RETURNING WHERE FROM ON JOIN LEFT RIGHT FULL INNER CROSS NATURAL
      WHEN WINDOW AS DO USING
      """)

  private func column(of parameter: Int) -> ParameterColumns.TableColumn? {
    guard let before = word(parameter - 1) else { return nil }
    if isComparison(before) { return isEnd(parameter + 1) ? column(endingAt: parameter - 2) : nil }
    switch before.keyword {
    case "IS", "LIKE", "GLOB": return isEnd(parameter + 1) ? column(endingAt: skipNot(parameter - 2)) : nil
    case "NOT" where word(parameter - 2)?.isKeyword("IS") == true:
      return isEnd(parameter + 1) ? column(endingAt: parameter - 3) : nil
    case "BETWEEN":
      return word(parameter + 1)?.isKeyword("AND") == true ? column(endingAt: skipNot(parameter - 2)) : nil
    case "AND" where word(parameter - 2)?.isBound == true && word(parameter - 3)?.isKeyword("BETWEEN") == true:
      return isEnd(parameter + 1) ? column(endingAt: skipNot(parameter - 4)) : nil
    default: break
    }
    if let after = word(parameter + 1), isComparison(after) {
      return isStart(parameter - 1) ? column(startingAt: parameter + 2) : nil
    }
    return listed(parameter)
  }

  private func isComparison(_ word: DetachedSQLToken) -> Bool {
    word.kind == .symbol && ParameterReader.comparisons.contains(word.text)
  }

  private func skipNot(_ index: Int) -> Int { word(index)?.isKeyword("NOT") == true ? index - 1 : index }

  private func isStart(_ index: Int) -> Bool {
    guard let word = word(index) else { return false }
    if word.isKeyword("AND"), mayBelongToBetween(index) { return false }
    return ParameterReader.starts.contains(word.keyword) || word.isSymbol("(") || word.isSymbol(",")
  }

  /// Returns true if an AND might belong to a BETWEEN: `a BETWEEN 1 AND b = ?` compares the result of BETWEEN with the
  /// parameter.
  private func mayBelongToBetween(_ index: Int) -> Bool {
    for word in words[..<index].reversed() {
      if word.isKeyword("BETWEEN") { return true }
      if word.isSymbol(")") { return words.contains { $0.isKeyword("BETWEEN") } }
      if ["AND", "OR", "WHERE", "ON", "WHEN", "HAVING"].contains(word.keyword) { return false }
    }
    return false
  }

  private func isEnd(_ index: Int) -> Bool {
    guard let word = word(index) else { return true }
    return ParameterReader.ends.contains(word.keyword) || [")", ",", ";"].contains(where: word.isSymbol)
  }

  /// Returns the column that an IN list is compared with, for a parameter in the list; nil for other parameters.
  private func listed(_ parameter: Int) -> ParameterColumns.TableColumn? {
    guard word(parameter + 1).map({ $0.isSymbol(",") || $0.isSymbol(")") }) == true else { return nil }
    var index = parameter - 1
    while let word = word(index), word.isBound || word.isSymbol(",") { index -= 1 }
    guard word(index)?.isSymbol("(") == true, word(index - 1)?.isKeyword("IN") == true else { return nil }
    return column(endingAt: skipNot(index - 2))
  }

  private func column(endingAt last: Int) -> ParameterColumns.TableColumn? {
    guard let name = word(last), name.isName else { return nil }
    guard word(last - 1)?.isSymbol(".") == true else {
      return isStart(last - 1) ? column(name, of: nil) : nil
    }
    // In a name of three parts, the first part is the database.
    let start = word(last - 3)?.isSymbol(".") == true ? last - 5 : last - 3
    guard let table = word(last - 2), table.isName, isStart(start) else { return nil }
    return column(name, of: table)
  }

  private func column(startingAt first: Int) -> ParameterColumns.TableColumn? {
    guard let name = word(first), name.isName else { return nil }
    guard word(first + 1)?.isSymbol(".") == true else { return isEnd(first + 1) ? column(name, of: nil) : nil }
    let last = word(first + 3)?.isSymbol(".") == true ? first + 4 : first + 2
    guard let column = word(last), column.isName, isEnd(last + 1) else { return nil }
    return self.column(column, of: word(last - 2))
  }

  private func column(_ name: DetachedSQLToken, of table: DetachedSQLToken?) -> ParameterColumns.TableColumn? {
    let named = table.map { table in tables.filter { $0.name == table.text.foldedName } } ?? tables
    guard named.count == 1, let tableName = named[0].table else { return nil }
    return .init(table: tableName, column: name.text.foldedName)
  }
}
