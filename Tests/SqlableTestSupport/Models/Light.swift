import SqlableCodable
import SqlableCore

class SeaMark: Codable, @unchecked Sendable {
  let id: Int
  init(id: Int) { self.id = id }
}

/// A class whose superclass has other keys.
final class Light: SeaMark, SqlCodable, @unchecked Sendable {
  let color: String
  static let id = column("id", Int.self, PrimaryKey())
  static let color = column("color", String.self)
  static let tableLayout = [id.column, color.column]
  enum CodingKeys: CodingKey { case color }
  init(id: Int, color: String) {
    self.color = color
    super.init(id: id)
  }
  required init(from decoder: any Decoder) throws {
    color = try decoder.container(keyedBy: CodingKeys.self).decode(String.self, forKey: .color)
    try super.init(from: decoder)
  }
  override func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(color, forKey: .color)
    try super.encode(to: encoder)
  }
}
