import FoundationEssentials
import SqlableCore
import SqlableSchema

/// One run of a salvage. The run reads the b-trees, finds orphaned pages, and fills the new file.
final class SalvageRun {
  let salvage: Salvage
  let crawler: TreeCrawler
  let output: RecoveredFile
  let backup: AttachedBackup?
  /// The pages that have the same content as another page.
  let twins: PageTwins
  /// The pages that were overwritten with the content of another page.
  var copies: Set<UInt32> = []
  var report = SalvageReport()
  private(set) var schema = SalvagedSchema()
  private(set) var tables: [SalvagedTable] = []
  /// The indexes that have lost pages.
  private(set) var damagedIndexes: [IndexShape] = []
  private(set) var indexTallies: [TreeStatistics] = []
  /// The rowids of rows whose table is unknown, for recognizing the keys of that table's indexes.
  var rowidsOfUnknownTables: Set<Int64> = []
  /// The number of rows that match several tables equally well, by the names of these tables.
  var ambiguousRows: [String: Int] = [:]
  /// True if all free pages are known. Every other page then belongs to a table or an index.
  private(set) var knowsFreelist = false
  var file: DamagedFile { crawler.file }

  /// - Parameter encoding: The text encoding of the new file if there is no backup; nil for the encoding of the damaged
  ///   file.
  init(_ salvage: Salvage, into path: String, encoding: TextEncoding? = nil) throws {
    self.salvage = salvage
    let copy = try salvage.backup.map { try BackupHeader(path: $0) }
    let file = try DamagedFile(path: salvage.damaged, likelyEncoding: copy?.encoding)
    twins = PageTwins(of: file)
    crawler = TreeCrawler(file, ownersOf: twins)
    output = try RecoveredFile(
      path: path, file.geometry, file.encoding, stored: copy?.encoding ?? encoding ?? file.encoding,
      functions: salvage.functions)
    let output = output
    backup = try copy.map { try AttachedBackup($0, to: output.connection) }
    report.pages = Int(file.pageCount)
    report.problems = file.problems
    let header = file.header ?? copy?.header
    if let header {
      try output.connection.pragma("PRAGMA user_version = \(header.userVersion)")
      try output.connection.pragma("PRAGMA application_id = \(header.applicationId)")
    }
  }

  func recover() throws -> SalvageReport {
    try output.making {
      crawler.progress = salvage.progress
      knowsFreelist = crawler.marks.markFreelist(of: file)
      try readSchema()
      try createTables()
      try crawlTables()
      if !knowsFreelist {
        crawler.marks.markLikelyFreelist(of: file)
        if file.header != nil { report.problems.append("the freelist is damaged") }
      }
      try crawlIndexes()
      findCopies()
      try assignOrphans()
      try completeFromBackup()
      try finishVirtualTables()
      salvage.progress?(.indexes)
      try finishSchema()
      finishReport()
    }
    try output.finish()
    return report
  }

  // MARK: Schema

  private func readSchema() throws {
    let models = try salvage.schema.map(SchemaEntry.entries(of:)) ?? []
    let outside = (backup?.entries ?? []) + models
    schema = try SalvagedSchema(of: crawler, completedBy: outside)
    report.unreadablePages += schema.unreadablePages
    if schema.isDamaged { report.problems.append("the schema of the file is damaged") }
    tables = schema.entries.filter { $0.type == "table" && $0.sql.virtualTableModule == nil }.map { entry in
      SalvagedTable(
        entry, source: entry.isFromFile ? .file : isInBackup(entry) ? .backup : .models,
        keyed: entry.isFromFile ? keyedRecords(ofPage: entry.root) : [])
    }
  }

  /// Returns the first records of a page of a WITHOUT ROWID table or an index. Returns none for any other page. Also
  /// returns none if at most half of the cells contain a valid record, because one of 128 pages of random bytes has the
  /// first byte of an index page.
  private func keyedRecords(ofPage number: UInt32) -> [StoredRecord] {
    guard let page = file.tree(number), !page.kind.isTable, page.isSound else { return [] }
    let cells = page.cells.prefix(50)
    let records = cells.compactMap { $0.flatMap { crawler.sample($0, page) } }
    return records.count * 2 > cells.count ? records : []
  }

  private func isInBackup(_ entry: SchemaEntry) -> Bool {
    backup?.entries.contains { $0.type == entry.type && $0.name.isSameName(as: entry.name) } == true
  }

  /// Creates ordinary tables, then virtual tables with their shadow tables, then the missing shadow tables.
  private func createTables() throws {
    let virtual = schema.entries.filter { $0.sql.virtualTableModule != nil }
    for entry in virtual { plan(entry) }
    for table in tables where table.virtual == nil && !table.entry.isInternal { try create(table) }
    for entry in virtual {
      guard let error = try output.attempt(entry.sql) else { continue }
      report.problems.append("the virtual table \(entry.name) can't be created: \(error.message)")
      for table in tables where table.virtual?.name == entry.name {
        table.use = .rows
        try create(table)
      }
    }
    for table in tables where table.virtual != nil && table.sink == nil && table.use != .none {
      // If the name in a virtual table's SQL is damaged, SQLite has created shadow tables whose names differ from the
      // names in the schema.
      guard try output.hasTable(table.entry.name) else {
        table.use = .rows
        try create(table)
        continue
      }
      table.fill(isReplacing: true)
      if table.use == .copies { _ = try output.attempt("DELETE FROM \(table.entry.name.quotedName)") }
    }
  }

  private func create(_ table: SalvagedTable) throws {
    guard let shape = table.shape else { return }
    guard let error = try output.attempt(table.entry.sql) ?? rename(table) else { return table.fill() }
    table.problem = "created without constraints and types: \(error.message)"
    let columns = shape.columns.map { $0.name.quotedName + ($0.isRowid ? " INTEGER PRIMARY KEY" : "") }
    let sql = "CREATE TABLE \(table.entry.name.quotedName)(\(columns.joined(separator: ", ")))"
    if let error = try output.attempt(sql) {
      table.problem = "the table can't be created: \(error.message)"
    } else {
      table.fill(isPlain: true)
    }
  }

  /// Renames a table to the name in its schema entry, if the SQL contains another name. If the renaming fails, drops
  /// the table and returns the error.
  private func rename(_ table: SalvagedTable) throws -> SqlError? {
    guard let name = table.definedName, !name.isSameName(as: table.entry.name) else { return nil }
    let error = try output.attempt("ALTER TABLE \(name.quotedName) RENAME TO \(table.entry.name.quotedName)")
    if error != nil { _ = try output.attempt("DROP TABLE \(name.quotedName)") }
    return error
  }

  // MARK: Trees

  func crawl(_ table: SalvagedTable) throws {
    guard table.entry.root > 0 else {
      table.tally.miss(TreeCrawler.allRowids, depth: 0)
      return
    }
    if table.isWithoutRowid {
      try crawler.crawlIndex(table.entry.root, table.shape, &table.tally) { try store($0, in: table) }
    } else {
      try crawler.crawl(table.entry.root, table.shape, &table.tally) { try store($0, in: table) }
    }
  }

  func store(_ row: TreeCrawler.TreeRow, in table: SalvagedTable, isOrphan: Bool = false) throws {
    if table.entry.name.isSameName(as: "sqlite_sequence") { return table.sequence(row, file.encoding) }
    if table.use == .none || table.entry.isInternal { return }
    let hasRowid = !table.isWithoutRowid
    guard row.isSound else {
      guard row.record?.fields.isEmpty == false else { return }
      return try output.setAside(
        row, of: table.entry.name, rowid: hasRowid, "the row is damaged, or some of its pages are lost")
    }
    guard let sink = table.sink else {
      table.rowsSetAside += 1
      return try output.setAside(row, of: table.entry.name, rowid: hasRowid, "the table can't be created")
    }
    let isInvalid = row.record?.hasInvalidText(file.encoding) == true
    if isInvalid, try replaceByBackup(row, of: table, sink) { return }
    guard let error = try output.insert(row, sink) else {
      table.rowsFromPages += 1
      if isInvalid { table.rowsWithInvalidText += 1 }
      return
    }
    // If the key exists, the table already has the row from a page in its b-tree.
    let isDuplicate = error.kind == .constraint(.primaryKey) || error.kind == .constraint(.rowId)
    if isOrphan, isDuplicate { return }
    table.rowsSetAside += 1
    try output.setAside(row, of: table.entry.name, rowid: hasRowid, error.reason)
  }

  /// Reads the indexes. A complete index shows the original number of rows in its table.
  private func crawlIndexes() throws {
    for entry in schema.entries where entry.type == "index" && entry.isFromFile && entry.root > 0 {
      var tally = TreeStatistics()
      let sample = try crawler.countKeys(entry.root, &tally)
      report.unreadablePages += tally.unreadablePages
      indexTallies.append(tally)
      let table = tables.first { $0.entry.name.isSameName(as: entry.table) }
      if tally.mayHaveOrphans {
        damagedIndexes.append(IndexShape(entry.sql, of: table?.shape, fields: tally.leastFields))
      }
      let isFull = entry.sql.isEmpty || (try? SchemaReader.index(entry.sql).condition) == .some(nil)
      guard tally.isComplete, isFull, let table, try fits(sample, table) else { continue }
      table.rowsByIndex = max(table.rowsByIndex ?? 0, tally.entries)
    }
  }

  /// Returns false if none of the keys matches a row of the table: the keys then belong to no index of the table.
  private func fits(_ keys: [StoredRecord], _ table: SalvagedTable) throws -> Bool {
    guard !keys.isEmpty, table.rowsFromPages > 0, let matchingRows = try rows(with: keys, in: table) else {
      return true
    }
    return matchingRows > 0
  }

  // MARK: End

  private func finishSchema() throws {
    for kind in ["index", "view", "trigger"] {
      for entry in schema.entries where entry.type == kind && !entry.sql.isEmpty {
        if let error = try output.attempt(entry.sql) {
          report.problems.append("the \(kind) \(entry.name) can't be created: \(error.message)")
        }
      }
    }
    guard let sequence = tables.first(where: { $0.entry.name.isSameName(as: "sqlite_sequence") }) else { return }
    for (name, number) in sequence.sequences {
      // The table `sqlite_sequence` does not exist if no table has AUTOINCREMENT, so ignore an error.
      let condition = "WHERE name = \(name.quotedText)"
      _ = try output.attempt(
        """
        INSERT INTO sqlite_sequence(name, seq) SELECT \(name.quotedText), 0
          WHERE NOT EXISTS (SELECT 1 FROM sqlite_sequence \(condition))
        """)
      _ = try output.attempt("UPDATE sqlite_sequence SET seq = max(seq, \(number)) \(condition)")
    }
  }

  private func finishReport() {
    reportTables()
    reportCopies()
    for (names, count) in ambiguousRows.sorted(by: { $0.key < $1.key }) {
      report.problems.append("\(count) rows could belong to each of the tables \(names)")
    }
    for table in tables { report.unreadablePages += table.tally.unreadablePages }
    report.lostAndFound = output.lostAndFound
  }
}

extension SchemaEntry {
  static func entries(of schema: Schema) throws -> [SchemaEntry] {
    let db = try SqliteDatabase.inMemory()
    try db.createTables(of: schema)
    return try db.running { try $0.schemaEntries(of: "main") }
  }
}

extension Connection {
  /// Returns the schema entries of a database other than the damaged file.
  func schemaEntries(of database: String) throws -> [SchemaEntry] {
    try rows("SELECT type, name, tbl_name, rootpage, sql FROM \(database).sqlite_schema").compactMap { row in
      SchemaEntry(type: row[0], name: row[1], table: row[2], root: UInt32(row[3]) ?? 0, sql: row[4], isFromFile: false)
    }
  }
}
