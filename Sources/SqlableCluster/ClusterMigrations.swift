#if Cluster
import Sqlable

extension Migration {
  /// Creates a migration from Swift code that runs on a cluster.
  ///
  /// ```swift
  /// Migration(onCluster: "first names") { tx in
  ///   for person in try await Person.read().run(tx) { … }
  /// }
  /// ```
  ///
  /// If the leader is lost before the commit is sent, `body` is called again. Changing `revision` makes a different
  /// migration. On a handle or pool, the migration throws `.misuse`. A migration of ``init(_:revision:_:)`` with the
  /// same revision has the same checksum. So a program that moves from a file to a cluster can replace that migration
  /// with this one.
  public init(
    onCluster name: String, revision: Int = 1,
    _ body: @escaping @Sendable (any AsyncSqlExecutor) async throws -> Void
  ) {
    self.init(
      name, kind: "code", content: "\(revision)", .whole { _ in throw Migration.needsCluster }, .whole(body))
  }

  /// Creates a migration that runs on a cluster in batches, each batch in a separate transaction; see
  /// ``init(batches:revision:_:)``.
  public init(
    onCluster name: String, revision: Int = 1,
    batches body: @escaping @Sendable (any AsyncSqlExecutor, Int?) async throws -> Int?
  ) {
    self.init(
      name, kind: "batches", content: "\(revision)", .batches { _, _ in throw Migration.needsCluster }, .batches(body))
  }

  private static var needsCluster: SqlError { .misuse("the migration needs a cluster, not a handle") }
}

extension Migrations {
  /// Runs the pending migrations on a cluster, in their order. Each migration and its record share a transaction.
  ///
  /// ```swift
  /// try await migrations.apply(cluster)
  /// ```
  ///
  /// Works as ``apply(_:waitingAtMost:file:line:progress:waiting:)-(SqlDatabase,_,_,_,_,_)``, with the same errors. If
  /// several programs start together, each migration runs once. Migrations of SQL or statements run unchanged; for
  /// Swift code, use ``Migration/init(onCluster:revision:_:)``. Throws `.misuse` inside a transaction. Also throws
  /// `.misuse`, before the first migration runs, if a pending migration needs a handle. The client's `timeout` limits
  /// each transaction; ``withDeadline(_:isolation:_:)`` limits the whole call.
  @discardableResult
  public func apply(
    _ cluster: SqliteCluster, progress: @escaping @Sendable (Progress) -> Void = { _ in }
  ) async throws -> [String] {
    try checkNames()
    guard cluster.current == nil else { throw SqlError.misuse("migrations can't run inside a transaction") }
    var run = Run()
    while true {
      // Read first, without the write lock, because usually no migration is pending.
      let records = try await cluster.read { tx in try await Migrations.records(tx) }
      let existing = records ?? []
      try checkIsNotNewer(existing)
      guard let position = pending(after: existing).first else { return run.names }
      guard records != nil else {
        if try await prepare(cluster) { return run.names }
        continue
      }
      try checkIsRemote(from: existing)
      if run.batches == 0 { progress(Progress(name: all[position].name, position: position, batch: 0)) }
      guard let step = try await step(position, after: existing, cluster) else { continue }
      if run.isDone(after: step, progress) { return run.names }
    }
  }

  /// Returns which migrations have run on a cluster's database. The database is not changed.
  ///
  /// Throws `.schema(.mismatch)` if a migration was changed or removed after it ran.
  public func status(_ cluster: SqliteCluster) async throws -> Status {
    try checkNames()
    return try status(of: await cluster.read { tx in try await Migrations.records(tx) } ?? [])
  }

  private func checkIsRemote(from records: [MigrationRecord]) throws {
    for position in pending(after: records) where all[position].remoteWork == nil {
      let message = "the migration needs a handle, not a cluster; use Migration(onCluster:)"
      throw all[position].failure(SqlError.misuse(message))
    }
  }

  /// Creates the table of migration records. Returns true if the database was new and now has all tables of the schema.
  private func prepare(_ cluster: SqliteCluster) async throws -> Bool {
    if fresh == nil { try checkIsRemote(from: []) }
    return try await cluster.transaction(
      enforcesForeignKeys: true, before: Deadline.after(cluster.configuration.timeout)
    ) { tx in
      guard try await Migrations.records(tx) == nil else { return false }
      // The library creates some tables before the program does. A database with only these tables is treated as new.
      let tableCount = try await tx.query(
        """
        SELECT count(*) FROM sqlite_schema
        WHERE name NOT LIKE 'sqlite!_%' ESCAPE '!' AND tbl_name NOT LIKE 'sqlable!_%' ESCAPE '!'
        """, as: Int.self)
      try await cluster.createTables(MigrationRecord.self)
      guard tableCount == [0], let fresh else { return false }
      guard case .schema(let schema) = fresh else {
        throw SqlError.misuse(
          "a cluster can't run the closure `fresh`, which needs a handle; pass a Schema as `fresh`")
      }
      try await cluster.createTables(of: schema)
      _ = try await MigrationRecord.insert(all.indices.map { record($0, isDone: true) }).run(tx)
      return true
    }
  }

  /// Runs a migration or its next batch. Returns nil if another program has changed the records since they were read.
  private func step(
    _ position: Int, after records: [MigrationRecord], _ cluster: SqliteCluster
  ) async throws -> Step? {
    let migration = all[position]
    let isWhole = if case .whole? = migration.remoteWork { true } else { false }
    do {
      // Don't enforce foreign keys in a migration without batches, because DROP TABLE would first delete the table's
      // rows and the rows that reference them.
      return try await cluster.transaction(
        enforcesForeignKeys: !isWhole, before: Deadline.after(cluster.configuration.timeout)
      ) { tx in
        guard try await Migrations.records(tx) == records else { return nil }
        switch migration.remoteWork {
        case .whole(let body):
          try await tx.updatingChangeLog { try await body(tx) }
          try await tx.checkForeignKeys()
          try await record(position, isDone: true).insert().run(tx)
          return .whole(name: migration.name)
        case .batches(let body):
          let last = position < records.count ? records[position].progress : nil
          let result = try await tx.updatingChangeLog { try await body(tx, last) }
          try await record(position, isDone: result == nil, progress: result ?? last).save().run(tx)
          return result == nil ? .whole(name: migration.name) : .batch(name: migration.name, position: position)
        case nil: return nil
        }
      }
    } catch { throw migration.failure(error.afterRollback) }
  }

  private static func records(_ tx: ClusterTransaction) async throws -> [MigrationRecord]? {
    do { return try await MigrationRecord.read().orderBy(MigrationRecord.position).run(tx) } catch {
      guard (error as? SqlError)?.kind == .schema(.missingTable(Migrations.tableName)) else { throw error }
      return nil
    }
  }
}

extension ClusterTransaction {
  fileprivate func checkForeignKeys() async throws {
    let rows = try await query(
      "SELECT \"table\", rowid, parent FROM pragma_foreign_key_check LIMIT 10", as: String.self, Int?.self,
      String.self)
    guard let (child, _, parent) = rows.first else { return }
    throw SqlError.orphans(of: child, ids: rows.filter { $0.0 == child }.compactMap(\.1), without: parent)
  }
}
#endif
