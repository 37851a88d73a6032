import Hummingbird
import Sqlable

/// What the database tells of itself: live results, and changed rows.
struct EventRoutes {
  let pool: SqlitePool

  func add(to router: Router<some RequestContext>) {
    // What GET /bicycles answers to the same query, now and whenever it is another answer.
    router.get("bicycles/events") { request, context in
      let bicycles = try BicycleList(request).statement.updates(in: pool, onlyChanges: true)
      return Response.events(of: bicycles, to: request, logger: context.logger) { bicycles in
        try ServerSentEvent("bicycles", data: bicycles)
      }
    }

    // Every changed row, once each.
    router.get("changes") { request, context in
      Response.events(of: pool.changes(on: Bicycle.self), to: request, logger: context.logger) { change in
        switch change {
        case .row(let row): try ServerSentEvent("\(row.change)", data: ["id": row.id])
        // More may have happened than was told: who keeps bicycles asks for them again.
        case .missed: try ServerSentEvent("missed", data: [String: Int]())
        }
      }
    }
  }
}
