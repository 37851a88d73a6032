#if GRDB
import Foundation
import GRDB

extension MixedRow {
  fileprivate var arguments: StatementArguments {
    [id, name, bio, price, active, nick, at.timeIntervalSince1970]
  }
}

extension Peers {
  private func inserting(
    _ name: String, _ queue: DatabaseQueue, _ one: @escaping (Database, Int) throws -> Void
  ) -> Contender {
    writing(name) { [count] in
      try queue.write { db in
        var sum: UInt64 = 0
        for index in 0..<count {
          try one(db, index)
          sum &+= UInt64(db.lastInsertedRowID)
        }
        return sum
      }
    }
  }

  func insertsInOne() throws -> [Contender] {
    let queue = try writer()
    let rows = (1...count).map { MixedRow(number: $0) }
    let named = rows.map { ByName<RealDates>($0) }
    let codable = rows.map { ByCodable<RealDates>($0) }
    return [
      inserting(Name.grdbName, queue) { try named[$1].insert($0) },
      inserting(Name.grdbCodable, queue) { try codable[$1].insert($0) },
      inserting(Name.grdbCached, queue) {
        try $0.cachedStatement(sql: Peers.insert).execute(arguments: rows[$1].arguments)
      },
    ]
  }

  func loneInserts() throws -> [Contender] {
    let queue = try writer()
    try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = OFF") }
    let rows = (1...count).map { MixedRow(number: $0) }
    let named = rows.map { ByName<RealDates>($0) }
    let codable = rows.map { ByCodable<RealDates>($0) }
    func alone(_ name: String, _ one: @escaping (Database, Int) throws -> Void) -> Contender {
      writing(name) { [count] in
        try (0..<count).reduce(0) { sum, index in
          try queue.write { db in
            try one(db, index)
            return sum &+ UInt64(db.lastInsertedRowID)
          }
        }
      }
    }
    return [
      alone(Name.grdbName) { try named[$1].insert($0) },
      alone(Name.grdbCodable) { try codable[$1].insert($0) },
      alone(Name.grdbCached) { try $0.cachedStatement(sql: Peers.insert).execute(arguments: rows[$1].arguments) },
    ]
  }

  func updatesByKey() throws -> [Contender] {
    let queue = try writer()
    let rows = (1...count).map { MixedRow(number: $0).changed }
    let named = rows.map { ByName<RealDates>($0) }
    let codable = rows.map { ByCodable<RealDates>($0) }
    func updating(_ name: String, _ one: @escaping (Database, Int) throws -> Void) -> Contender {
      writing(name, rows: count) { [count] in
        try queue.write { db in
          var changed: UInt64 = 0
          for index in 0..<count {
            try one(db, index)
            changed &+= UInt64(db.changesCount)
          }
          return changed
        }
      }
    }
    return [
      updating(Name.grdbName) { try named[$1].update($0) },
      updating(Name.grdbCodable) { try codable[$1].update($0) },
      updating(Name.grdbCached) {
        let sql = "UPDATE mixed SET name = ?2, bio = ?3, price = ?4, active = ?5, nick = ?6, at = ?7 WHERE id = ?1"
        try $0.cachedStatement(sql: sql).execute(arguments: rows[$1].arguments)
      },
    ]
  }

  func observedInserts() throws -> [Contender] {
    let queue = try writer()
    let rows = (1...count).map { MixedRow(number: $0) }
    let named = rows.map { ByName<RealDates>($0) }
    let codable = rows.map { ByCodable<RealDates>($0) }
    func observing(_ name: String, _ one: @escaping (Database, Int) throws -> Void) -> Contender {
      let observer = InsertObserver()
      return writing(
        name,
        setUp: {
          observer.sum = 0
          queue.add(transactionObserver: observer)
        }, tearDown: { queue.remove(transactionObserver: observer) },
        run: { [count] in
          try queue.write { db in for index in 0..<count { try one(db, index) } }
          return observer.sum
        })
    }
    return [
      observing(Name.grdbName) { try named[$1].insert($0) },
      observing(Name.grdbCodable) { try codable[$1].insert($0) },
      observing(Name.grdbCached) { try $0.cachedStatement(sql: Peers.insert).execute(arguments: rows[$1].arguments) },
    ]
  }

  func readModifyWrite() throws -> [Contender] {
    let queue = try writer()
    let ids = fixture.keys(count)
    func editing(_ name: String, _ one: @escaping (Database, Int) throws -> UInt64) -> Contender {
      writing(name, rows: fixture.rows) {
        try ids.reduce(0) { sum, id in sum &+ (try queue.write { try one($0, id) }) }
      }
    }
    return [
      editing(Name.grdbIndex) { db, id in
        guard var record = try ByIndex<RealDates>.fetchOne(db, key: id) else { return 0 }
        let digest = record.digest
        record.row.price += 1
        try record.update(db, columns: ["price"])
        return digest
      },
      editing(Name.grdbCodable) { db, id in
        guard var record = try ByCodable<RealDates>.fetchOne(db, key: id) else { return 0 }
        let digest = record.digest
        record.row.price += 1
        try record.update(db, columns: ["price"])
        return digest
      },
      editing(Name.grdbCached) { db, id in
        let select = try db.cachedStatement(sql: "SELECT \(Peers.columns) FROM mixed WHERE id = ?")
        guard let record = try ByIndex<RealDates>.fetchOne(select, arguments: [id]) else { return 0 }
        let update = try db.cachedStatement(sql: "UPDATE mixed SET price = ? WHERE id = ?")
        try update.execute(arguments: [record.row.price + 1, id])
        return record.digest
      },
    ]
  }

  func attachments() throws -> [Contender] {
    let queue = try writer()
    let content = AttachmentRow.content
    func storing(
      _ name: String, insert: @escaping (Database, Int) throws -> Void, read: @escaping (Database, Int) throws -> UInt64
    ) -> Contender {
      writing(name) { [count] in
        try queue.write { db in
          for id in 1...count { try insert(db, id) }
          return try (1...count).reduce(0) { $0 &+ (try read(db, $1)) }
        }
      }
    }
    return [
      storing(Name.grdbCodable) { db, id in
        try AttachmentRow(id: id, content: content).insert(db)
      } read: { db, id in
        try AttachmentRow.fetchOne(db, key: id)?.digest ?? 0
      },
      storing(Name.grdbCached) { db, id in
        let insert = try db.cachedStatement(sql: "INSERT INTO attachment (id, content) VALUES (?, ?)")
        try insert.execute(arguments: [id, content])
      } read: { db, id in
        let select = try db.cachedStatement(sql: "SELECT id, content FROM attachment WHERE id = ?")
        return try AttachmentByIndex.fetchOne(select, arguments: [id])?.digest ?? 0
      },
    ]
  }

  // MARK: - Throughput

  func throughput() throws -> [Contender] {
    try fixture.reset(.grdb)
    let pool = try DatabasePool(path: fixture.path(of: .grdb), configuration: Peers.configuration)
    let (span, rows) = (fixture.span, fixture.rows)
    func measuring(_ name: String, _ one: @escaping @Sendable (Database, Int) throws -> Int?) -> Contender {
      Contender(
        name, setUp: { [fixture] in try fixture.reset(.grdb, rows: rows) },
        rate: {
          try Threads.rate(span) { reader in
            try Threads.repeat(for: span, from: reader * 1009, rows: rows) { id in
              try pool.read { try one($0, id) } == id
            }
          } writer: {
            try Threads.repeat(for: span, from: 0, rows: rows, batch: 1) { id in
              try pool.write { db in
                let update = try db.cachedStatement(sql: "UPDATE mixed SET price = ? WHERE id = ?")
                try update.execute(arguments: [Double(id), id])
                return db.changesCount == 1
              }
            }
          }
        })
    }
    return [
      measuring(Name.grdbIndex + " pool") { try ByIndex<RealDates>.fetchOne($0, key: $1)?.row.id },
      measuring(Name.grdbCached + " pool") { db, id in
        let statement = try db.cachedStatement(sql: "SELECT \(Peers.columns) FROM mixed WHERE id = ?")
        return try ByIndex<RealDates>.fetchOne(statement, arguments: [id])?.row.id
      },
    ]
  }
}

/// Adds up the ids of what was inserted. Only used by one queue at a time.
private final class InsertObserver: TransactionObserver {
  var sum: UInt64 = 0

  func observes(eventsOfKind kind: DatabaseEventKind) -> Bool {
    if case .insert(tableName: "mixed") = kind { return true }
    return false
  }

  func databaseDidChange(with event: DatabaseEvent) { sum &+= UInt64(event.rowID) }
  func databaseDidCommit(_ db: Database) {}
  func databaseDidRollback(_ db: Database) {}
}
#endif
