import Foundation
import Sqlable
import SqlableChanges

struct DoctorReport: Encodable {
  struct Setting: Encodable {
    let name: String
    let value: String
    let usual: String
    let meaning: String
  }

  struct Tree: Encodable {
    let name: String
    let pages: Int
    let bytes: Int
    let unusedBytes: Int
  }

  struct Consumer: Encodable {
    let name: String
    let lag: Int
    let delaySeconds: Double
    let isNew: Bool
    let isOwned: Bool
    let quarantined: Int
    let error: String?
  }

  let path: String
  private let size: Int
  private let walSize: Int
  private let freeBytes: Int?
  /// True if the file's header says WAL. SQLite reports another mode for a file that is opened as immutable.
  private let isWAL: Bool
  private let users: [FileUsers.User]
  private var pageSize = 0
  private var pages = 0
  private var freePages = 0
  private var settings: [Setting] = []
  private var trees: [Tree] = []
  private var consumers: [Consumer]?
  /// Problems in the data: damage, and references to missing rows.
  private(set) var problems: [String] = []
  /// Remarks on settings and tables that cost time or space.
  private var remarks: [String] = []

  init(path: String) {
    self.path = path
    // The WAL is next to the target of a symbolic link.
    let targetPath = URL(fileURLWithPath: path).resolvingSymlinksInPath().path
    users = FileUsers(of: targetPath).users
    (size, walSize) = (DoctorReport.size(targetPath), DoctorReport.size(targetPath + "-wal"))
    // Opening a pipe would wait for a writer.
    let kind = try? FileManager.default.attributesOfItem(atPath: targetPath)[.type] as? FileAttributeType
    let header =
      kind == .typeRegular ? try? FileHandle(forReadingFrom: URL(fileURLWithPath: targetPath)).read(upToCount: 20) : nil
    isWAL = header?.count == 20 && header?.last == 2
    let system = try? FileManager.default.attributesOfFileSystem(forPath: path)
    freeBytes = (system?[.systemFreeSize] as? NSNumber)?.intValue
  }

  private static func size(_ path: String) -> Int {
    var info = stat()
    return stat(path, &info) == 0 ? Int(info.st_size) : 0
  }

  // MARK: Examining

  /// Examines size, settings and indexes. A read error is recorded as a problem, and the examination continues.
  mutating func examine(_ db: SqliteDatabase) {
    do { try examineSize(db) } catch { addFailure(error, of: "the size") }
    do { try examineSettings(db) } catch { addFailure(error, of: "the settings") }
    do { try examineIndexes(db) } catch { addFailure(error, of: "the indexes") }
    do { try examineConsumers(db) } catch { addFailure(error, of: "the consumers of the change log") }
    // Some builds of SQLite do not include dbstat. The report then omits the sizes of the b-trees.
    let tree: SQL = """
      SELECT name, count(*) AS pages, sum(pgsize) AS bytes, sum(unused) AS unused
      FROM dbstat GROUP BY 1 ORDER BY 3 DESC, 1
      """
    let rows = try? db.query(tree, as: DynamicRow.self).map { row in
      Tree(
        name: try row.get("name"), pages: try row.get("pages"), bytes: try row.get("bytes"),
        unusedBytes: try row.get("unused"))
    }
    trees = rows ?? []
  }

  private mutating func addFailure(_ error: any Error, of part: String) {
    let kind = (error as? SqlError)?.kind
    let isDamage = kind == .corrupt || kind == .notADatabase
    problems.append(isDamage ? "damage: \(error)" : "\(part) can't be checked: \(error)")
  }

  private mutating func examineSize(_ db: SqliteDatabase) throws {
    func number(_ pragma: SQL) throws -> Int { try db.query(pragma, as: Int.self).first ?? 0 }
    pageSize = try number("PRAGMA page_size")
    pages = try number("PRAGMA page_count")
    freePages = try number("PRAGMA freelist_count")
    if pages > 1_000, freePages * 4 > pages {
      remarks.append("\(freePages) of \(pages) pages are free; VACUUM returns them to the file system")
    }
  }

  private mutating func examineSettings(_ db: SqliteDatabase) throws {
    if !isWAL {
      settings.append(
        Setting(
          name: "journal_mode", value: "a rollback journal", usual: "wal",
          meaning: "readers block the writer, and the writer blocks readers"))
    }
    let vacuum = ["0": "none", "1": "full", "2": "incremental"]
    let usual: [(String, SQL, String, String)] = [
      ("page_size", "PRAGMA page_size", "4096", "fixed when the file is created; only VACUUM can change it"),
      ("auto_vacuum", "PRAGMA auto_vacuum", "none", "each commit moves pages, and fragments tables"),
      ("encoding", "PRAGMA encoding", "UTF-8", "text is converted at each read and write"),
    ]
    for (name, pragma, value, meaning) in usual {
      let row = try db.query(pragma, as: DynamicRow.self).first
      let stored =
        switch row?.values.first {
        case .text(let text): text
        case .integer(let number): "\(number)"
        default: ""
        }
      let text = name == "auto_vacuum" ? vacuum[stored] ?? stored : stored
      if text != value { settings.append(Setting(name: name, value: text, usual: value, meaning: meaning)) }
    }
  }

  private mutating func examineIndexes(_ db: SqliteDatabase) throws {
    let schema = try db.schema()
    let hasStatistics =
      try db.query("SELECT count(*) FROM sqlite_schema WHERE name = 'sqlite_stat1'", as: Int.self) != [0]
    let known = Set(try hasStatistics ? db.query("SELECT DISTINCT tbl FROM sqlite_stat1", as: String.self) : [])
    for table in schema.tables where table.module == nil {
      if !table.indexes.isEmpty, !known.contains(table.name), try !isEmpty(table.name, db) {
        remarks.append("\(table.name) has indexes but no statistics; run PRAGMA optimize")
      }
      let keys = [table.primaryKey?.columns ?? []] + table.uniques.map(\.columns) + table.indexes.map(\.terms)
      for key in table.foreignKeys where !keys.contains(where: { $0.map(\.expression).starts(with: key.columns) }) {
        let columns = key.columns.map(\.description).joined(separator: ", ")
        remarks.append(
          "table \(table.name) has no index that begins with \(columns), so a change of a key in \(key.table) scans "
            + "\(table.name); create an index"
        )
      }
    }
  }

  private mutating func examineConsumers(_ db: SqliteDatabase) throws {
    guard try db.tableExists("sqlable_change_consumers") else { return }
    consumers = try db.changeConsumers().map { consumer in
      Consumer(
        name: consumer.name, lag: consumer.lag, delaySeconds: consumer.delay / .seconds(1), isNew: consumer.isNew,
        isOwned: consumer.isOwned, quarantined: consumer.quarantined, error: consumer.error)
    }
    for consumer in consumers ?? [] where consumer.quarantined > 0 {
      let changes = consumer.quarantined == 1 ? "1 change" : "\(consumer.quarantined) changes"
      remarks.append("consumer \(consumer.name) has \(changes) in quarantine")
    }
    for consumer in consumers ?? [] {
      guard let error = consumer.error else { continue }
      let rows = consumer.isNew ? "its initial rows" : "a change"
      let delay = "\(Int(consumer.delaySeconds)) s"
      remarks.append(
        "consumer \(consumer.name) has not acknowledged \(rows) for \(delay), and retries after the error \(error)")
    }
  }

  private func isEmpty(_ table: String, _ db: SqliteDatabase) throws -> Bool {
    try db.query("SELECT 1 FROM \(table: table) LIMIT 1", as: Int.self).isEmpty
  }

  mutating func check(_ db: SqliteDatabase) {
    do {
      let problemLines = try db.query("PRAGMA integrity_check(20)", as: String.self)
      if problemLines != ["ok"] { problems += problemLines.map { "damage: \($0)" } }
    } catch { addFailure(error, of: "the integrity") }
    do {
      var rows: [(text: String, ids: [Int], count: Int)] = []
      for row in try db.query("PRAGMA foreign_key_check", as: DynamicRow.self) {
        guard case .text(let table)? = row.values.first, row.values.count > 2, case .text(let parent) = row.values[2]
        else { continue }
        let text = "rows of \(table) reference missing rows of \(parent)"
        let index = rows.firstIndex { $0.text == text } ?? rows.count
        if index == rows.count { rows.append((text, [], 0)) }
        rows[index].count += 1
        if case .integer(let id) = row.values[1], rows[index].ids.count < 10 { rows[index].ids.append(Int(id)) }
      }
      problems += rows.map { row in
        "\(row.count) \(row.text)"
          + (row.ids.isEmpty ? "" : ", such as \(row.ids.map(String.init).joined(separator: ", "))")
      }
    } catch { addFailure(error, of: "the foreign keys") }
  }

  mutating func findUnusedIndexes(_ db: SqliteDatabase, used: Set<String>) throws {
    for table in try db.schema().tables {
      for index in table.indexes where !index.isUnique && !used.contains(index.name) {
        remarks.append("no statement uses index \(index.name) of table \(table.name)")
      }
    }
  }

  mutating func explainLog() {
    guard walSize > 16 << 20 else { return }
    let readers = users.filter { $0.holds.contains("reads a snapshot in the WAL") }.map { "\($0.process)" }
    let reason =
      if !readers.isEmpty {
        "read transactions of process \(readers.joined(separator: ", ")) still read from the WAL"
      } else if users.isEmpty {
        "a process ended without closing the database; the next close checkpoints the WAL"
      } else {
        "the WAL keeps its largest size until the last connection closes, or PRAGMA wal_checkpoint(TRUNCATE) runs"
      }
    remarks.append("the WAL has \(walSize.sizeText): \(reason)")
  }

  // MARK: As text

  var text: String {
    var lines = ["\(path): \(size.sizeText), \(pages) pages of \(pageSize) bytes, \(freePages) free"]
    if walSize > 0 { lines.append("WAL: \(walSize.sizeText)") }
    if let freeBytes { lines.append("free space of the file system: \(freeBytes.sizeText)") }
    func add(_ title: String, _ items: [String]) {
      guard !items.isEmpty else { return }
      lines += ["", title] + items.map { "  \($0)" }
    }
    add(
      "Open in",
      users.map { user in
        let name = user.process == 0 ? "a process" : "process \(user.process) (\(user.program ?? "?"))"
        return name + (user.holds.isEmpty ? "" : ": " + user.holds.joined(separator: ", "))
      })
    add("Settings", settings.map { "\($0.name) is \($0.value), usually \($0.usual): \($0.meaning)" })
    add(
      "Tables and indexes",
      trees.map { tree in
        let pages = tree.pages == 1 ? "1 page" : "\(tree.pages) pages"
        return "\(tree.name): \(pages), \(tree.bytes.sizeText), \(tree.unusedBytes.sizeText) unused"
      })
    add(
      "Consumers of the change log",
      (consumers ?? []).map { consumer in
        let owner = consumer.isOwned ? "has an owner" : "no owner"
        let changes = consumer.lag == 1 ? "1 change" : "\(consumer.lag) changes"
        let delay = "\(Int(consumer.delaySeconds)) s"
        let lag = "\(changes) behind, " + (consumer.isNew ? "new for \(delay)" : "the first \(delay) old")
        return "\(consumer.name): \(lag), \(owner)" + (consumer.error.map { ", retries after the error \($0)" } ?? "")
      })
    add("Remarks", remarks)
    add("Problems", problems)
    if problems.isEmpty { lines += ["", "Nothing is wrong."] }
    return lines.joined(separator: "\n") + "\n"
  }
}
