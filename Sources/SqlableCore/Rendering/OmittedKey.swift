/// The part of a table's key that an insert does not set. A request over a transport includes this value, because only
/// the remote side knows how the table was created.
package struct OmittedKey: Sendable, Hashable, Codable {
  let table: String
  let database: String?
  let columns: [String]
  /// The column that the model declares as the rowid.
  let rowid: String?
  let isSingle: Bool
  let isInteger: Bool

  init?(_ omitted: [Column], of table: TableInfo) {
    guard !omitted.isEmpty else { return nil }
    (self.table, database) = (table.name, table.database)
    columns = omitted.map(\.name)
    isSingle = table.key.count == 1
    rowid = table.keyIsRowid && isSingle ? table.columns[table.key[0]].name : nil
    isInteger = table.hasIntegerKey && !table.isWithoutRowid
  }
}
