import Foundation
import Sqlable
import SqlableChanges
import SqlableCluster

/// A named consumer as a process, which the tests kill. It stores a mark for each inserted person.
struct ConsumerProcess {
  let nodes: [String]

  func run() async throws {
    Task.detached {
      while readLine() != nil {}
      exit(3)
    }
    var configuration = ClusterConfiguration()
    configuration.timeout = .seconds(300)
    let cluster = try SqliteCluster(nodes: nodes, configuration: configuration)
    for try await batch in cluster.changes(on: FollowedPerson.self, as: "process", lease: .seconds(1)) {
      for try await change in batch.changes {
        guard case .insert(let person) = change.row else { continue }
        try await cluster.execute("INSERT OR IGNORE INTO mark (id) VALUES (\(person.id))")
      }
      try await batch.acknowledge()
    }
  }
}

private struct FollowedPerson: Sqlable {
  static let id = column("id", Int.self, PrimaryKey())
  static let tableName = "person"
  static let tableLayout = [id.column]
  var id: Int

  init(row: ReadRow) throws { id = try row.get(FollowedPerson.id) }

  func write(to row: inout RowWriter) throws { row.set(FollowedPerson.id, id) }
}
