import HTTPTypes
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

    // Every changed row, once each, also those of the time when the client was away.
    router.get("changes") { request, context in
      let changes = ChangeEvents(pool: pool, lastEventID: request.headers[.lastEventID])
      return Response.events(of: changes, to: request, logger: context.logger) { $0 }
    }
  }
}

extension HTTPField.Name {
  fileprivate static let lastEventID = HTTPField.Name("Last-Event-ID")!
}
