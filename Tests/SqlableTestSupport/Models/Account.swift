import SqlableCodable
import SqlableCore

/// An account of a tenant. Documents may not use the tenant, the debt and the note.
struct Account: SqlCodable, Equatable {
  static let id = column("id", Int.self, PrimaryKey())
  static let tenant = column("tenant", Int.self)
  static let name = column("name", String.self)
  static let color = column("color", String?.self)
  static let owed = column("owed", Double.self)
  static let note = column("note", String?.self)
  static let tableLayout = [id.column, tenant.column, name.column, color.column, owed.column, note.column]
  static let tableIndexes = [Index(color.column, owed.column), Index(tenant.column)]
  var id: Int
  var tenant: Int
  var name: String
  var color: String?
  var owed: Double
  var note: String?
}
