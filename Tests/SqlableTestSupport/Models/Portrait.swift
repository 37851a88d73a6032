import Foundation
import SqlableCodable
import SqlableCore

/// A row with a blob, whose key is not the rowid.
struct Portrait: SqlCodable, Equatable {
  let name: String
  var image: Data?
  var hash = Data([0])
  static let name = column("name", String.self, PrimaryKey())
  static let image = column("image", Data?.self)
  static let hash = column("hash", Data.self)
  static let tableLayout = [name.column, image.column, hash.column]
  static let tableIndexes = [Index(hash)]

  init(name: String, image: Data?) { (self.name, self.image) = (name, image) }
}
