import Foundation
import Sqlable

/// A row of the join of three tables.
struct Loan: Codable, Digestible {
  var id: Int
  var title: String
  var author: String
  var pages: Int

  @inline(__always)
  var digest: UInt64 {
    var digest = Digest()
    digest.add(id)
    digest.add(title)
    digest.add(author)
    digest.add(pages)
    return digest.value
  }
}

/// What a document holds as JSON.
struct Body: Codable, SqlJSON, Equatable {
  var city: String
  var visits: Int
  var rating: Double
  var tags: [String]
}

/// A row with a JSON column.
struct DocumentRow: Codable, Digestible {
  var id: Int
  var body: Body

  @inline(__always)
  var digest: UInt64 {
    var digest = Digest()
    digest.add(id)
    digest.add(body.city)
    digest.add(body.visits)
    digest.add(body.rating)
    for tag in body.tags { digest.add(tag) }
    return digest.value
  }
}

struct UntypedDocument: Sqlable, Digestible {
  var row: DocumentRow

  static let id = Column("id", .integer, PrimaryKey())
  static let body = Column("body", .text)
  static let tableName = "document"
  static let tableLayout = [id, body]

  init(row: ReadRow) throws {
    self.row = DocumentRow(id: try row.get(UntypedDocument.id), body: try row.get(UntypedDocument.body))
  }

  @inline(__always)
  var digest: UInt64 { row.digest }
}

struct TypedDocument: Sqlable, Digestible {
  var row: DocumentRow

  static let id = column("id", Int.self, PrimaryKey())
  static let body = column("body", Body.self)
  static let tableName = "document"
  static let tableLayout = [id.column, body.column]

  init(row: ReadRow) throws {
    self.row = DocumentRow(id: try row.get(TypedDocument.id), body: try row.get(TypedDocument.body))
  }

  @inline(__always)
  var digest: UInt64 { row.digest }
}

/// A row with a blob.
struct AttachmentRow: Codable, Digestible {
  var id: Int
  var content: Data

  @inline(__always)
  var digest: UInt64 {
    var digest = Digest()
    digest.add(id)
    digest.add(content)
    return digest.value
  }
}

struct UntypedAttachment: Sqlable, Digestible {
  var row: AttachmentRow

  static let id = Column("id", .integer, PrimaryKey())
  static let content = Column("content", .blob)
  static let tableName = "attachment"
  static let tableLayout = [id, content]

  init(_ row: AttachmentRow) { self.row = row }

  init(row: ReadRow) throws {
    self.row = AttachmentRow(id: try row.get(UntypedAttachment.id), content: try row.get(UntypedAttachment.content))
  }

  func valueForColumn(_ column: Column) -> SqlValue? {
    switch column {
    case UntypedAttachment.id: return row.id
    case UntypedAttachment.content: return row.content
    case _: return nil
    }
  }

  @inline(__always)
  var digest: UInt64 { row.digest }
}

struct TypedAttachment: Sqlable, Digestible {
  var row: AttachmentRow

  static let id = column("id", Int.self, PrimaryKey())
  static let content = column("content", Data.self)
  static let tableName = "attachment"
  static let tableLayout = [id.column, content.column]

  init(_ row: AttachmentRow) { self.row = row }

  init(row: ReadRow) throws {
    self.row = AttachmentRow(id: try row.get(TypedAttachment.id), content: try row.get(TypedAttachment.content))
  }

  func write(to writer: inout RowWriter) throws {
    writer.set(TypedAttachment.id, row.id)
    writer.set(TypedAttachment.content, row.content)
  }

  @inline(__always)
  var digest: UInt64 { row.digest }
}
