import Hummingbird
import Logging
import Sqlable
import SqlableChanges

/// A full-text index of the bicycles in a second database, which a named consumer keeps in step with the first.
///
/// The consumer's position is in the first database. A change is delivered again if the service was killed between the
/// commit in the index and the acknowledgment. That does no harm, because a change replaces or deletes a whole entry.
/// With several processes of the service, the index would also have to store and compare positions.
struct SearchIndex: Sendable {
  let pool: SqlitePool
  static let consumer = "search-index"

  init(filepath: String) throws {
    pool = try SqlitePool(filepath: filepath, configuration: .init(handles: .init(label: "search")))
    try pool.transaction { db in _ = try db.createTable(IndexedBicycle.self) }
  }

  /// Applies the changes of the bicycles until the task is cancelled or one of the pools closes.
  func follow(_ bicycles: SqlitePool) async throws {
    while true {
      do {
        for try await batch in bicycles.changes(on: Bicycle.self, as: SearchIndex.consumer) {
          if batch.isSnapshot { try await IndexedBicycle.deleteAll().run(pool) }
          var changes: [LoggedRow<Bicycle>] = []
          for try await change in batch.changes {
            changes.append(change.row)
            if changes.count == 1_000 { try await apply(&changes) }
          }
          try await apply(&changes)
          try await batch.acknowledge()
        }
        return
      } catch let error as SqlError where error.isUnknownPosition {
        // After a restore, the index starts again with all bicycles.
        try await bicycles.removeChangeConsumer(SearchIndex.consumer)
      }
    }
  }

  private func apply(_ changes: inout [LoggedRow<Bicycle>]) async throws {
    let rows = changes
    changes = []
    guard !rows.isEmpty else { return }
    try await pool.transaction { db in
      for row in rows {
        switch row {
        case .insert(let bicycle): try IndexedBicycle(bicycle).save().run(db)
        case .update(let old, let new):
          if old.id != new.id { try IndexedBicycle.delete(IndexedBicycle.id == old.id).run(db) }
          try IndexedBicycle(new).save().run(db)
        case .delete(let bicycle): try IndexedBicycle.delete(IndexedBicycle.id == bicycle.id).run(db)
        }
      }
    }
  }

  /// Returns the numbers of the bicycles whose name or color has words that begin like those of the text, best first.
  func find(_ text: String) async throws -> [Int] {
    try await IndexedBicycle.search(.prefix(text)).select(IndexedBicycle.id).limit(20).run(pool).compactMap(\.self)
  }
}

/// An entry of the index.
struct IndexedBicycle: Sqlable {
  var id: Int?
  var name: String
  var color: String

  static let id = column("id", Int?.self, PrimaryKey())
  static let name = column("name", String.self)
  static let color = column("color", String.self)
  static let tableLayout = [id.column, name.column, color.column]
  static let tableFullText = FullTextIndex(name, color, prefixes: [2, 3])

  init(_ bicycle: Bicycle) { (id, name, color) = (bicycle.id, bicycle.name, bicycle.color) }

  init(row: ReadRow) throws {
    id = try row.get(IndexedBicycle.id)
    name = try row.get(IndexedBicycle.name)
    color = try row.get(IndexedBicycle.color)
  }

  func write(to row: inout RowWriter) throws {
    row.set(IndexedBicycle.id, id)
    row.set(IndexedBicycle.name, name)
    row.set(IndexedBicycle.color, color)
  }
}
