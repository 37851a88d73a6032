import Foundation
import Sqlable
import SqlableCluster
import Testing

/// Tests of rollbacks and of the transaction state in errors.
@Suite struct TransactionTests {
  private func withPeople(_ body: (SqliteCluster) async throws -> Void) async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      try await Person(id: 1, name: "Ann").insert().run(cluster)
      try await body(cluster)
    }
  }

  private func names(_ cluster: SqliteCluster) async throws -> [String] {
    try await Person.read().orderBy(Person.id).run(cluster).map(\.name)
  }

  @Test func aClosureThatReturnsRollbackIsUndone() async throws {
    try await withPeople { cluster in
      let result = try await cluster.transaction { tx -> TransactionResult in
        try await Person(id: 2, name: "Bo").insert().run(tx)
        return .rollback
      }
      #expect(result == .rollback)
      let id = UUID()
      try await cluster.transaction(id: id) { tx -> TransactionResult in
        try await Person(id: 3, name: "Cy").insert().run(tx)
        return .rollback
      }
      #expect(try await names(cluster) == ["Ann"])
      // A rolled back transaction does not record its id.
      let again = try await cluster.transaction(id: id) { tx -> TransactionResult in
        try await Person(id: 4, name: "Di").insert().run(tx)
        try await tx.transaction { tx -> TransactionResult in
          try await Person(id: 5, name: "Ed").insert().run(tx)
          return .rollback
        }
        try await cluster.transaction { tx -> TransactionResult in
          try await Person(id: 6, name: "Flo").insert().run(tx)
          return .commit
        }
        return .commit
      }
      #expect(again == .commit)
      #expect(try await names(cluster) == ["Ann", "Di", "Flo"])
    }
  }

  @Test func aNestedClosureThatFailsIsUndoneAlone() async throws {
    try await withPeople { cluster in
      let errors = Locked<[SqlError?]>([])
      try await cluster.transaction { tx in
        try await Person(id: 2, name: "Bo").insert().run(tx)
        // The inner closure throws the error.
        let outer = await failure {
          _ = try await tx.transaction { tx in
            try await Person(id: 3, name: "Cy").insert().run(tx)
            return try await Person(id: 1, name: "Di").insert().run(tx)
          }
        }
        // The outer closure catches the error, but the whole transaction is undone.
        struct Stopped: Error {}
        do {
          try await cluster.transaction { tx in
            try await Person(id: 4, name: "Ed").insert().run(tx)
            let inner = await failure { try await Person(id: 1, name: "Flo").insert().run(tx) }
            errors.with { $0.append(inner) }
            try await tx.transaction { tx in try await Person(id: 5, name: "Gus").insert().run(tx) }
            throw Stopped()
          }
        } catch is Stopped {}
        errors.with { $0.append(outer) }
        try await tx.transaction { tx in
          try await Person(id: 6, name: "Hal").insert().run(tx)
          let inner = await failure { try await Person(id: 1, name: "Flo").insert().run(tx) }
          errors.with { $0.append(inner) }
        }
      }
      for error in errors.with({ $0 }) {
        #expect(error?.kind == .constraint(.primaryKey))
        #expect(error?.transaction == .untouched)
      }
      #expect(errors.with { $0.count } == 3)
      #expect(try await names(cluster) == ["Ann", "Bo", "Hal"])
    }
  }

  @Test func aTriggerThatEndsTheTransactionEndsTheNestedOneToo() async throws {
    try await withPeople { cluster in
      try await cluster.execute(
        "CREATE TRIGGER t BEFORE INSERT ON person WHEN new.name = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'no'); END")
      let error = await failure {
        try await cluster.transaction { tx in
          try await Person(id: 2, name: "Bo").insert().run(tx)
          _ = try await tx.transaction { tx in try await Person(id: 3, name: "bad").insert().run(tx) }
        }
      }
      #expect(error?.kind == .constraint(.trigger))
      #expect(error?.message == "no")
      #expect(error?.transaction == .rolledBack)
      #expect(try await names(cluster) == ["Ann"])
    }
  }

  @Test func errorReportsTheStateOfTheTransaction() async throws {
    try await withPeople { cluster in
      let left = await failure {
        _ = try await cluster.transaction { tx in try await Person(id: 1, name: "Bo").insert().run(tx) }
      }
      #expect(left?.kind == .constraint(.primaryKey))
      #expect(left?.transaction == .rolledBack)
      try await cluster.transaction { tx in
        let text = "a\u{0}b"
        let unsent = await failure { try await Person(id: 2, name: text).insert().run(tx) }
        #expect(unsent?.transaction == .untouched)
        #expect(unsent?.sql?.hasPrefix("INSERT INTO") == true)
        #expect(unsent?.message.contains("b") == false || unsent?.message.contains(text) == false)
        let unread = await failure { _ = try await tx.query("SELECT name FROM person", as: Int.self) }
        #expect(unread?.transaction == .untouched)
        let unknown = await failure { try await Bicycle.read().filter(Person.id == 1).run(tx) }
        #expect(unknown?.transaction == .untouched)
      }
      let after = await failure { _ = try await cluster.query("SELECT name FROM person", as: Int.self) }
      #expect(after?.transaction == SqlError.TransactionFate.none)
    }
  }

  @Test func aChangeWhoseRowsCannotBeReadIsUndone() async throws {
    try await withPeople { cluster in
      try await Person(id: 2, name: "Bo").insert().run(cluster)
      let change: SQL = "UPDATE person SET name = name || '!' RETURNING name"
      let wrong = await failure { _ = try await cluster.query(change, as: Int.self) }
      if case .decoding? = wrong?.kind {} else { Issue.record("\(String(describing: wrong))") }
      let many = await failure { _ = try await cluster.query(change, as: String.self, Int.self) }
      #expect(many?.isMisuse == true)
      // The struct expects a text, and the column has a BLOB.
      try await cluster.createTables(Bicycle.self)
      try await cluster.execute("INSERT INTO bicycle (name, color) VALUES (x'ff00', 'red')")
      let model = await failure {
        _ = try await Bicycle.updateAll(Bicycle.color.set(to: "blue")).returning().run(cluster)
      }
      if case .decoding? = model?.kind {} else { Issue.record("\(String(describing: model))") }
      let terms = await failure {
        _ = try await Bicycle.updateAll(Bicycle.color.set(to: "blue")).returning(Bicycle.name.typed(as: String.self))
          .run(cluster)
      }
      if case .decoding? = terms?.kind {} else { Issue.record("\(String(describing: terms))") }
      #expect(try await cluster.query("SELECT color FROM bicycle", as: String.self) == ["red"])
      #expect(try await names(cluster) == ["Ann", "Bo"])
      // In a transaction, only that change is undone.
      try await cluster.transaction { tx in
        try await Person(id: 3, name: "Cy").insert().run(tx)
        let error = await failure { _ = try await tx.query(change, as: Int.self) }
        #expect(error?.transaction == .untouched)
      }
      #expect(try await names(cluster) == ["Ann", "Bo", "Cy"])
    }
  }

  @Test func writesThatShareACommitWithARefusedOneAreStored() async throws {
    try await withPeople { cluster in
      let counts = await withTaskGroup(of: (stored: Int, refused: Int).self) { group in
        for number in 0..<200 {
          group.addTask {
            do {
              if number % 10 == 0 {
                _ = try await cluster.query(
                  "INSERT INTO person (name) VALUES ('refused') RETURNING name", as: Int.self)
              } else {
                try await Person(id: nil, name: "stored").insert().run(cluster)
              }
              return (1, 0)
            } catch { return (0, 1) }
          }
        }
        return await group.reduce(into: (0, 0)) { ($0.0, $0.1) = ($0.0 + $1.stored, $0.1 + $1.refused) }
      }
      #expect(counts == (180, 20))
      let stored = try await names(cluster).filter { $0 != "Ann" }
      #expect(stored == Array(repeating: "stored", count: 180))
    }
  }

  @Test func batchErrorNamesItsStruct() async throws {
    try await withPeople { cluster in
      var people = (0..<300).map { Person(id: 100 + $0, name: "p\($0)") }
      people[170] = Person(id: 1, name: "again")
      let batch = people
      let plain = await failure { try await Person.insert(batch).run(cluster) }
      let repeatable = await failure { try await cluster.run(Person.insert(batch), id: UUID()) }
      let nested = await failure { _ = try await cluster.transaction { tx in try await Person.insert(batch).run(tx) } }
      // With the trigger, the client sends the rows one by one.
      try await cluster.execute(
        "CREATE TRIGGER t BEFORE INSERT ON person WHEN new.name = 'bad' BEGIN SELECT RAISE(ROLLBACK, 'no'); END")
      let slow = await failure { try await Person.insert(batch).run(cluster) }
      for error in [plain, repeatable, nested, slow] {
        #expect(error?.kind == .constraint(.primaryKey))
        #expect(error?.batchIndex == 170)
      }
      let single = await failure { try await batch[170].insert().run(cluster) }
      let singleWithId = await failure { try await cluster.run(batch[170].insert(), id: UUID()) }
      #expect(single != nil)
      #expect(single?.batchIndex == nil)
      #expect(singleWithId?.batchIndex == nil)
      #expect(try await names(cluster) == ["Ann"])
    }
  }

  @Test func errorsContainNoValues() async throws {
    try await withPeople { cluster in
      try await cluster.execute("CREATE VIRTUAL TABLE f USING fts5 (text)")
      let secret = "secret99"
      let path = await failure { try await cluster.execute("UPDATE person SET name = json_extract('{}', \(secret))") }
      let search = await failure {
        try await cluster.execute("DELETE FROM f WHERE f MATCH \("secret99:abc")")
      }
      let query = await failure {
        _ = try await cluster.query("SELECT text FROM f WHERE f MATCH \("\"secret99")", as: String.self)
      }
      for error in [path, search, query] {
        #expect(error != nil)
        #expect("\(String(describing: error))".contains("secret99") == false)
      }
      // Names in the statement stay.
      let column = await failure { try await cluster.execute("DELETE FROM f WHERE f MATCH 'x' AND absent = 1") }
      #expect(column?.kind == .schema(.missingColumn("absent")))
    }
  }

  @Test func temporaryTablesAreRefusedByTheirSchemaName() async throws {
    try await withPeople { cluster in
      for sql: SQL in [
        "CREATE TABLE temp.person (id)", "CREATE VIEW Temp.v AS SELECT 1", "CREATE TABLE IF NOT EXISTS \"temp\".q (x)",
        "CREATE TEMP TABLE q (x)",
      ] {
        let error = await failure { try await cluster.execute(sql) }
        #expect(error?.isMisuse == true)
        #expect(error?.message.contains("does not support temporary tables") == true)
      }
      try await cluster.execute("CREATE VIEW v AS SELECT temp.id FROM person AS temp")
    }
  }

  @Test func statementWithoutRemainingTimeIsNotSent() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      let id = try await cluster.transaction { tx in
        let error = await failure { try await withDeadline(.zero) { _ = try await Person.count().run(tx) } }
        #expect(error?.kind == .timeout)
        #expect(error?.transaction == .untouched)
        return try await Person(id: nil, name: "a").insert().run(tx)
      }
      #expect(id == 1)
    }
  }
}
