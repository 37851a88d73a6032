import Foundation
import SqlableCore

/// A row with one column of each simple type, most of them with a twin that may be NULL. A test names the columns that
/// it is about; the others have defaults.
struct Sample: Sqlable, Equatable {
  var id: Int
  var text: String?
  var part = ""
  var other = ""
  var number = 0
  var count: Int?
  var real = 0.0
  var weight: Double?
  var isOpen = false
  var isPaid: Bool?
  var day: Date?
  var bytes: Data?
  var tags: [String]?
  var uuid: UUID?
  var parent: Int?

  static let id = column("id", Int.self, PrimaryKey())
  static let text = column("text", String?.self)
  static let part = column("part", String.self, Default(""))
  static let other = column("other", String.self, Default(""))
  static let number = column("number", Int.self, Default(0))
  static let count = column("count", Int?.self)
  static let real = column("real", Double.self, Default(0.0))
  static let weight = column("weight", Double?.self)
  static let isOpen = column("is_open", Bool.self, Default(false))
  static let isPaid = column("is_paid", Bool?.self)
  static let day = column("day", Date?.self, as: .date(.unixMilliseconds))
  static let bytes = column("bytes", Data?.self)
  static let tags = column("tags", [String]?.self)
  static let uuid = column("uuid", UUID?.self)
  static let parent = column("parent", Int?.self)
  static let tableLayout = [
    id.column, text.column, part.column, other.column, number.column, count.column, real.column, weight.column,
    isOpen.column, isPaid.column, day.column, bytes.column, tags.column, uuid.column, parent.column,
  ]
}

extension Sample {
  init(row: ReadRow) throws {
    id = try row.get(Sample.id)
    text = try row.get(Sample.text)
    part = try row.get(Sample.part)
    other = try row.get(Sample.other)
    number = try row.get(Sample.number)
    count = try row.get(Sample.count)
    real = try row.get(Sample.real)
    weight = try row.get(Sample.weight)
    isOpen = try row.get(Sample.isOpen)
    isPaid = try row.get(Sample.isPaid)
    day = try row.get(Sample.day)
    bytes = try row.get(Sample.bytes)
    tags = try row.get(Sample.tags)
    uuid = try row.get(Sample.uuid)
    parent = try row.get(Sample.parent)
  }

  func write(to row: inout RowWriter) throws {
    row.set(Sample.id, id)
    row.set(Sample.text, text)
    row.set(Sample.part, part)
    row.set(Sample.other, other)
    row.set(Sample.number, number)
    row.set(Sample.count, count)
    row.set(Sample.real, real)
    row.set(Sample.weight, weight)
    row.set(Sample.isOpen, isOpen)
    row.set(Sample.isPaid, isPaid)
    row.set(Sample.day, day)
    row.set(Sample.bytes, bytes)
    row.set(Sample.tags, tags)
    row.set(Sample.uuid, uuid)
    row.set(Sample.parent, parent)
  }
}
