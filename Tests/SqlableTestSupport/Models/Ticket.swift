import Foundation
import SqlableCodable
import SqlableCore
import SqlableQueries
import SqlableSchema

// The models of Docs/Tutorial.md.

struct User: SqlCodable, Equatable {
  var id: Int?
  var email: String
  var name: String
}

extension User {
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let email = column("email", String.self, Unique(), Collate.nocase)
  static let name = column("name", String.self)
  static let tableLayout = [id.column, email.column, name.column]
}

struct Ticket: SqlCodable, Equatable {
  var id: Int?
  var title: String
  var status = Status.open
  var authorId: Int
  var assigneeId: Int?
  var createdAt = Date()

  enum Status: String, Codable, SqlValue { case open, waiting, closed }
}

extension Ticket {
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let title = column("title", String.self, Check("title <> ''"))
  static let status = column("status", Status.self)
  static let authorId = column("author_id", Int.self, ForeignKey<User>())
  static let assigneeId = column("assignee_id", Int?.self, ForeignKey<User>(onDelete: .setNull))
  static let createdAt = column("created_at", Date.self, as: .date(.unixMilliseconds))
  static let tableLayout = [
    id.column, title.column, status.column, authorId.column, assigneeId.column, createdAt.column,
  ]
  static let tableIndexes = [Index(createdAt), Index(status, createdAt), Index(assigneeId, createdAt)]
}

struct Reply: SqlCodable, Equatable {
  var id: Int?
  var ticketId: Int
  var authorId: Int
  var text: String
}

extension Reply {
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let ticketId = column("ticket_id", Int.self, ForeignKey<Ticket>(onDelete: .cascade))
  static let authorId = column("author_id", Int.self, ForeignKey<User>())
  static let text = column("text", String.self)
  static let tableLayout = [id.column, ticketId.column, authorId.column, text.column]
  static let tableIndexes = [Index(ticketId)]
}

extension Ticket {
  static let author = toOne(User.self, by: authorId)
  static let assignee = toOne(User.self, by: assigneeId)
  static let replies = toMany(Reply.self, by: Reply.ticketId)
}
extension Reply {
  static let author = toOne(User.self, by: authorId)
}
