import Dispatch
import Foundation
import Sqlable
import Synchronization

extension Subject {
  static func handles(_ place: Place) -> [Subject] {
    [
      Subject(
        "handles on new files: open and close", 60, prepare: { $0 },
        measure: { count in
          let handles = try (0..<count).map { _ in try SqliteDatabase(filepath: place.path()) }
          for db in handles { try db.close() }
        }),
      Subject(
        "handles in memory: open and close", 250, prepare: { $0 },
        measure: { count in
          let handles = try (0..<count).map { _ in try SqliteDatabase.inMemory() }
          for db in handles { try db.close() }
        }),
      Subject(
        "children: create, read and close", 60, prepare: { (try filled(place), $0) },
        measure: { db, count in
          let children = try (0..<count).map { _ in try db.createChild() }
          for child in children { _ = try Item.count().run(child) }
          for child in children { try child.close() }
        }),
      Subject(
        "pools: open, read and close", 30, prepare: { $0 },
        measure: { count in
          let pools = try (0..<count).map { _ in try SqlitePool(filepath: place.path(), readers: 1) }
          for pool in pools { _ = try pool.query("SELECT 1", as: Int.self) }
          for pool in pools { try pool.close() }
        }),
      Subject(
        "release of memory of many handles", 250,
        prepare: { count in
          try (0..<count).map { _ in try SqliteDatabase.inMemory() }
        }, measure: { _ in SqliteDatabase.releaseMemory() }),
    ] + observers(place) + subscribers(place)
  }

  private static func filled(_ place: Place) throws -> SqliteDatabase {
    let db = try SqliteDatabase(filepath: place.path())
    try db.createTable(Item.self)
    try Item.insert((0..<100).map { Item(name: "item \($0)", price: $0) }).run(db)
    return db
  }

  // MARK: Observers

  private static func observers(_ place: Place) -> [Subject] {
    func observed(_ count: Int, on database: some LocalDatabase) -> [ObserverToken] {
      (0..<count).map { database.observe(on: Item.self, id: $0) { (_: Int) in } }
    }
    return [
      Subject(
        "observers: register", 1_250, prepare: { (try Item.database(), $0) },
        measure: { db, count in
          _ = observed(count, on: db)
        }),
      Subject(
        "observers: register, each with a commit", 150, prepare: { (try Item.database(100), $0) },
        measure: { db, count in
          for number in 0..<count {
            db.observe(on: Item.self, id: number) { (_: Int) in }
            try Item.update(Item.price.set(to: number)).filter(Item.id == 1).run(db)
          }
        }),
      Subject(
        "observers: one commit", 1_250,
        prepare: { count in
          let db = try Item.database(100)
          _ = observed(count, on: db)
          try Item.update(Item.price.set(to: 0)).filter(Item.id == 1).run(db)
          return db
        }, measure: { db in try Item.update(Item.price.set(to: 1)).filter(Item.id == 1).run(db) }),
      Subject(
        "observers of all rows: one commit that removes one", 1_250,
        prepare: { count in
          let db = try Item.database(100)
          let token = db.observe(on: Item.self) { (_: Int) in }
          db.observe(on: Item.self) { (_: Int) in db.removeObserver(token) }
          for _ in 0..<count { db.observe(on: Item.self) { (_: Int) in } }
          return db
        }, measure: { db in try Item.update(Item.price.set(to: 1)).filter(Item.id == 1).run(db) }),
      Subject(
        "observers: one commit of n rows", 500,
        prepare: { count in
          let db = try Item.database(count)
          db.observe(on: Item.self) { (_: Int) in }
          return db
        }, measure: { db in try Item.updateAll(Item.price.set(to: -1)).run(db) }),
      Subject(
        "observers: remove", 1_250,
        prepare: { count in
          let db = try Item.database()
          return (db, observed(count, on: db))
        }, measure: { db, tokens in for token in tokens { db.removeObserver(token) } }),
      Subject(
        "observers: remove, last first", 1_250,
        prepare: { count in
          let db = try Item.database()
          return (db, observed(count, on: db))
        }, measure: { db, tokens in for token in tokens.reversed() { db.removeObserver(token) } }),
    ]
  }

  // MARK: Loops and live results

  private static func subscribers(_ place: Place) -> [Subject] {
    [
      Subject(
        "loops over changes by id: create", 1_250, prepare: { (try pool(place), $0) },
        measure: { pool, count in
          withExtendedLifetime((0..<count).map { pool.changes(on: Item.self, id: $0) }) {}
        }),
      Subject(
        "loops over changes of all rows: create", 1_250, prepare: { (try pool(place), $0) },
        measure: { pool, count in
          withExtendedLifetime((0..<count).map { _ in pool.changes(on: Item.self) }) {}
        }),
      Subject(
        "loops over changes by id: one commit", 1_250,
        prepare: { count in
          let pool = try pool(place)
          return (pool, (0..<count).map { pool.changes(on: Item.self, id: $0) })
        },
        measure: { pool, changes in
          try Item.update(Item.price.set(to: 1)).filter(Item.id == 1).run(pool)
          withExtendedLifetime(changes) {}
        }),
      live("live results by id", place) { Item.read().filter(Item.id == $0) },
      live("equal live results", place) { _ in Item.read().orderBy(Item.id).limit(20) },
      live("live results by price", place) { Item.read().filter(Item.price > $0).limit(5) },
    ]
  }

  private static func pool(_ place: Place) throws -> SqlitePool {
    let pool = try SqlitePool(filepath: place.path(), readers: 1)
    try pool.transaction { db in
      try db.createTable(Item.self)
      try Item.insert((0..<100).map { Item(name: "item \($0)", price: $0) }).run(db)
    }
    return pool
  }

  /// Live results of one pool: the first results of all, and the end of all.
  private static func live(
    _ name: String, _ place: Place, _ read: @escaping @Sendable (Int) -> Statement<Item, [Item]>
  ) -> Subject {
    Subject(
      "\(name): start, one commit, end", 150, prepare: { (try pool(place), $0) },
      measure: { pool, count in
        let started = Counter()
        let loops = (0..<count).map { number in
          Task { for try await _ in read(number).updates(in: pool) { started.add() } }
        }
        while started.value < count { try await Task.sleep(for: .microseconds(200)) }
        try await Item.update(Item.price.set(to: 1_000)).filter(Item.id == 1).run(pool)
        for loop in loops { loop.cancel() }
        for loop in loops { _ = await loop.result }
        try await pool.close()
      })
  }
}

private final class Counter: Sendable {
  private let count = Atomic(0)

  var value: Int { count.load(ordering: .relaxed) }
  func add() { count.add(1, ordering: .relaxed) }
}
