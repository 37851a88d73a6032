import Hummingbird
import Logging
import ServiceLifecycle
import Sqlable
import SqlableChanges
import SqlableIntegrations
import SqlableTenants

/// The service: opens the pool, serves it, closes it.
public struct BikeService: Sendable {
  let pool: SqlitePool
  let index: SearchIndex
  let shops: SqliteTenants
  let shopsDirectory: String
  let logger: Logger
  /// The time that a request has, waiting included.
  public var deadline = Duration.seconds(2)
  let metrics = PrometheusMetrics()
  let history = StatusHistory()

  public init(filepath: String, logger: Logger = Logger(label: "BikeService")) throws {
    var configuration = PoolConfiguration()
    // Who was told "created" is to find the bicycle after a loss of power too. Requests that come together share the
    // disk's flush, so this costs less than it sounds.
    configuration.handles.synchronous = .full
    configuration.handles.label = "bikes"
    configuration.keepsTotals = true
    pool = try SqlitePool(filepath: filepath, configuration: configuration)
    try pool.transaction { db in
      try db.createTable(Bicycle.self)
      try ChangeLog(Bicycle.self).create(db)
    }
    index = try SearchIndex(filepath: filepath + "-search")
    // A shop must be opened with PUT, so that a mistyped name does not create a database.
    shopsDirectory = filepath + "-shops"
    shops = try SqliteTenants(
      directory: shopsDirectory, schema: Schema(Bicycle.self),
      configuration: TenantsConfiguration(createsMissing: false))
    self.logger = logger
    pool.log(to: logger, .slow(.milliseconds(50)))
    pool.reportMetrics(to: metrics, every: .seconds(1))
    shops.log(to: logger, .slow(.milliseconds(50)))
    shops.reportMetrics(to: metrics, every: .seconds(1), slowest: 5)
  }

  /// The application, with the pool as one of its services.
  public func application(hostname: String, port: Int) -> some ApplicationProtocol {
    let router = Router()
    router.get("hello") { _, _ in "hello" }  // what Hummingbird alone costs
    router.get { _, _ in
      let statistics = pool.statistics
      return StatusPage(
        health: await Health(of: pool), statistics: statistics, rates: history.add(statistics),
        statements: pool.topStatements(12))
    }
    router.get("health") { _, _ in await Health(of: pool) }
    router.get("metrics") { _, _ in
      Response(
        status: .ok, headers: [.contentType: "text/plain; version=0.0.4; charset=utf-8"],
        body: ResponseBody(byteBuffer: ByteBuffer(string: metrics.text)))
    }
    router.addMiddleware {
      SqlErrorMiddleware()
      DeadlineMiddleware(duration: deadline)
    }
    EventRoutes(pool: pool).add(to: router)
    BicycleRoutes(db: pool) { bicycle, _ in try await bicycle.insert().run(pool) }.add(to: router.group("bicycles"))
    SearchRoutes(pool: pool).add(to: router.group("search"))
    LivePage().add(to: router)
    ShopRoutes(shops: shops).add(to: router.group("shops"))
    router.get("find") { request, _ in
      let ids = try await index.find(request.uri.queryParameters["words"].map { String($0) } ?? "")
      return try await Bicycle.read().filter(Bicycle.id.in(ids)).orderBy(Bicycle.id).run(pool)
    }
    return Application(
      router: router, configuration: .init(address: .hostname(hostname, port: port), serverName: "BikeService"),
      // Services are shut down in reverse order, each when the one before has ended, and the server is the last of
      // them: when it is the pools' turn no request is left.
      services: [
        ClosureService { try await pool.run(closingWithin: .seconds(5)) },
        ClosureService { try await index.pool.run(closingWithin: .seconds(5)) },
        shops,
        ClosureService { await cancelWhenGracefulShutdown { await followAndTrim() } },
      ], logger: logger)
  }

  /// Keeps the index in step, and the log at the changes of a day, until the service shuts down.
  private func followAndTrim() async {
    await withTaskGroup(of: Void.self) { group in
      group.addTask { await again(after: .seconds(1)) { try await index.follow(pool) } }
      group.addTask {
        await again(after: .seconds(600)) {
          try await ChangeLog.trim(pool, keeping: .unacknowledged, .age(.seconds(86_400)))
        }
      }
    }
  }

  /// Repeats the work until the task is cancelled. An error of the database, such as a full disk, does not end the
  /// service.
  private func again(after pause: Duration, _ work: () async throws -> Void) async {
    while !Task.isCancelled {
      do { try await work() } catch {
        if !Task.isCancelled { logger.error("background work: \(error)") }
      }
      try? await Task.sleep(for: pause)
    }
  }

  /// Runs until SIGTERM or SIGINT.
  public func run(hostname: String, port: Int) async throws {
    var configuration = ServiceGroupConfiguration(
      services: [application(hostname: hostname, port: port)], gracefulShutdownSignals: [.sigterm, .sigint],
      logger: logger)
    // A client that does not read its answer can hold up the server for no longer than this.
    configuration.maximumGracefulShutdownDuration = .seconds(10)
    try await ServiceGroup(configuration: configuration).run()
  }
}
