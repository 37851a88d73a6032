import Foundation
import SqlableCodable
import SqlableCore

/// A Codable model: a key, an abbreviation, a column named in camel case, a default and a date that may be NULL.
struct Boat: SqlCodable, Equatable {
  var id: Int?
  var name: String
  var ownerID: Int?
  var isSailing = false
  var launchedAt: Date?

  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let name = column("name", String.self)
  static let ownerID = column("owner_id", Int?.self)
  static let isSailing = column("isSailing", Bool.self)
  static let launchedAt = column("launched_at", Date?.self, as: .date(.iso8601))
  static let tableLayout = [id.column, name.column, ownerID.column, isSailing.column, launchedAt.column]
}
