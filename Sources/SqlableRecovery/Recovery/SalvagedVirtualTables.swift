import SqlableCore

extension SalvageRun {
  func plan(_ entry: SchemaEntry) {
    let module = entry.sql.virtualTableModule ?? []
    let shadows = ShadowTables.names(of: entry.name, module: module)
    let hasContent = tables.contains { $0.entry.name.isSameName(as: entry.name + "_content") }
    for table in tables where shadows.contains(table.entry.name.foldedName) {
      table.virtual = entry
      if !module.starts(with: "fts".utf8) || entry.isContentless {
        table.use = .copies
      } else {
        let keptSuffixes = hasContent ? ["_content", "_config"] : ["_config"]
        let isKept = keptSuffixes.contains { table.entry.name.isSameName(as: entry.name + $0) }
        table.use = isKept ? .rows : .none
      }
    }
  }

  func finishVirtualTables() throws {
    for entry in schema.entries {
      guard let module = entry.sql.virtualTableModule else { continue }
      if module.starts(with: "fts".utf8), !entry.isContentless {
        let name = entry.name.quotedName
        if let error = try output.attempt("INSERT INTO \(name)(\(name)) VALUES ('rebuild')") {
          report.problems.append("can't rebuild the full-text index \(entry.name): \(error.message)")
        }
      } else if tables.contains(where: { $0.virtual?.name == entry.name && !$0.tally.isComplete }) {
        report.problems.append("entries of the virtual table \(entry.name) are lost")
      }
    }
  }
}

extension SchemaEntry {
  /// True if the entry is a full-text index without stored text, which can't be rebuilt.
  fileprivate var isContentless: Bool {
    let tokens = SQLTokenList(sql)
    return (0..<tokens.count).contains { index in
      tokens.name(index)?.isSameName(as: "content") == true && tokens.isSign(index + 1, UInt8(ascii: "="))
        && tokens.name(index + 2)?.isEmpty == true
    }
  }
}
