import FoundationEssentials
import SqlableCore
import SqlableSchema

// Rows whose text was overwritten with other bytes. SQLite does not validate text, but decoding to a String does.

extension StoredRecord {
  func hasInvalidText(_ encoding: TextEncoding) -> Bool {
    fields.contains { $0.storage == .text && !encoding.isValid(payload[$0.start..<$0.end]) }
  }
}

extension TextEncoding {
  fileprivate func isValid(_ bytes: ArraySlice<UInt8>) -> Bool {
    if self == .utf8 { return String(validating: bytes, as: UTF8.self) != nil }
    guard bytes.count.isMultiple(of: 2) else { return false }
    let high = self == .utf16BigEndian ? 0 : 1
    let units = stride(from: bytes.startIndex, to: bytes.endIndex, by: 2).lazy.map { offset in
      UInt16(bytes[offset + high]) << 8 | UInt16(bytes[offset + 1 - high])
    }
    return String(validating: units, as: UTF16.self) != nil
  }
}

extension SalvageRun {
  /// Inserts the backup's version of a row whose text is invalid. The damaged row goes to `lost_and_found`. Returns
  /// false if the backup has no intact version.
  func replaceByBackup(_ row: TreeCrawler.TreeRow, of table: SalvagedTable, _ sink: TableSink) throws -> Bool {
    guard let record = row.record, let old = oldShape(of: table), old.isWithoutRowid == table.isWithoutRowid,
      let shape = table.shape, let key = BackupKey(shape, old, row)
    else { return false }
    let common = sink.columns.filter { name in old.columns.contains { $0.name.isSameName(as: name) } }
    let targets = (key.target.map { [$0] } ?? []) + common
    let sources = (key.target == nil ? [] : key.sources) + common
    guard !common.isEmpty, try isIntact(key, common, shape, record, in: sink.name) else { return false }
    let connection = output.connection
    let (list, values) = (targets.quotedList, sources.quotedList)
    let statement = try connection.prepareText(
      """
      INSERT INTO main.\(sink.name.quotedName)(\(list))
        SELECT \(values) FROM \(AttachedBackup.name).\(sink.name.quotedName) WHERE \(key.condition)
      """)
    defer { statement.reset() }
    let before = connection.totalChanges
    do {
      try bind(key, record, to: statement) { _ = try statement.step() }
    } catch let error as SqlError where !error.endsSalvage || error.kind == .corrupt { return false }
    guard connection.rowsChanged(since: before) > 0 else { return false }
    table.rowsFromBackup += 1
    try output.setAside(
      row, of: table.entry.name, rowid: !table.isWithoutRowid,
      "the row's text is damaged; the table contains the backup's version of the row")
    return true
  }

  private func oldShape(of table: SalvagedTable) -> TableShape? {
    let entry = backup?.entries.first { $0.type == "table" && $0.name.isSameName(as: table.entry.name) }
    return entry.flatMap { try? SchemaReader.table($0.sql) }.map { TableShape($0) }
  }

  /// True if the backup contains the row, and all texts of the row are valid. If no column declares the rowid, VACUUM
  /// might have assigned the rowid to another row. In this case, at least one intact value must also equal the backup's
  /// value.
  private func isIntact(
    _ key: BackupKey, _ columns: [String], _ shape: TableShape, _ record: StoredRecord, in table: String
  ) throws -> Bool {
    let statement = try output.connection.prepareText(
      "SELECT \(columns.quotedList) FROM \(AttachedBackup.name).\(table.quotedName) WHERE \(key.condition)")
    defer { statement.reset() }
    var isIntact = false
    try bind(key, record, to: statement) {
      guard try statement.step() else { return }
      let values = try? columns.indices.map { try statement.value(at: $0) }
      guard let values else { return }
      isIntact =
        !key.mayBeOfAnotherRow
        || zip(columns, values).contains { name, value in
          guard let position = shape.columns.firstIndex(where: { $0.name.isSameName(as: name) }),
            position < record.fields.count, value != .null
          else { return false }
          return record.value(record.fields[position], file.encoding) == value
        }
    }
    return isIntact
  }

  private func bind(
    _ key: BackupKey, _ record: StoredRecord, to statement: PreparedStatement, _ body: () throws -> Void
  ) throws {
    switch key.value {
    case .rowid(let rowid):
      try statement.bindCopy(.integer(rowid), at: 1)
      try body()
    case .fields(let fields): try record.bound(fields, file.encoding, to: statement, from: 1, body)
    }
  }
}

private struct BackupKey {
  enum Value {
    case rowid(Int64)
    case fields([StoredRecord.Field])
  }

  let condition: String
  let value: Value
  /// The rowid's name in the new table; nil if the table has no rowid.
  let target: String?
  /// The name of the rowid in the backup, as a list of one element; empty if the table has no rowid.
  let sources: [String]
  let mayBeOfAnotherRow: Bool

  init?(_ shape: TableShape, _ old: TableShape, _ row: TreeCrawler.TreeRow) {
    if shape.isWithoutRowid {
      guard let record = row.record, record.fields.count >= shape.keyCount else { return nil }
      let names = shape.columns.prefix(shape.keyCount).map(\.name)
      condition = names.map { "\($0.quotedName) = ?" }.joined(separator: " AND ")
      value = .fields(Array(record.fields.prefix(shape.keyCount)))
      (target, sources, mayBeOfAnotherRow) = (nil, [], false)
    } else {
      guard let target = shape.rowidName, let source = old.rowidName else { return nil }
      condition = "\(source.quotedName) = ?"
      value = .rowid(row.rowid)
      (self.target, sources) = (target, [source])
      mayBeOfAnotherRow = !shape.columns.contains(where: \.isRowid)
    }
  }
}

extension TableShape {
  /// The column that is the rowid, or a name of the rowid that no column uses; nil if there is neither.
  fileprivate var rowidName: String? {
    columns.first(where: \.isRowid)?.name ?? String.rowidName(avoiding: table.columns.map(\.name))
  }
}

extension StoredRecord {
  fileprivate func value(_ field: Field, _ encoding: TextEncoding) -> DatabaseValue? {
    switch field.storage {
    case .null: .null
    case .integer: integer(field).map { .integer($0) }
    case .real: real(field).map { .real($0) }
    case .text:
      encoding.isValid(payload[field.start..<field.end]) ? .text(encoding.text(payload[field.start..<field.end])) : nil
    case .blob: .blob(Data(payload[field.start..<field.end]))
    }
  }
}

extension [String] {
  fileprivate var quotedList: String { map(\.quotedName).joined(separator: ", ") }
}
