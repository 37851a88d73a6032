import Foundation
import Sqlable

@testable import SqlableTestSupport

struct TicketStore: Sendable {
  let pool: SqlitePool
}

extension TicketStore {
  static let schema = Schema(User.self, Ticket.self, Reply.self)
  static let migrations = Migrations([Migration("tables", sql: tables)])

  static let tables = """
    CREATE TABLE "user" ("id" INTEGER PRIMARY KEY AUTOINCREMENT,
      "email" TEXT NOT NULL UNIQUE COLLATE NOCASE, "name" TEXT NOT NULL);
    CREATE TABLE "ticket" ("id" INTEGER PRIMARY KEY AUTOINCREMENT,
      "title" TEXT NOT NULL CHECK (title <> ''), "status" TEXT NOT NULL,
      "author_id" INTEGER NOT NULL REFERENCES "user" ("id"),
      "assignee_id" INTEGER REFERENCES "user" ("id") ON DELETE SET NULL, "created_at" INTEGER NOT NULL);
    CREATE INDEX "ticket_created_at" ON "ticket" ("created_at");
    CREATE INDEX "ticket_status_created_at" ON "ticket" ("status", "created_at");
    CREATE INDEX "ticket_assignee_id_created_at" ON "ticket" ("assignee_id", "created_at");
    CREATE TABLE "reply" ("id" INTEGER PRIMARY KEY AUTOINCREMENT,
      "ticket_id" INTEGER NOT NULL REFERENCES "ticket" ("id") ON DELETE CASCADE,
      "author_id" INTEGER NOT NULL REFERENCES "user" ("id"), "text" TEXT NOT NULL);
    CREATE INDEX "reply_ticket_id" ON "reply" ("ticket_id")
    """
}

func openPool(at path: String) async throws -> SqlitePool {
  var configuration = PoolConfiguration()
  configuration.handles.label = "tickets"
  configuration.handles.synchronous = .full
  return try await SqlitePool(
    filepath: path, configuration: configuration, schema: TicketStore.schema, migrations: TicketStore.migrations)
}

extension TicketStore {
  func open(_ title: String, by author: Int) async throws -> Int {
    try await Ticket(title: title, authorId: author).insert().run(pool)
  }

  func assign(_ ticket: Int, to user: Int?) async throws -> Bool {
    try await Ticket.update(Ticket.assigneeId.set(to: user)).filter(Ticket.id == ticket).run(pool) == 1
  }
}

struct TicketFilter: Sendable {
  var status: Ticket.Status?
  var assigneeId: Int?
  var since: Date?
  var words: [String] = []

  func applied<Output>(to statement: Statement<Ticket, Output>) -> Statement<Ticket, Output> {
    var result = statement
    if let status { result = result.filter(Ticket.status == status) }
    if let assigneeId { result = result.filter(Ticket.assigneeId == assigneeId) }
    if let since { result = result.filter(Ticket.createdAt >= since) }
    for word in words { result = result.filter(Ticket.title.contains(word)) }
    return result
  }
}

extension TicketFilter {
  func page(after last: Ticket? = nil) -> Statement<Ticket, [Ticket]> {
    applied(to: Ticket.read()).orderBy(Ticket.createdAt, .desc).page(after: last, limit: 20)
  }
}

extension TicketStore {
  func list(_ filter: TicketFilter, after last: Ticket? = nil) async throws -> (tickets: [Ticket], count: Int) {
    try await pool.read { db in
      (tickets: try filter.page(after: last).run(db), count: try filter.applied(to: Ticket.count()).run(db))
    }
  }
}

extension TicketStore {
  func ticket(_ id: Int) async throws -> (Ticket, User?, [(Reply, User?)])? {
    let replies = Ticket.replies.orderBy(Reply.id).including(Reply.author)
    return try await Ticket.byId(id).including(Ticket.author, replies).run(pool)
  }

  func unanswered() async throws -> [Ticket] {
    try await Ticket.read().whereNone(Ticket.replies).orderBy(Ticket.createdAt).limit(100).run(pool)
  }
}

extension TicketStore {
  func signIn(email: String, name: String) async throws -> Int {
    try await User(email: email, name: name).insert().onConflict(User.email, update: User.name).run(pool)
  }
}

struct NotOpen: Error {}

extension TicketStore {
  func close(_ ticket: Int, by user: Int, saying text: String) async throws {
    try await pool.transaction { db in
      let open = Ticket.id == ticket && Ticket.status != .closed
      guard try Ticket.update(Ticket.status.set(to: .closed)).filter(open).run(db) == 1 else { throw NotOpen() }
      try Reply(ticketId: ticket, authorId: user, text: text).insert().run(db)
    }
  }
}

extension TicketStore {
  func numberOfOpenTickets() -> LiveQuery<Int> {
    TicketFilter(status: .open).applied(to: Ticket.count()).updates(in: pool, onlyChanges: true)
  }
}

func httpStatus(of error: any Error) -> Int {
  if error is NotOpen { return 409 }
  guard let error = error as? SqlError else { return 500 }
  return switch error.kind {
  case .constraint(.unique): 409
  case .constraint: 422
  case .busy, .timeout: 503
  default: 500
  }
}

/// `Ticket` in the second release.
struct PrioritizedTicket: SqlCodable, Equatable {
  var id: Int?
  var title: String
  var status = Ticket.Status.open
  var authorId: Int
  var assigneeId: Int?
  var createdAt = Date()
  var priority = 0
}

extension PrioritizedTicket {
  static let tableName = "ticket"
  static let id = column("id", Int.self, PrimaryKey(autoincrement: true))
  static let title = column("title", String.self, Check("title <> ''"))
  static let status = column("status", Ticket.Status.self)
  static let authorId = column("author_id", Int.self, ForeignKey<User>())
  static let assigneeId = column("assignee_id", Int?.self, ForeignKey<User>(onDelete: .setNull))
  static let createdAt = column("created_at", Date.self, as: .date(.unixMilliseconds))
  static let priority = column("priority", Int.self, Default(0))
  static let tableLayout = [
    id.column, title.column, status.column, authorId.column, assigneeId.column, createdAt.column, priority.column,
  ]
  static let tableIndexes = [Index(createdAt), Index(status, createdAt), Index(assigneeId, createdAt)]
}
