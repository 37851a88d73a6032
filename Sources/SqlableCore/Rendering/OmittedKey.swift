/// The part of a table's key that an insert leaves to the table. A request over a transport carries it: only the other
/// side knows how the table was created.
package struct OmittedKey: Sendable, Hashable, Codable {
  let table: String
  let database: String?
  let columns: [String]
  /// The column that is the rowid by the model's declaration.
  let rowid: String?
  /// True if the key has one column.
  let isSingle: Bool
  /// True if it is an integer of a table with rowids.
  let isInteger: Bool

  /// Nil if the insert leaves nothing out.
  init?(_ omitted: [Column], of table: TableInfo) {
    guard !omitted.isEmpty else { return nil }
    (self.table, database) = (table.name, table.database)
    columns = omitted.map(\.name)
    isSingle = table.key.count == 1
    rowid = table.keyIsRowid && isSingle ? table.columns[table.key[0]].name : nil
    isInteger = table.hasIntegerKey && !table.isWithoutRowid
  }
}
