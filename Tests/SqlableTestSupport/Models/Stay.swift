import Foundation
import SqlableCore
import SqlableSchema

/// A moment in every date format, with an optional text, a number and JSON.
struct Stay: Sqlable, Equatable {
  var id: Int
  var real: Date
  var seconds: Date
  var milliseconds: Date
  var iso: Date
  var sqlite: Date
  var left: Date?
  var note: String?
  var flags: Int
  var doc: String?
  static let id = column("id", Int.self, PrimaryKey())
  static let real = column("real", Date.self)
  static let seconds = column("seconds", Date.self, as: .date(.unixSeconds))
  static let milliseconds = column("milliseconds", Date.self, as: .date(.unixMilliseconds))
  static let iso = column("iso", Date.self, as: .date(.iso8601))
  static let sqlite = column("sqlite", Date.self, as: .date(.sqliteText))
  static let left = column("left", Date?.self, as: .date(.unixMilliseconds))
  static let note = column("note", String?.self)
  static let flags = column("flags", Int.self)
  static let doc = column("doc", String?.self)
  static let tableLayout = [
    id.column, real.column, seconds.column, milliseconds.column, iso.column, sqlite.column, left.column, note.column,
    flags.column, doc.column,
  ]

  init(id: Int, at date: Date, left: Date? = nil, note: String? = nil, flags: Int = 0, doc: String? = nil) {
    self.id = id
    real = date
    seconds = date
    milliseconds = date
    iso = date
    sqlite = date
    self.left = left
    self.note = note
    self.flags = flags
    self.doc = doc
  }

  init(row: ReadRow) throws {
    self.init(id: try row.get(Stay.id), at: try row.get(Stay.real), left: try row.get(Stay.left))
    note = try row.get(Stay.note)
    flags = try row.get(Stay.flags)
    doc = try row.get(Stay.doc)
    for other in [Stay.seconds, Stay.milliseconds, Stay.iso, Stay.sqlite] { row.skip(other) }
  }

  func write(to row: inout RowWriter) throws {
    row.set(Stay.id, id)
    row.set(Stay.real, real)
    row.set(Stay.seconds, seconds)
    row.set(Stay.milliseconds, milliseconds)
    row.set(Stay.iso, iso)
    row.set(Stay.sqlite, sqlite)
    row.set(Stay.left, left)
    row.set(Stay.note, note)
    row.set(Stay.flags, flags)
    row.set(Stay.doc, doc)
  }

  /// 2024-01-31 13:45:30 UTC, a Wednesday.
  static let moment = Date(timeIntervalSince1970: 1_706_708_730)
}

/// Calls `body` with a table of the stays.
func withStays(_ stays: Stay..., body: (SqliteDatabase) throws -> Void) throws {
  try withDatabase { db in
    try db.createTable(Stay.self)
    for stay in stays { try stay.insert().run(db) }
    try body(db)
  }
}

/// Texts that would change a statement if they became part of its SQL.
let textsLikeSQL = [
  "'", "\"", "'; DROP TABLE stay; --", "\\", "%", "_", "\\%_", "100%", "a\"].b", "?", "?1", ":id", "]", "$.x", "[0]",
  "é\u{301}", "--", "/*", "", " ",
]
