extension SqlError {
  /// Names the missing index in the error of an upsert whose conflict columns are not unique in the database. SQLite's
  /// message names neither the table nor the columns.
  package mutating func nameConflictTarget() {
    guard message == "ON CONFLICT clause does not match any PRIMARY KEY or UNIQUE constraint", let sql else { return }
    let tokens = SQLTokenList(sql)
    guard let into = (0..<tokens.count).first(where: { tokens.isWord($0, "into") }) else { return }
    // The table's name can be qualified: INTO main.bicycle.
    let isQualified = tokens.isSign(into + 2, UInt8(ascii: "."))
    guard let name = tokens.name(into + (isQualified ? 3 : 1)) else { return }
    let targets = (into..<tokens.count).filter { tokens.isWord($0, "on") && tokens.isWord($0 + 1, "conflict") }
      .compactMap { tokens.list(at: $0 + 2) }
    guard !targets.isEmpty else { return }
    message =
      "table \(name) has no unique index for ON CONFLICT \(targets.joined(separator: " or ")); declare Unique(…) or "
      + "Index(…, unique: true) of these columns in the model, and add it to the table with a plan or a migration; "
      + "for a partial index, pass its condition to onConflict"
    (kind, table) = (.schema(.mismatch(message)), name)
  }
}

extension SQLTokenList {
  /// Returns the names in a list in parentheses, such as `(name, color)`; nil if no list begins at the position.
  fileprivate func list(at position: Int) -> String? {
    guard isSign(position, UInt8(ascii: "(")),
      let end = (position..<count).first(where: { isSign($0, UInt8(ascii: ")")) })
    else { return nil }
    return "(\((position + 1..<end).compactMap { name($0) }.joined(separator: ", ")))"
  }
}
