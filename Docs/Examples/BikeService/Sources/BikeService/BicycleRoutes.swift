import Hummingbird
import Sqlable

/// The REST resource.
struct BicycleRoutes {
  let pool: SqlitePool

  func add(to router: RouterGroup<some RequestContext>) {
    router.get { request, _ in try await BicycleList(request).statement.run(pool) }
    router.get(":id") { _, context in try await get(context) }
    router.post { request, context in try await create(request, context) }
    router.put(":id") { request, context in try await replace(request, context) }
    router.delete(":id") { _, context in try await delete(context) }
  }

  private func get(_ context: some RequestContext) async throws -> Bicycle {
    let id = try context.parameters.require("id", as: Int.self)
    return try await found(Bicycle.byId(id).run(pool))
  }

  private func create(_ request: Request, _ context: some RequestContext) async throws -> Response {
    var bicycle = try await request.decode(as: Bicycle.self, context: context)
    bicycle.id = nil  // the table gives the number
    // The answer is sent when the commit has succeeded: requests that come at the same time share one.
    let id = try await bicycle.insert().run(pool)
    bicycle.id = id
    var response = try bicycle.response(from: request, context: context)
    response.status = .created
    response.headers[.location] = "/bicycles/\(id)"
    return response
  }

  private func replace(_ request: Request, _ context: some RequestContext) async throws -> Bicycle {
    var bicycle = try await request.decode(as: Bicycle.self, context: context)
    bicycle.id = try context.parameters.require("id", as: Int.self)
    return try await found(bicycle.update().returning().first().run(pool))
  }

  private func delete(_ context: some RequestContext) async throws -> HTTPResponse.Status {
    let id = try context.parameters.require("id", as: Int.self)
    let deleted = try await Bicycle.delete(Bicycle.id == id).run(pool)
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
  /// nil when it is left out; what is no number of the range is the client's mistake, and not to be guessed at.
  fileprivate func number(_ name: String, in range: ClosedRange<Int>) throws -> Int? {
    guard let text = uri.queryParameters[Substring(name)] else { return nil }
    guard let number = Int(text), range.contains(number) else {
      throw HTTPError(.badRequest, message: "\(name) takes \(range.lowerBound) to \(range.upperBound)")
    }
    return number
  }
}
