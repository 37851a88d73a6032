#if Cluster
import Sqlable
import Dispatch

/// A reader of the change table for this client's observers, loops over changes and live results.
///
/// The first observer, loop or live result starts the reader. Each read continues after the last change that was read.
/// The reader polls the leader, because nodes send no notifications.
final class ClusterFeed: Sendable {
  private struct State {
    var tables: [[UInt8]: ChangeTable.Key] = [:]
    var schemaVersion: Int?
    /// The number of the last change that was read; nil before the first read of the change table.
    var position: Int?
    var latest: [[UInt8]: Int] = [:]
    /// The number of reads that found a gap in the change table or a new schema version. Any table might have changed
    /// then.
    var unknown = 0
    var waiters: [ObjectIdentifier: Waiter] = [:]
    var reading: Task<Void, Never>?
    var isClosed = false
  }

  private let state = LockedValue(State())
  private let interval: Duration
  let root: SqliteDatabase
  let feed: PoolFeed
  private let slots = Slots(1)
  private let pause = PollPause()
  private let log: ClusterLogWatch
  private static let maximumEntries = 10_000

  init(_ configuration: ClusterConfiguration) throws {
    interval = configuration.pollInterval
    root = try .inMemory(configuration: Configuration(label: configuration.label))
    feed = PoolFeed(root: root) { _ in nil }
    log = ClusterLogWatch(feed, every: interval)
  }

  deinit { close() }

  func close() {
    let (reading, waiters) = state.withLock { state in
      state.isClosed = true
      defer { state.waiters = [:] }
      return (state.reading, state.waiters.values)
    }
    reading?.cancel()
    pause.end()
    log.close()
    for waiter in waiters { waiter.wake() }
    feed.end()
  }

  // MARK: Tables

  /// Starts to observe tables: creates the change table and triggers if they are missing, and starts the task that
  /// reads the change table.
  func follow(_ tables: [String], _ cluster: SqliteCluster) async throws {
    let isNew = try state.withLock { state in
      if state.isClosed { throw SqlError.closedCluster }
      return state.position == nil || tables.contains { state.tables[$0.foldedName] == nil }
    }
    guard isNew else { return }
    try await slots.take(
      before: Deadline.after(cluster.configuration.timeout), late: .late("the change table was not created in time"))
    defer { slots.giveBack() }
    try await createTriggers(of: tables, cluster)
    if state.withLock({ $0.position }) == nil {
      let end = try await ClusterFeed.end(cluster)
      state.withLock { ($0.position, $0.schemaVersion) = (end.position, end.schemaVersion) }
    }
    state.withLock { state in
      guard state.reading == nil, !state.isClosed else { return }
      // The task has only weak references, so that the client can be released.
      state.reading = Task.detached { [weak self, weak cluster] in
        let pause = self?.pause
        while let time = await self?.readIfOpen(cluster) { await pause?.sleep(for: time) }
      }
    }
  }

  private static func end(_ cluster: SqliteCluster) async throws -> (position: Int, schemaVersion: Int?) {
    let rows = try await cluster.query(ChangeTable.end, as: Int.self, Int.self)
    return rows.first.map { (position: $0.1, schemaVersion: $0.0) } ?? (position: 0, schemaVersion: nil)
  }

  var isOpen: Bool { state.withLock { !$0.isClosed } }

  private var followed: [String] { state.withLock { $0.tables.keys.map { String(decoding: $0, as: UTF8.self) } } }

  /// Creates the change table and the tables' triggers if they are missing. A table that does not exist is skipped if
  /// `leavesOutMissing`; otherwise the method throws.
  private func createTriggers(
    of tables: [String], _ cluster: SqliteCluster, leavesOutMissing: Bool = false
  ) async throws {
    let copy = try await ClusterSchemaCopy(of: cluster)
    let (keys, missing) = try copy.db.running { connection in
      var (keys, missing): ([[UInt8]: ChangeTable.Key], [String]) = ([:], [])
      let known = Set(try copy.db.query("SELECT name FROM sqlite_schema WHERE type = 'trigger'", as: String.self))
      if try !connection.tableNames().contains(ChangeTable.table) { missing.append(ChangeTable.createTable) }
      for table in tables {
        guard let name = try connection.tableNames().first(where: { $0.isSameName(as: table) }) else {
          if leavesOutMissing { continue }
          throw SqlError(.schema(.missingTable(table)), message: "no such table: \(table)", table: table)
        }
        let key = try ChangeTable.Key(ofTable: name, on: connection)
        keys[table.foldedName] = key
        let triggers = ChangeTable.triggers(ofTable: name, key)
        if !Change.allCases.allSatisfy({ known.contains("\(ChangeTable.table)_\(name)_\($0)") }) { missing += triggers }
      }
      return (keys, missing)
    }
    if !missing.isEmpty {
      try await cluster.transaction { tx in for sql in missing { try await tx.execute(SQL(verbatim: sql)) } }
    }
    state.withLock { $0.tables.merge(keys) { _, new in new } }
  }

  // MARK: Reading

  /// Ends the pauses before the next reads. Call this after a commit of this client.
  func poke() {
    pause.poke()
    log.poke()
  }

  /// Returns a signal of changes to a table of the change log. Changes by any client of the cluster set the signal.
  func logSignal(_ cluster: SqliteCluster, table: String, columns: [String]) -> CommitSignal {
    let signal = CommitSignal(feed, table: table, columns: columns)
    log.begin(cluster, for: signal)
    return signal
  }

  /// Reads new changes. Returns the pause until the next read; nil if the client is closed or released.
  private func readIfOpen(_ cluster: SqliteCluster?) async -> Duration? {
    guard let cluster, !state.withLock({ $0.isClosed }) else { return nil }
    return await read(cluster)
  }

  private func read(_ cluster: SqliteCluster) async -> Duration {
    guard let position = state.withLock({ $0.position }) else { return interval }
    do {
      let rows = try await cluster.query(
        ChangeTable.entries(after: position, limit: ClusterFeed.maximumEntries), as: Int.self, DynamicRow.self)
      guard let first = rows.first else { return interval }
      let changes = rows.compactMap { _, row in entry(row) }
      let isGap = changes.first.map { $0.number > position + 1 } ?? false
      let isOther = state.withLock { $0.schemaVersion.map { $0 != first.0 } ?? false }
      // Create the triggers first, so that they record all later changes. Earlier changes are reported as missed.
      var start = position
      if isOther {
        try await createTriggers(of: followed, cluster, leavesOutMissing: true)
        // Another client might have dropped and recreated the change table. The numbers of the new table start at 1.
        if try await ClusterFeed.end(cluster).position < position { start = 0 }
      }
      // If creating the triggers fails, the next read tries again.
      state.withLock { $0.schemaVersion = first.0 }
      let isUnreadable = changes.contains { $0.row == nil }
      deliver(changes, isUnknown: isGap || isOther || isUnreadable, upTo: changes.last?.number ?? start)
      try await trim(changes, cluster)
      return changes.count == ClusterFeed.maximumEntries ? .zero : interval
    } catch let error as SqlError where error.kind == .schema(.missingTable(ChangeTable.table)) {
      // A client dropped the change table. The numbers of the new table start at 1.
      try? await createTriggers(of: followed, cluster, leavesOutMissing: true)
      deliver([], isUnknown: true, upTo: 0)
      return interval
    } catch {
      return interval
    }
  }

  private func trim(_ changes: [Entry], _ cluster: SqliteCluster) async throws {
    // Every client tries to delete old entries at the same change numbers. The first client deletes the entries, and
    // the others find none.
    guard let last = changes.last(where: { $0.number % 1_000 == 0 }), last.number > 2 * ChangeTable.length else {
      return
    }
    try await cluster.execute(ChangeTable.trim(before: last.number - ChangeTable.length))
  }

  private struct Entry {
    let number: Int
    /// The changed row; nil if its key contains a text that is not UTF-8.
    let row: RowChange?
  }

  private func entry(_ row: DynamicRow) -> Entry? {
    let values = row.values
    guard values.count == 7, case .integer(let number) = values[0], case .text(let table) = values[1],
      case .integer(let code) = values[2], let change = Change(code: Int(code))
    else { return nil }
    let key = state.withLock { $0.tables[table.foldedName] }
    guard let current = list(values[5]), let previous = list(values[6]) else {
      return Entry(number: Int(number), row: nil)
    }
    let id = integer(current) ?? integer([values[3]])
    return Entry(
      number: Int(number),
      row: RowChange(
        table: table, change: change, id: id ?? 0, previousId: integer(previous) ?? integer([values[4]]) ?? 0,
        key: current, previousKey: previous, comparison: key?.comparison, hasId: id != nil,
        isKeyedById: key?.columns.isEmpty ?? false))
  }

  private func integer(_ values: [DatabaseValue]) -> Int? {
    if values.count == 1, case .integer(let integer) = values[0] { return Int(integer) }
    return nil
  }

  /// Parses a list of SQL literals, such as `1, 'a'`, that SQLite's quote() wrote. The list is the text of a blob.
  /// Returns no values for NULL, and nil if the text is not UTF-8.
  private func list(_ text: DatabaseValue) -> [DatabaseValue]? {
    guard case .blob(let bytes) = text else { return [] }
    guard let text = String(validating: bytes, as: UTF8.self) else { return nil }
    return try? root.query(SQL(verbatim: "SELECT \(text)"), as: DynamicRow.self).first?.values
  }

  private func deliver(_ entries: [Entry], isUnknown: Bool, upTo position: Int) {
    let rows = entries.compactMap(\.row)
    if isUnknown || !rows.isEmpty {
      // Observers are called on their queue, and the feed notifies loops. Both get the changes in the order of the
      // change table.
      if let recipients = root.registry.recipients(for: rows) { root.queue.async { recipients.deliver() } }
      let interest = feed.interest
      let named = rows.compactMap { row in interest.name(ofTable: row.table).map { row.named($0) } }
      feed.didCommit(CommittedChanges(rows: named, isUnknown: isUnknown))
    }
    let waiters = state.withLock { state in
      state.position = position
      for entry in entries {
        if let row = entry.row { state.latest[row.table.foldedName] = entry.number }
      }
      if isUnknown { state.unknown += 1 }
      guard isUnknown || !rows.isEmpty else { return [Waiter]() }
      defer { state.waiters = [:] }
      return Array(state.waiters.values)
    }
    for waiter in waiters { waiter.wake() }
  }

  // MARK: Live results

  /// The last change that a live result includes.
  struct Mark: Sendable {
    fileprivate var position: Int
    fileprivate var unknown: Int
  }

  /// The mark of a read that starts now. The result of the read includes at least the changes up to this mark.
  var mark: Mark { state.withLock { Mark(position: $0.position ?? 0, unknown: $0.unknown) } }

  /// Waits until a table changes after a mark. Returns false if the client is closed. Throws `CancellationError` if the
  /// task is cancelled.
  func waitForChange(of tables: Set<[UInt8]>, since mark: Mark, isolation: isolated (any Actor)?) async throws -> Bool {
    while true {
      let waiter = Waiter()
      let isChanged = state.withLock { state -> Bool? in
        if state.isClosed { return nil }
        if state.unknown > mark.unknown || tables.contains(where: { state.latest[$0] ?? 0 > mark.position }) {
          return true
        }
        state.waiters[ObjectIdentifier(waiter)] = waiter
        return false
      }
      guard let isChanged else { return false }
      if isChanged { return true }
      let isWoken = await waiter.wait(isolation: isolation)
      state.withLock { _ = $0.waiters.removeValue(forKey: ObjectIdentifier(waiter)) }
      guard isWoken else { throw CancellationError() }
    }
  }
}
#endif
