import Foundation
import Glibc
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableChanges
@testable import SqlableTestSupport

/// A table whose rows are deleted with those of another table, and which migrations change.
struct ProofBike: Sqlable, Equatable {
  var id: Int
  var member: Int?
  var price: Int
  static let id = column("id", Int.self, PrimaryKey())
  static let member = column("member", Int?.self, ForeignKey<Member>(onDelete: .cascade, onUpdate: .cascade))
  static let price = column("price", Int.self)
  static let tableLayout = [id.column, member.column, price.column]

  init(id: Int, member: Int?, price: Int) { (self.id, self.member, self.price) = (id, member, price) }

  init(row: ReadRow) throws {
    id = try row.get(ProofBike.id)
    member = try row.get(ProofBike.member)
    price = try row.get(ProofBike.price)
  }

  func write(to row: inout RowWriter) throws {
    row.set(ProofBike.id, id)
    row.set(ProofBike.member, member)
    row.set(ProofBike.price, price)
  }
}

enum ProofTables {
  static func open(_ directory: String) throws -> SqliteDatabase {
    try SqliteDatabase(filepath: directory + "/log.sqlite", configuration: .init(busyTimeout: 600))
  }

  /// Opens the file in which consumers keep copies of the tables, and the positions of the copies.
  static func openCopy(_ directory: String) throws -> SqliteDatabase {
    let configuration = Configuration(busyTimeout: 600, foreignKeys: false)
    let copy = try SqliteDatabase(filepath: directory + "/copy.sqlite", configuration: configuration)
    try copy.createTables(Member.self, ProofBike.self)
    try copy.execute("CREATE TABLE IF NOT EXISTS seen (name TEXT PRIMARY KEY, position TEXT NOT NULL)")
    return copy
  }
}

/// The program of a writer or consumer process, which runs until it is killed.
@Suite(.enabled(if: ProcessInfo.processInfo.environment[ChangeProof.variable] != nil, "a process of its own"))
struct ChangeProofWorker {
  @Test func work() async throws {
    let words = try #require(ProcessInfo.processInfo.environment[ChangeProof.variable])
      .split(separator: " ", maxSplits: 2).map(String.init)
    let (role, directory) = (words[0], words[2])
    do {
      if role == "consumer" { return try await ProofConsumer(directory).run() }
      var writer = ProofWriter(role, directory, SeededGenerator(seed: try #require(UInt64(words[1]))))
      try writer.run()
    } catch {
      let problem = directory + "/problem-\(role)-\(getpid())"
      try "\(role): \(error)".write(toFile: problem, atomically: true, encoding: .utf8)
    }
  }
}

/// Writes random transactions on a handle or a pool. Some are rolled back, as a whole or in part.
private struct ProofWriter {
  private struct Rollback: Error {}
  private let role: String
  private let directory: String
  private var random: SeededGenerator

  init(_ role: String, _ directory: String, _ random: SeededGenerator) {
    (self.role, self.directory, self.random) = (role, directory, random)
  }

  mutating func run() throws {
    let db = role == "handle" ? try ProofTables.open(directory) : nil
    let pool =
      role == "pool"
      ? try SqlitePool(
        filepath: directory + "/log.sqlite", configuration: .init(handles: .init(busyTimeout: 600), waitTimeout: nil))
      : nil
    while true {
      if access(directory + "/pause", F_OK) == 0 {
        let file = directory + "/paused-\(role)"
        _ = FileManager.default.createFile(atPath: file, contents: nil)
        while access(directory + "/pause", F_OK) == 0 { usleep(2_000) }
        unlink(file)
      }
      let steps = (0..<Int.random(in: 1...6, using: &random)).map { _ in random.proofStep() }
      let (isUndone, isPartlyUndone) = (random.chance(10), random.chance(20))
      let body: @Sendable (SqliteDatabase) throws -> Void = { db in
        for (index, step) in steps.enumerated() {
          if isPartlyUndone, index % 2 == 1 {
            do {
              try db.transaction { db in
                try db.execute(step)
                throw Rollback()
              }
            } catch is Rollback {}
          } else {
            try db.execute(step)
          }
        }
        if isUndone { throw Rollback() }
      }
      do {
        try db?.transaction(.immediate) { db in try body(db) }
        try pool?.transaction { db in try body(db) }
      } catch is Rollback {}
      usleep(UInt32.random(in: 0..<3_000, using: &random))
    }
  }
}

extension SeededGenerator {
  /// A statement that changes one of the tables.
  mutating func proofStep() -> SQL {
    let (id, other) = (Int.random(in: 1...60, using: &self), Int.random(in: 1...300, using: &self))
    let name = String(repeating: "x", count: Int.random(in: 0...30, using: &self))
    switch Int.random(in: 0..<8, using: &self) {
    case 0, 1: return "INSERT OR REPLACE INTO member (id, name) VALUES (\(id), \(name))"
    case 2: return "UPDATE OR IGNORE member SET id = \(id + 3), name = \(name) WHERE id = \(id)"
    case 3: return "DELETE FROM member WHERE id = \(id)"
    case 4, 5:
      return """
        INSERT INTO proof_bike (id, member, price) SELECT \(other), id, \(id) FROM member WHERE id >= \(id) LIMIT 1
        ON CONFLICT DO UPDATE SET price = excluded.price + 1
        """
    case 6: return "UPDATE proof_bike SET price = price + 1 WHERE id BETWEEN \(other) AND \(other + 20)"
    default: return chance(5) ? "DELETE FROM member" : "DELETE FROM proof_bike WHERE id = \(other)"
    }
  }
}

/// Keeps copies of both tables in a second file, and totals in the same file.
private struct ProofConsumer {
  private let pool: SqlitePool
  private let directory: String

  init(_ directory: String) throws {
    self.directory = directory
    pool = try SqlitePool(
      filepath: directory + "/log.sqlite", configuration: .init(handles: .init(busyTimeout: 600), waitTimeout: nil))
  }

  func run() async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { try await follow(Member.self, as: "members") { $0.id } }
      group.addTask { try await follow(ProofBike.self, as: "bikes") { $0.id } }
      group.addTask { try await count() }
      // The first error ends the process.
      for try await _ in group {}
    }
  }

  private func follow<Model: Sqlable & Equatable & Sendable>(
    _ model: Model.Type, as name: String, id: (Model) -> Int
  ) async throws {
    let copy = try ProofTables.openCopy(directory)
    while true {
      do {
        for try await batch in pool.changes(on: model, as: name, lease: .seconds(10)) {
          let changes = try await batch.all()
          try copy.transaction(.immediate) { copy in
            // The other process might have taken over the consumer, and have applied a later snapshot.
            guard try isOwner(of: name) else { return }
            try apply(changes, batch.isSnapshot, name, copy, id)
          }
          try await batch.acknowledge()
        }
      } catch let error as SqlError {
        switch error.kind {
        // Another loop has the consumer, or a restore has removed it.
        case .changeLog(.ownerChanged): continue
        case .changeLog(.otherHistory), .changeLog(.trimmed): try await pool.removeChangeConsumer(name)
        default: throw error
        }
      }
    }
  }

  private func isOwner(of name: String) throws -> Bool {
    try pool.read { db in try db.changeConsumers().first { $0.name == name }?.ownerProcess } == Int(getpid())
  }

  /// Applies changes to the copy, without those that a killed process has applied but not acknowledged. Reports a
  /// change whose old row is not the row in the copy.
  private func apply<Model: Sqlable & Equatable>(
    _ changes: [LoggedModelChange<Model>], _ isSnapshot: Bool, _ name: String, _ copy: SqliteDatabase,
    _ id: (Model) -> Int
  ) throws {
    if isSnapshot {
      try Model.deleteAll().run(copy)
      // A snapshot without rows has no position, and after a restore the positions are smaller than before.
      try copy.execute("DELETE FROM seen WHERE name = \(name)")
    }
    let text = try copy.query("SELECT position FROM seen WHERE name = \(name)", as: String.self).first
    let seen = isSnapshot ? nil : text.flatMap { ChangePosition($0) }
    for change in changes where seen.map({ $0 < change.position }) ?? true {
      let (old, new): (Model?, Model?) =
        switch change.row {
        case .insert(let new): (nil, new)
        case .update(let old, let new): (old, new)
        case .delete(let old): (old, nil)
        }
      if let old {
        guard try Model.byId(id(old)).run(copy) == old else { return try report(change, name) }
        try old.delete().run(copy)
      }
      if let new {
        guard try Model.byId(id(new)).run(copy) == nil else { return try report(change, name) }
        try new.insert().run(copy)
      }
    }
    guard let last = changes.last?.position else { return }
    try copy.execute("INSERT OR REPLACE INTO seen VALUES (\(name), \(last.description))")
  }

  private func report(_ change: LoggedModelChange<some Sendable>, _ name: String) throws {
    let problem = "\(name): \(change) does not fit the copy"
    try problem.write(toFile: directory + "/problem-\(name)-\(getpid())", atomically: true, encoding: .utf8)
  }

  private func count() async throws {
    while true {
      do {
        try await pool.consume("totals", on: Member.self, startingWith: .log) { db, change in
          let (members, letters) =
            switch change.row {
            case .insert(let new): (1, new.name.count)
            case .update(let old, let new): (0, new.name.count - old.name.count)
            case .delete(let old): (-1, -old.name.count)
            }
          try db.execute("UPDATE total SET members = members + \(members), letters = letters + \(letters)")
        }
      } catch let error as SqlError where error.kind == .changeLog(.ownerChanged) {
        // The other process has consumed the same changes.
      }
    }
  }
}
