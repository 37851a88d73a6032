import Foundation
import SqlableCore
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Tests that the comparison covers every column option: an option that is not compared never reaches a plan.
@Suite struct ColumnOptionDifferenceTests {
  private func table(_ columns: String) throws -> DatabaseSchema {
    let db = try SqliteDatabase.inMemory()
    let sql = "CREATE TABLE part (id INTEGER PRIMARY KEY, \(columns))"
    try db.execute(sql)
    return try db.schema()
  }

  private func members(_ column: DatabaseSchema.Column) throws -> [String: Any] {
    let json = try JSONSerialization.jsonObject(with: JSONEncoder().encode(column))
    return try #require(json as? [String: Any])
  }

  @Test func everyColumnOptionIsCompared() throws {
    let plain = try table("own TEXT, made TEXT")
    let full = try table(
      """
      own TEXT CONSTRAINT here NOT NULL ON CONFLICT REPLACE DEFAULT 'a' COLLATE NOCASE,
      made INTEGER GENERATED ALWAYS AS (id + 1) STORED
      """)
    var options: Set<String> = []
    for index in plain.tables[0].columns.indices {
      let column = plain.tables[0].columns[index]
      for (key, value) in try members(full.tables[0].columns[index]) where key != "name" {
        var changed = try members(column)
        guard "\(changed[key] ?? "")" != "\(value)" else { continue }
        changed[key] = value
        options.insert(key)
        var other = plain
        let data = try JSONSerialization.data(withJSONObject: changed)
        other.tables[0].columns[index] = try JSONDecoder().decode(DatabaseSchema.Column.self, from: data)
        let differences = plain.differences(from: other)
        // Constraint names are not compared.
        #expect(differences.isEmpty == (key == "notNullName"), "\(key)")
      }
    }
    // The model above declares every option.
    let labels = Mirror(reflecting: plain.tables[0].columns[0]).children.compactMap(\.label)
    let names = Set(labels.map { $0.hasPrefix("_") ? String($0.dropFirst()) : $0 })
    #expect(options == names.subtracting(["name"]))
  }
}
