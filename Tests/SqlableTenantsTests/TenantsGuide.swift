import Foundation
import SqlableBackup
import SqlableCore
import SqlablePool
import SqlableSchema
import Testing

@testable import SqlableTenants
@testable import SqlableTestSupport

/// The examples of `Docs/Tenants.md`.
@Suite struct TenantsGuide {
  private let schema = Schema(Person.self, Bicycle.self)
  private let migrations = Migrations([Migration("first") { db in try Schema(Person.self, Bicycle.self).create(db) }])

  private func withTenants(_ body: (SqliteTenants, String) async throws -> Void) async throws {
    try await withDirectoryAsync { parent in
      let directory = parent + "/tenants"
      let tenants = try SqliteTenants(
        directory: directory, schema: schema, migrations: migrations, configuration: TenantsConfiguration().patient)
      try await body(tenants, parent)
      try await tenants.close(within: .seconds(600))
    }
  }

  @Test func aTenantIsAnExecutor() async throws {
    try await withDirectoryAsync { directory in
      let tenants = try SqliteTenants(directory: directory, schema: schema, migrations: migrations)
      try await Bicycle(name: "Trek", color: "red").insert().run(tenants["acme"])
      let (count, first) = try await tenants["acme"].read { db in
        (try Bicycle.count().run(db), try Bicycle.read().first().run(db))
      }
      try await tenants["acme"].transaction { db in try Bicycle.delete(Bicycle.color == "blue").run(db) }
      #expect(count == 1)
      #expect(first?.name == "Trek")
      #expect(tenants.directory.file(of: try TenantName("acme")).hasSuffix("e4/acme.sqlite"))
      let health = tenants.health(slowest: 5)
      print(health.statistics.open, health.statistics.waiting, health.oldestWait, health.walSize)
      for tenant in health.slowest { print(tenant.name, tenant.statistics.longestUse) }
      for problem in health.tenantProblems { print(problem.name, problem.problem) }
      #expect(health.slowest.map(\.name) == ["acme"])
      try await tenants.close(within: .seconds(5))
    }
  }

  @Test func theSizeOfATenantIsLimited() async throws {
    let handles = Configuration(cacheSize: 512, maximumPageCount: 250_000)
    let configuration = TenantsConfiguration(maximumOpen: 200, pool: PoolConfiguration(handles: handles, readers: 1))
    var small = configuration
    small.pool.handles.maximumPageCount = 12
    try await withDirectoryAsync { directory in
      let tenants = try SqliteTenants(directory: directory, schema: schema, configuration: small)
      await expectAsync(.full) {
        let name = String(repeating: "x", count: 100_000)
        try await Bicycle(name: name, color: "red").insert().run(tenants["acme"])
      }
      try await tenants.close()
    }
  }

  @Test func theRowsOfATenantAreLimited() async throws {
    struct TooManyBicycles: Error {}
    try await withTenants { tenants, _ in
      func add() async throws {
        try await tenants["acme"].transaction { db in
          guard try Bicycle.count().run(db) < 1_000 else { throw TooManyBicycles() }
          try Bicycle(name: "Trek", color: "red").insert().run(db)
        }
      }
      let bikes = (0..<999).map { Bicycle(name: "\($0)", color: "red") }
      _ = try await Bicycle.insert(bikes).run(tenants["acme"])
      try await add()
      await #expect(throws: TooManyBicycles.self) { try await add() }
    }
  }

  @Test func aLoopKeepsTheTenantOpen() async throws {
    try await withTenants { tenants, _ in
      let (shown, continuation) = AsyncStream<Int>.makeStream()
      @Sendable func show(_ bikes: [Bicycle]) { continuation.yield(bikes.count) }
      let loop = Task {
        try await tenants["acme"].withPool { pool in
          for try await bikes in Bicycle.read().updates(in: pool) { show(bikes) }
        }
      }
      var counts = shown.makeAsyncIterator()
      #expect(await counts.next() == 0)
      loop.cancel()
      _ = await loop.result
    }
  }

  @Test func tenantsAreCreatedDeletedRenamedAndCopied() async throws {
    try await withTenants { tenants, parent in
      let backup = parent + "/backup.sqlite"
      try await tenants.create("new-one")
      try await tenants["acme"].withPool { pool in try await pool.backup(to: backup) }
      try await tenants.create("restored", from: backup)
      try await tenants.copy("acme", to: "trial")
      try await tenants.rename("trial", to: "Trial")
      try await tenants.delete("new-one")
      #expect(try await tenants.allNames() == ["Trial", "acme", "restored"])
      for try await name in tenants.names { print(name) }
      for try await (name, count) in tenants.each(concurrency: 4, { try await Bicycle.count().run($0) }) {
        print(name, try count.get())
      }
      let red = Bicycle.read().filter(Bicycle.color == "red").orderBy(Bicycle.id).limit(100)
      for try await (name, bikes) in tenants.each(concurrency: 2, { try await red.run($0) }) {
        for bike in try bikes.get() { print(name, bike.name) }
      }
    }
  }

  @Test func tenantsAreBackedUpAndRestored() async throws {
    try await withTenants { tenants, parent in
      let target = parent + "/backups"
      try await Bicycle(name: "Trek", color: "red").insert().run(tenants["acme"])
      let report = try await tenants.backup(to: target, bytesPerSecond: 20 << 20, keep: .seconds(30 * 86_400))
      for (name, error) in report.failures { print(name, error) }
      print("\(report.copied) copied, \(report.unchanged) unchanged, \(report.bytes) bytes")
      #expect(report.copied == 1)
      let noon = Date()
      try await Bicycle(name: "Norco", color: "red").insert().run(tenants["acme"])
      _ = try await tenants.backup(to: target)
      if let backup = try tenants.backups(of: "acme", in: target).last(where: { $0.time <= noon }) {
        try await tenants.restore("acme", from: backup.path)
      }
      #expect(try await Bicycle.read().run(tenants["acme"]).map(\.name) == ["Trek"])
    }
  }

  @Test func tenantsReadAFileThatAllShare() async throws {
    try await withDirectoryAsync { directory in
      let shopPath = directory + "/shop.sqlite"
      let shop = try SqliteDatabase(filepath: shopPath, configuration: Configuration(journalMode: .delete))
      try Schema(Color.self).create(shop)
      try Color(name: "red").insert().run(shop)
      let handles = Configuration(attached: ["shop": shopPath], attachedReadOnly: ["shop"])
      let tenants = try SqliteTenants(
        directory: directory, schema: schema,
        configuration: TenantsConfiguration(pool: PoolConfiguration(handles: handles)))
      let colors = try await Color.read().in(database: "shop").run(tenants["acme"])
      #expect(colors.map(\.name) == ["red"])
      try await tenants.close()
    }
  }

  @Test func aSweepMigratesAllTenants() async throws {
    try await withTenants { tenants, _ in
      for name in ["a", "b"] { try await tenants.create(name) }
      let before = try await tenants.migrationReport()  // changes nothing
      let rehearsal = try await tenants.migrate(dryRun: true)  // migrates copies
      let canary = try await tenants.migrate(limit: 20)
      guard rehearsal.failures.isEmpty, canary.failures.isEmpty else { return }
      let report = try await tenants.migrate(concurrency: 4) { report in print("\(report.count) tenants") }
      #expect(before.count == 2)
      #expect(report.current == 2)
      #expect(report.migrated == 0)
    }
  }

  @Test func aTenantMovesToAnotherMachine() async throws {
    try await withTenants { tenants, _ in
      let (app, client) = (Machine(), Machine())
      try await tenants["acme"].transaction { db in try Bicycle(name: "Trek", color: "red").insert().run(db) }
      try await withTenants { other, _ in
        do {
          let tenants = other
          app.post("tenants/parts") { part in try await tenants.receive(part) }  // on the new machine
        }
        client.post("tenants/parts", app.handler)
        try await tenants.handOver("acme") { part in try await client.post(part) }  // on the old machine
        for name in try await tenants.unfinishedHandOvers() {
          try await tenants.handOver(name) { part in try await client.post(part) }
        }
        #expect(try await Bicycle.count().run(other["acme"]) == 1)
        await expectAsync(.tenant(.handedOver)) { _ = try await Bicycle.count().run(tenants["acme"]) }
      }
    }
  }

  /// A server, or the client of one.
  private final class Machine: Sendable {
    typealias Handler = @Sendable (TenantPart) async throws -> TenantReceipt

    private let state = Mutex<Handler?>(nil)

    var handler: Handler { { [self] part in try await post(part) } }

    func post(_ path: String, _ handler: @escaping Handler) { state.withLock { $0 = handler } }

    func post(_ part: TenantPart) async throws -> TenantReceipt {
      guard let handler = state.withLock({ $0 }) else { throw SqlError.misuse("no handler") }
      return try await handler(part)
    }
  }
}

private struct Color: Sqlable {
  static let name = column("name", String.self, PrimaryKey())
  static let tableLayout = [name.column]

  let name: String

  init(name: String) { self.name = name }

  init(row: ReadRow) throws { name = try row.get(Color.name) }

  func write(to row: inout RowWriter) throws { row.set(Color.name, name) }
}
