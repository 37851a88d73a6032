import Foundation
import Sqlable
import SqlableAdvice
import SqlableBackup
import Testing

@testable import SqlableTestSupport

/// The examples of Docs/Tutorial.md.
@Suite struct TutorialGuide {
  let all = Migrations([
    Migration("tables", sql: TicketStore.tables),
    Migration("priority", sql: "ALTER TABLE ticket ADD COLUMN priority INTEGER NOT NULL DEFAULT 0"),
  ])

  @Test func firstMigrationCreatesTheTablesOfTheModels() throws {
    print(try Schema(User.self, Ticket.self, Reply.self).plan(SqliteDatabase.inMemory()))
    let plan = try TicketStore.schema.plan(SqliteDatabase.inMemory())
    let words = TicketStore.tables.split(whereSeparator: \.isWhitespace).joined(separator: " ")
    #expect(plan.steps.flatMap { $0.statements.map(\.sql) } == words.components(separatedBy: "; "))
    #expect(plan.steps.map(\.table) == ["user", "ticket", "reply"])
    try Migrations(TicketStore.migrations.all, fresh: TicketStore.schema).checkFreshSchema()
  }

  @Test func changedMigrationIsRefused() async throws {
    let pool = try SqlitePool.inMemory()
    let wrong = TicketStore.tables.replacing("\"name\" TEXT NOT NULL", with: "\"name\" TEXT")
    try await Migrations([Migration("tables", sql: wrong)]).apply(pool)
    let difference = await #expect(throws: SqlError.self) { try await TicketStore.schema.verify(pool) }
    #expect(
      difference?.message
        == "the database differs from the models: user.name: the NOT NULL is not set, and should be set")
    let change = await #expect(throws: SqlError.self) { try await TicketStore.migrations.apply(pool) }
    #expect(
      change?.message == """
        migration tables was changed after the database had run it; undo the change, and add a new migration
        """)
    try await pool.close()
  }

  @Test func mainOpensAndClosesThePool() async throws {
    try await withDirectoryAsync { directory in
      let path = directory + "/tickets.sqlite"
      let pool = try await openPool(at: path)
      let store = TicketStore(pool: pool)
      // here the web server calls `store`, until SIGTERM
      try await pool.close(within: .seconds(5))
      #expect(store.pool.configuration.handles.synchronous == .full)
      #expect(FileManager.default.fileExists(atPath: path))
    }
  }

  @Test func ticketsAreOpenedAndAssigned() async throws {
    let store = try await TicketStore(pool: .inMemory(schema: TicketStore.schema, migrations: TicketStore.migrations))
    let anna = try await store.signIn(email: "anna@example.com", name: "Anna")
    let id = try await store.open("The door is stuck", by: anna)
    let isAssigned = try await store.assign(id, to: anna)
    let isMissing = try await !store.assign(99, to: anna)
    let ticket = try await Ticket.byId(id).run(store.pool)
    #expect(isAssigned)
    #expect(isMissing)
    #expect(ticket?.assigneeId == anna)
    #expect(ticket?.status == .open)
    #expect(
      Ticket.update(Ticket.assigneeId.set(to: nil)).filter(Ticket.id == 1).sql
        == #"UPDATE "ticket" SET "assignee_id" = ? WHERE "id" = ?"#)
    #expect(
      Ticket(title: "", authorId: 1).insert().sql == """
        INSERT INTO "ticket" ("title", "status", "author_id", "assignee_id", "created_at") VALUES (?, ?, ?, ?, ?)
        """)
    try await store.pool.close()
  }

  @Test func filterHasOneConditionPerValue() async throws {
    let filter = TicketFilter(status: .open, words: ["door", "stuck"])
    print(filter.page().sql)
    #expect(
      filter.page().sql == #"""
        SELECT "id", "title", "status", "author_id", "assignee_id", "created_at" FROM "ticket" \#
        WHERE "status" = ? AND "title" LIKE ? ESCAPE '\' AND "title" LIKE ? ESCAPE '\' \#
        ORDER BY "created_at" DESC, "id" DESC LIMIT ?
        """#)
    #expect(
      filter.applied(to: Ticket.count()).sql == #"""
        SELECT count(*) FROM "ticket" WHERE "status" = ? AND "title" LIKE ? ESCAPE '\' AND "title" LIKE ? ESCAPE '\'
        """#)
    #expect(TicketFilter().applied(to: Ticket.count()).sql == #"SELECT count(*) FROM "ticket""#)
    #expect(TicketFilter(assigneeId: 3).applied(to: Ticket.count()).sql.hasSuffix(#" WHERE "assignee_id" = ?"#))
    #expect(TicketFilter(since: Date()).applied(to: Ticket.count()).sql.hasSuffix(#" WHERE "created_at" >= ?"#))

    // A nil that is not unwrapped asks for the tickets without an assignee.
    let assignee: Int? = nil
    #expect(Ticket.read().filter(Ticket.assigneeId == assignee).sql.hasSuffix(#" WHERE "assignee_id" IS NULL"#))
    let either = SqlExpression.any([Ticket.status == .open, Ticket.status == .waiting])
    #expect(Ticket.count().filter(either).sql == #"SELECT count(*) FROM "ticket" WHERE "status" = ? OR "status" = ?"#)
  }

  @Test func pagesUseAnIndexAndMissNoRow() async throws {
    let store = try await TicketStore(pool: .inMemory(schema: TicketStore.schema, migrations: TicketStore.migrations))
    let anna = try await store.signIn(email: "anna@example.com", name: "Anna")
    let tickets = (1...50).map { Ticket(title: "\($0)", authorId: anna, createdAt: Date(timeIntervalSince1970: 7)) }
    try await Ticket.insert(tickets).run(store.pool)
    let page = try await repeatingAfterTimeouts {  // not shown
      let first = try await withDeadline(.seconds(2)) { try await store.list(TicketFilter(status: .open)) }
      return first  // not shown
    }  // not shown
    let second = try await store.list(TicketFilter(status: .open), after: page.tickets.last)
    #expect(page.count == 50)
    #expect((page.tickets + second.tickets).map(\.id) == (11...50).reversed())
    let plan = try await TicketFilter(status: .open).page().explain(store.pool)
    print(plan)  // SEARCH ticket USING INDEX ticket_status_created_at (status=?)
    #expect(plan.description == "SEARCH ticket USING INDEX ticket_status_created_at (status=?)")
    for filter in [TicketFilter(), TicketFilter(assigneeId: 1), TicketFilter(status: .open)] {
      #expect(try await filter.page().advice(store.pool).isEmpty)
      let page = try await store.list(filter)
      #expect(page.count == (filter.assigneeId == nil ? 50 : 0))
    }
    try await store.pool.close()
  }

  @Test func associationsReadOneStatementEach() async throws {
    let store = try await TicketStore(pool: .inMemory(schema: TicketStore.schema, migrations: TicketStore.migrations))
    let anna = try await store.signIn(email: "anna@example.com", name: "Anna")
    let id = try await store.open("The door is stuck", by: anna)
    let other = try await store.open("The lamp is dark", by: anna)
    try await Reply(ticketId: id, authorId: anna, text: "Since Monday").insert().run(store.pool)
    let reads = Collected<String>()
    let token = store.pool.trace { event in if event.kind == .read { reads.append(event.sql) } }
    let found = try await store.ticket(id)
    store.pool.removeTrace(token)
    #expect(found?.0.title == "The door is stuck")
    #expect(found?.1?.name == "Anna")
    #expect(found?.2.map(\.0.text) == ["Since Monday"])
    #expect(found?.2.map(\.1?.name) == ["Anna"])
    #expect(
      reads.values == [
        """
        SELECT "id", "title", "status", "author_id", "assignee_id", "created_at" FROM "ticket" \
        WHERE "id" = ? LIMIT ?
        """,
        #"SELECT "id", "email", "name" FROM "user" WHERE "id" IN (?)"#,
        #"SELECT "id", "ticket_id", "author_id", "text" FROM "reply" WHERE "ticket_id" IN (?) ORDER BY "id""#,
        #"SELECT "id", "email", "name" FROM "user" WHERE "id" IN (?)"#,
      ])
    let missing = try await store.ticket(99)
    let unanswered = try await store.unanswered()
    #expect(missing == nil)
    #expect(unanswered.map(\.id) == [other])
    #expect(
      Ticket.read().whereNone(Ticket.replies).orderBy(Ticket.createdAt).limit(100).sql == """
        SELECT "id", "title", "status", "author_id", "assignee_id", "created_at" FROM "ticket" \
        WHERE NOT "id" IN (SELECT "reply"."ticket_id" FROM "reply") ORDER BY "created_at" LIMIT ?
        """)
    try await store.pool.close()
  }

  @Test(.needs(35, "RETURNING")) func upsertKeepsTheId() async throws {
    let store = try await TicketStore(pool: .inMemory(schema: TicketStore.schema, migrations: TicketStore.migrations))
    let anna = try await store.signIn(email: "anna@example.com", name: "Anna")
    let again = try await store.signIn(email: "ANNA@example.com", name: "Anna B.")
    let bo = try await store.signIn(email: "bo@example.com", name: "Bo")
    let users = try await User.read().orderBy(User.id).run(store.pool)
    #expect(again == anna)
    #expect(bo == 3)  // the upsert that found Anna took the 2
    #expect(users.map(\.name) == ["Anna B.", "Bo"])
    #expect(users.map(\.email) == ["anna@example.com", "bo@example.com"])
    #expect(
      User(email: "", name: "").insert().onConflict(User.email, update: User.name).sql == """
        INSERT INTO "user" ("email", "name") VALUES (?, ?) \
        ON CONFLICT ("email") DO UPDATE SET "name" = excluded."name" RETURNING "id"
        """)
    try await store.pool.close()
  }

  @Test func aTicketIsClosedOnce() async throws {
    let store = try await TicketStore(pool: .inMemory(schema: TicketStore.schema, migrations: TicketStore.migrations))
    let anna = try await store.signIn(email: "anna@example.com", name: "Anna")
    let id = try await store.open("The door is stuck", by: anna)
    try await store.close(id, by: anna, saying: "Oiled")
    await #expect(throws: NotOpen.self) { try await store.close(id, by: anna, saying: "Oiled again") }
    let replies = try await Reply.count().run(store.pool)
    #expect(replies == 1)
    try await store.pool.close()
  }

  @Test func openTicketsAreFollowed() async throws {
    let store = try await TicketStore(pool: .inMemory(schema: TicketStore.schema, migrations: TicketStore.migrations))
    let anna = try await store.signIn(email: "anna@example.com", name: "Anna")
    let numbers = Collected<Int>()
    func send(_ number: Int) { numbers.append(number) }
    let badge = Task {
      for try await number in store.numberOfOpenTickets() { send(number) }
    }
    func sent(_ count: Int) async throws {
      try await until { numbers.values.count >= count }
    }
    try await sent(1)
    let id = try await store.open("The door is stuck", by: anna)
    try await sent(2)
    try await store.close(id, by: anna, saying: "Oiled")
    try await sent(3)
    try await store.pool.close()
    try await badge.value
    #expect(numbers.values == [0, 1, 0])
  }

  @Test func errorsHaveAStatus() async throws {
    let store = try await TicketStore(pool: .inMemory(schema: TicketStore.schema, migrations: TicketStore.migrations))
    let anna = try await store.signIn(email: "anna@example.com", name: "Anna")
    let id = try await store.open("The door is stuck", by: anna)
    func status(_ call: () async throws -> Void) async -> Int {
      do {
        try await call()
        return 200
      } catch { return httpStatus(of: error) }
    }
    #expect(await status { _ = try await store.open("", by: anna) } == 422)
    #expect(await status { _ = try await store.open("x", by: 99) } == 422)
    #expect(await status { try await User(email: "ANNA@example.com", name: "").insert().run(store.pool) } == 409)
    #expect(await status { try await store.close(99, by: anna, saying: "") } == 409)
    #expect(await status { _ = try await User.delete(User.id == anna).run(store.pool) } == 422)
    #expect(await status { try await withDeadline(.zero) { _ = try await store.list(TicketFilter()) } } == 503)
    // The reply has no author: the transaction is rolled back, and the ticket stays open.
    #expect(await status { try await store.close(id, by: 99, saying: "") } == 422)
    let ticket = try await Ticket.byId(id).run(store.pool)
    #expect(ticket?.status == .open)
    try await store.pool.close()
    #expect(await status { _ = try await store.list(TicketFilter()) } == 500)
  }

  @Test func secondReleaseKeepsTheRows() throws {
    let schema = Schema(User.self, PrioritizedTicket.self, Reply.self)
    let db = try SqliteDatabase.inMemory()
    try TicketStore.migrations.apply(db)
    let plan = try schema.plan(db)
    #expect(
      plan.description == """
        ticket: add column priority
          ALTER TABLE "ticket" ADD COLUMN "priority" INTEGER NOT NULL DEFAULT 0
        """)
    try all.checkPastVersions { db, version in
      guard version == "tables" else { return }
      try db.execute("INSERT INTO user (email, name) VALUES ('anna@example.com', 'Anna')")
      try db.execute("INSERT INTO ticket (title, status, author_id, created_at) VALUES ('x', 'open', 1, 0)")
    } checking: { db, version in
      try schema.verify(db)
      let priorities = try db.query("SELECT priority FROM ticket", as: Int.self)
      #expect(priorities == (version == "tables" ? [0] : []))
    }
    try plan.apply(db)
    try User(email: "anna@example.com", name: "Anna").insert().run(db)
    try PrioritizedTicket(title: "x", authorId: 1, priority: 3).insert().run(db)
    #expect(try PrioritizedTicket.read().run(db).map(\.priority) == [3])
  }

  @Test func backupIsRestoredIntoTheOpenPool() async throws {
    try await withDirectoryAsync { directory in
      let pool = try await openPool(at: directory + "/tickets.sqlite")
      let store = TicketStore(pool: pool)
      let anna = try await store.signIn(email: "anna@example.com", name: "Anna")
      _ = try await store.open("The door is stuck", by: anna)
      let copyPath = directory + "/backup.sqlite"
      let options = BackupOptions(schema: TicketStore.schema, bytesPerSecond: 20 << 20, timeLimit: .seconds(600))
      try await pool.backup(to: copyPath, options)
      try await Ticket.deleteAll().run(pool)
      try await pool.restore(from: copyPath, options)
      #expect(try await Ticket.count().run(pool) == 1)
      try await pool.close(within: .seconds(5))
    }
  }

  @Test func poolReportsItsHealth() async throws {
    try await withDirectoryAsync { directory in
      let pool = try await openPool(at: directory + "/tickets.sqlite")
      pool.trace(.slow(.milliseconds(50))) { event in print(event) }
      pool.didFail = { error in print(error) }
      var isAnswered = false  // not shown
      for _ in 1...1_000 where !isAnswered {  // not shown
        let health = await pool.health(within: .milliseconds(500))
        if !health.isHealthy { print(health.problems) }
        isAnswered = health.answer != nil  // not shown
      }  // not shown
      #expect(isAnswered)
      try await pool.close(within: .seconds(5))
      let closed = await pool.health(within: .seconds(600))
      #expect(closed.problems == [.closed])
    }
  }
}
