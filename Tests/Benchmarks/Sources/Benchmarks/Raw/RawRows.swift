import CBaseline
import Foundation

/// Rows in the form of the C baseline. Their texts live as long as this object.
final class RawRows {
  let rows: UnsafeMutableBufferPointer<baseline_row>

  var count: Int32 { Int32(rows.count) }

  init(_ source: [MixedRow]) {
    rows = .allocate(capacity: source.count)
    _ = rows.initialize(
      from: source.map { row in
        baseline_row(
          id: Int64(row.id), name: strdup(row.name), name_length: Int32(row.name.utf8.count), bio: strdup(row.bio),
          bio_length: Int32(row.bio.utf8.count), price: row.price, active: row.active ? 1 : 0,
          nick: row.nick.map { strdup($0) } ?? nil, nick_length: Int32(row.nick?.utf8.count ?? 0),
          at: row.at.timeIntervalSince1970)
      })
  }

  deinit {
    for row in rows {
      free(row.name)
      free(row.bio)
      free(row.nick)
    }
    rows.deallocate()
  }
}

/// Texts in the form of the C baseline. They live as long as this object.
final class RawTexts {
  let texts: UnsafeMutableBufferPointer<UnsafePointer<CChar>?>

  init(_ source: [String]) {
    texts = .allocate(capacity: source.count)
    _ = texts.initialize(from: source.map { UnsafePointer(strdup($0)) })
  }

  deinit {
    for text in texts { free(UnsafeMutablePointer(mutating: text)) }
    texts.deallocate()
  }
}
