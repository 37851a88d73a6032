import Foundation
import Hummingbird
import Sqlable

/// The REST resource, on a pool or a cluster.
struct BicycleRoutes<Database: AsyncSqlExecutor> {
  let db: Database
  /// How a bicycle is stored; nil if it was, by an earlier request with this key.
  let insert: @Sendable (Bicycle, UUID) async throws -> Int?

  func add(to router: RouterGroup<some RequestContext>) {
    router.get { request, _ in try await BicycleList(request).statement.run(db) }
    router.get(":id") { _, context in try await get(context) }
    router.post { request, context in try await create(request, context) }
    router.put(":id") { request, context in try await replace(request, context) }
    router.delete(":id") { _, context in try await delete(context) }
  }

  private func get(_ context: some RequestContext) async throws -> Bicycle {
    let id = try context.parameters.require("id", as: Int.self)
    return try await found(Bicycle.byId(id).run(db))
  }

  private func create(_ request: Request, _ context: some RequestContext) async throws -> Response {
    var bicycle = try await request.decode(as: Bicycle.self, context: context)
    bicycle.id = nil  // the table gives the number
    // The answer is sent when the commit has succeeded: requests that come at the same time share one.
    guard let id = try await insert(bicycle, request.idempotencyKey) else { return Response(status: .ok) }
    bicycle.id = id
    var response = try bicycle.response(from: request, context: context)
    response.status = .created
    response.headers[.location] = "/bicycles/\(id)"
    return response
  }

  private func replace(_ request: Request, _ context: some RequestContext) async throws -> Bicycle {
    var bicycle = try await request.decode(as: Bicycle.self, context: context)
    bicycle.id = try context.parameters.require("id", as: Int.self)
    return try await found(bicycle.update().returning().first().run(db))
  }

  private func delete(_ context: some RequestContext) async throws -> HTTPResponse.Status {
    let id = try context.parameters.require("id", as: Int.self)
    let deleted = try await Bicycle.delete(Bicycle.id == id).run(db)
    return deleted == 0 ? .notFound : .noContent
  }

  private func found(_ bicycle: Bicycle?) throws -> Bicycle {
    guard let bicycle else { throw HTTPError(.notFound) }
    return bicycle
  }
}

/// `?color=red&limit=20&after=7`: one page of the bicycles of a color, as a statement to be run or followed.
struct BicycleList {
  var color: String?
  var limit: Int
  var after: Int

  init(_ request: Request) throws {
    color = request.uri.queryParameters["color"].map { String($0) }
    limit = try request.number("limit", in: 1...100) ?? 20
    after = try request.number("after", in: 0...Int.max) ?? 0
  }

  var statement: Statement<Bicycle, [Bicycle]> {
    // After an id, not after a number of rows: page 1,000 costs what page 1 does, and nothing is left out when rows go.
    let page = Bicycle.read().filter(Bicycle.id > after).orderBy(Bicycle.id).limit(limit)
    guard let color else { return page }
    return page.filter(Bicycle.color == color)
  }
}

extension Request {
  /// By which a request that is sent again, because its answer got lost, is known.
  fileprivate var idempotencyKey: UUID {
    headers.first { $0.name.canonicalName == "idempotency-key" }.flatMap { UUID(uuidString: $0.value) } ?? UUID()
  }

  /// nil when it is left out; what is no number of the range is the client's mistake, and not to be guessed at.
  fileprivate func number(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
    guard let text = uri.queryParameters[Substring(name)] else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw HTTPError(.badRequest, message: "\(name) takes \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
