import Foundation
import SqlableCore
import SqlableQueries
import Testing

@testable import SqlableTestSupport

/// Queries with hostile names and values, which must do the same as harmless ones.
@Suite struct HostileQueryTests {
  @Test func hostileNamesAndValuesDoNotChangeTheBytecode() throws {
    let seed = SeededGenerator.seed
    var generator = QueryGenerator(seed: seed &+ 1)
    var compared = 0
    for _ in 0..<times(6) {
      let tables = [generator.rows(), generator.rows()]
      try withQueryTables(tables, .harmless) { harmless, _ in
        try withQueryTables(tables, .hostile) { hostile, _ in
          for _ in 0..<60 {
            let query = generator.query()
            var (plain, odd) = (QueryBuilder(world: .harmless), QueryBuilder(world: .hostile))
            let (own, other) = (plain.select(query), odd.select(query))
            guard let expected = try? bytecode(own, harmless) else { continue }
            compared += 1
            let found = try bytecode(other, hostile)
            #expect(found == expected, "seed \(seed): \(own.sql)\n\(other.sql)")
            #expect(own.bindings.count == other.bindings.count)
          }
        }
      }
    }
    #expect(compared > times(250))
  }

  private func bytecode(_ query: Select<some Any>, _ db: SqliteDatabase) throws -> [String] {
    try db.query("EXPLAIN \(query)") { try $0.get(at: 1) }
  }

  @Test func anyTextWithoutANULWorksAsAName() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      for text in hostileTexts {
        let isRefused = text.utf8.contains(0)
        let boss = Alias(Worker.self, text)
        let pairs = Worker.join(boss, on: Worker.bossId == boss[Worker.id]).select(Worker.name, boss[Worker.name])
          .orderBy(Worker.id)
        let named = Worker.select(Worker.id, Worker.name).filter(Worker.id > 2).named(text)
        let (id, name) = named.columns
        let column = Worker.select(Worker.id).named(text)
        let elements = JSONEach(TypedExpression("[1, 2]").expression, as: text)
        let numbers = Worker.read().joining(elements).select(elements.value(as: Int.self)).filter(Worker.id == 1)
        let double = ScalarFunction(text) { (value: Int) in value * 2 }
        let backwards = Collation(text) { $1.compare($0) }
        if isRefused {
          let refusals: [() throws -> Void] = [
            { _ = try pairs.run(db) }, { _ = try named.read().run(db) }, { _ = try column.read().run(db) },
            { _ = try numbers.run(db) }, { try db.register(double) },
            { _ = try Worker.select(double(Worker.id)).run(db) },
            { _ = try Worker.select(Worker.name).orderBy(Worker.name.collate(backwards)).run(db) },
            { _ = try Worker.read().in(text).run(db) },
          ]
          for (index, run) in refusals.enumerated() {
            let error = sqlError(run)
            let note: Comment = "\(index): \(String(describing: error))"
            #expect(error?.message.contains("NUL") == true, note)
            #expect(error?.code == 0, note)
          }
          continue
        }
        let found = try pairs.run(db)
        #expect(found.map(\.1) == ["Ada", "Ada", "Ben"], "\(text.prefix(50))")
        #expect(try named.read().orderBy(id).select(name).run(db) == ["Cleo", "Dan"])
        #expect(try column.read().filter(column.column < 3).run(db).count == 2)
        #expect(try numbers.run(db) == [1, 2])
        guard text.utf8.count < 200 else { continue }
        try db.register(double)
        #expect(try Worker.select(double(Worker.id)).orderBy(Worker.id).run(db) == [2, 4, 6, 8], "\(text)")
        try db.register(backwards)
        let names = try Worker.select(Worker.name).orderBy(Worker.name.collate(backwards)).run(db)
        #expect(names == ["Dan", "Cleo", "Ben", "Ada"], "\(text)")
        expectError(.schema(.missingTable(text))) { _ = try Worker.read().in(text).run(db) }
        try db.execute("CREATE TABLE \(table: text) AS SELECT * FROM worker WHERE id < 3")
        #expect(try Worker.read().in(text).run(db).count == 2)
        #expect(try Worker.read().in(text).filter(Worker.name == "Ben").run(db).map(\.id) == [2])
        try db.execute("DROP TABLE \(table: text)")
      }
    }
  }

  @Test func anyTextWorksAsAValueInEveryPosition() throws {
    try withCompany { (db: SqliteDatabase) throws -> Void in
      for text in hostileTexts {
        try Worker(id: 9, name: text, bossId: 1, salary: 1).insert().run(db)
        let same: SqlExpression = Worker.name == text
        let nameOf9 = Worker.select(Worker.name).filter(Worker.id == 9)
        let found = [
          try Worker.select(Worker.id).filter(same).run(db),
          try Worker.select(Worker.id).filter(Worker.name.in([text, "x"])).run(db),
          try Worker.select(Worker.id).filter(Worker.name.in(values([text, "x"]))).run(db),
          try Worker.select(Worker.id).filter(Worker.name.between(text, and: text)).run(db),
          try Worker.select(Worker.id).filter(Worker.name == scalar(nameOf9)).run(db),
          try Worker.select(Worker.id).groupBy(Worker.id, Worker.name.nullIf("?")).having(Worker.name.max() == text)
            .run(db),
          try Worker.select(Worker.id).union(Worker.select(Worker.id).filter(same)).intersect(
            Worker.select(Worker.id).filter(same)
          ).run(db),
          try db.query("SELECT id FROM worker WHERE \(same)", as: Int.self),
          try db.query("SELECT id FROM worker WHERE name = \(text)", as: Int.self),
        ]
        for ids in found { #expect(ids == [9], "\(text.prefix(50))") }
        // In one array literal, these elements take the compiler seconds to check.
        var outputs = [try nameOf9.first(db), try Worker.select(TypedExpression(text)).first(db)]
        outputs.append(try Worker.select(Case.when(Worker.id > 0, then: text).else("")).first(db))
        outputs.append(
          try Worker.select(Worker.bossId.cast(to: String.self).ifNull(text)).filter(Worker.id == 1).first(db))
        outputs.append(try Worker.select(Worker.name.max(where: Worker.name == text).ifNull("")).first(db))
        outputs.append(try values([text]).first(db))
        // In SQLite 3.34, group_concat() stops at a NUL byte.
        if SQLiteLibrary.isAtLeast(40) {
          outputs.append(try Worker.select(Worker.name.groupConcat(text)).filter(Worker.id == 9).first(db) ?? nil)
        }
        for output in outputs { #expect(output?.utf8.elementsEqual(text.utf8) == true, "\(text.prefix(50))") }
        try Worker.delete(Worker.id == 9).run(db)
      }
    }
  }
}
