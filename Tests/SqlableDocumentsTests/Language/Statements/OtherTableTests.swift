import FoundationEssentials
import SqlableCore
import SqlableDocuments
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Statements on another table with the model's layout.
@Suite struct OtherTableTests {
  @Test func everyStatementRunsOnAnotherTable() throws {
    try withCompany { db in
      #expect(try db.createTable(Bicycle.self, named: "old \"bikes\"").addedIndexes == ["old \"bikes\"_color"])
      let name = "old \"bikes\""
      let bike = Bicycle(id: 7, name: "Brompton", color: "red")
      #expect(bike.insert().in(name).sql == #"INSERT INTO "old ""bikes""" ("id", "name", "color") VALUES (?, ?, ?)"#)
      #expect(try bike.insert().in(name).run(db) == 7)
      #expect(
        try Bicycle.insert([Bicycle(name: "a", color: "b"), Bicycle(name: "c", color: "d")]).in(name).run(db) == [8, 9])
      #expect(try Bicycle.insert().in(name).run(db, streaming: [Bicycle(name: "e", color: "f")]) == 1)
      #expect(try Bicycle.count().in(name).run(db) == 4)
      #expect(try Bicycle.count().run(db) == 4)
      #expect(try Bicycle.byId(7).in(name).run(db)?.name == "Brompton")
      #expect(try Bicycle.byId(7).run(db) == nil)
      #expect(try Bicycle.exists().in(name).filter(Bicycle.id == 8).run(db))
      #expect(try Bicycle(id: 7, name: "Brompton", color: "blue").save().in(name).run(db) == 7)
      #expect(try Bicycle(id: 8, name: "z", color: "b").update().in(name).run(db) == 1)
      #expect(try Bicycle.update(Bicycle.color.set(to: "x")).in(name).filter(Bicycle.id > 8).limit(1).run(db) == 1)
      #expect(try Bicycle(id: 8, name: "", color: "").delete().in(name).run(db) == 1)
      #expect(try Bicycle.read().in(name).orderBy(Bicycle.id).run(db).map(\.color) == ["blue", "x", "f"])
      let byId = try db.prepare(Bicycle.read().in(name).filter(Bicycle.id == Parameter<Null>("id")))
      #expect(try byId.run(7).map(\.color) == ["blue"])
      #expect(try Bicycle.deleteAll().in(name).run(db) == 3)
      #expect(try Bicycle.count().run(db) == 4)
    }
  }

  @Test func theSameStatementOnTwoTablesIsTwoStatements() throws {
    try withCompany { db in
      try db.createTable(Worker.self, named: "former")
      try Worker(id: 1, name: "Zoe", bossId: nil, salary: 1).insert().in("former").run(db)
      let read = Worker.read().filter(Worker.id == 1)
      for _ in 1...3 {
        #expect(try read.run(db).map(\.name) == ["Ada"])
        #expect(try read.in("former").run(db).map(\.name) == ["Zoe"])
        #expect(try Worker.read().filter(Worker.id == 1).in("former").run(db).map(\.name) == ["Zoe"])
      }
      #expect(read != read.in("former"))
      #expect(read.in("former") == read.in("former"))
      let data = try JSONEncoder().encode(read.in("former"))
      let decoder = JSONDecoder()
      decoder.userInfo[.statementRules] = StatementRules(tables: ["former"])
      #expect(try decoder.decode(Statement<Worker, [Worker]>.self, from: data) == read.in("former"))
    }
  }

  @Test func twoTablesOfALayoutAreJoinedByAnAlias() throws {
    try withCompany { db in
      try db.createTable(Worker.self, named: "former")
      try Worker.insert(from: Worker.read().filter(Worker.id < 3)).in("former").run(db)
      let former = Alias(Worker.self, "f", in: "former")
      let both = Worker.select(Worker.name, former[Worker.salary]).joining(former, on: Worker.id == former[Worker.id])
      #expect(
        both.sql == #"""
          SELECT "worker"."name", "f"."salary" FROM "worker" JOIN "former" AS "f" ON "worker"."id" = "f"."id"
          """#)
      #expect(try both.run(db).map(\.1) == [10, 5])
    }
  }

  @Test func canonicallyEquivalentTableNamesStayDistinct() throws {
    try withDatabase { db in
      try db.createTable(Person.self)
      let names = ["caf\u{e9}", "cafe\u{301}"]
      for (id, name) in names.enumerated() {
        try db.createTable(Bicycle.self, named: name)
        try Bicycle(id: id, name: "Brompton", color: "red").insert().in(name).run(db)
      }
      for (id, name) in names.enumerated() { #expect(try Bicycle.read().in(name).run(db).map(\.id) == [id]) }
      #expect(try db.query("SELECT count(*) FROM \(table: names[1])", as: Int.self) == [1])
    }
  }

  @Test func observersAreNotifiedOfTheirTableOnly() throws {
    try withCompany { db in
      try db.createTable(Worker.self, named: "former")
      let heard = Mutex<[String]>([])
      db.observe(on: Worker.self) { id in heard.withLock { $0.append("worker \(id)") } }
      db.observe(on: Worker.self, in: "former") { id in heard.withLock { $0.append("former \(id)") } }
      try Worker(id: 8, name: "Eve", bossId: nil, salary: 1).insert().in("former").run(db)
      try Worker(id: 9, name: "Eve", bossId: nil, salary: 1).insert().run(db)
      #expect(heard.withLock { $0 } == ["former 8", "worker 9"])
    }
  }

  @Test func aTableThatIsMissingOrHasNoNameThrows() throws {
    try withCompany { db in
      expectError(.schema(.missingTable("nosuch"))) { _ = try Bicycle.read().in("nosuch").run(db) }
      expectMisuse { _ = try Bicycle.read().in("").run(db) }
      expectMisuse { _ = try Bicycle.read().in("a\0b").run(db) }
      expectMisuse { try db.createTable(Bicycle.self, named: "") }
    }
  }
}
