import Sqlable

@testable import SqlableTestSupport

/// Three migrations to the present table of bicycles.
enum BicycleMigrations {
  static let first = Migration(
    "bicycles",
    sql: """
      CREATE TABLE person (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL);
      CREATE TABLE bicycle
        (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, colour TEXT NOT NULL DEFAULT 'black')
      """)
  static let second = Migration("color", sql: "ALTER TABLE bicycle RENAME COLUMN colour TO color")
  static let third = Migration("the rest", revision: 1) { db in
    let schema = Schema(Person.self, Bicycle.self)
    try schema.plan(db).apply(db)
  }

  static let all = [first, second, third]
}
