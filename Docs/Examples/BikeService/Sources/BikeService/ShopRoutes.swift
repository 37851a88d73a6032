import Foundation
import Hummingbird
import Sqlable
import SqlableTenants

/// Shops, each with the bicycles of its own database.
struct ShopRoutes {
  let shops: SqliteTenants

  func add(to router: RouterGroup<some RequestContext>) {
    router.get { _, _ in try await ShopsPage(shops) }
    router.put(":shop") { _, context in
      try await shops.create(context.parameters.require("shop"))
      return HTTPResponse.Status.created
    }
    router.delete(":shop") { _, context in
      try await shops.delete(context.parameters.require("shop"))
      return HTTPResponse.Status.noContent
    }
    router.get(":shop/bicycles") { request, context in
      try await BicycleList(request).statement.run(shop(context))
    }
    router.post(":shop/bicycles") { request, context in
      var bicycle = try await request.decode(as: Bicycle.self, context: context)
      bicycle.id = nil
      bicycle.id = try await bicycle.insert().run(shop(context))
      return EditedResponse(status: .created, response: bicycle)
    }
  }

  private func shop(_ context: some RequestContext) throws -> SqliteTenant {
    // The name comes from the client. The library accepts only names that are safe in a path.
    shops[try context.parameters.require("shop")]
  }
}

/// GET /shops: the state of all shops. It is one statement for each shop, so a service with thousands of shops would
/// make it less often than for each request.
struct ShopsPage: ResponseGenerator {
  private let health: TenantsHealth
  private let bicycles: [(shop: String, count: Result<Int, any Error>)]

  init(_ shops: SqliteTenants) async throws {
    var bicycles: [(shop: String, count: Result<Int, any Error>)] = []
    for try await (name, count) in shops.each({ try await Bicycle.count().run($0) }) { bicycles.append((name, count)) }
    self.bicycles = bicycles.sorted { $0.shop < $1.shop }
    health = shops.health(slowest: 3)
  }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    Response(
      status: .ok,
      headers: [
        .contentType: "text/html; charset=utf-8",
        .contentSecurityPolicy: "default-src 'none'; style-src 'unsafe-inline'",
      ],
      body: ResponseBody(byteBuffer: ByteBuffer(string: html)))
  }

  var html: String {
    let statistics = health.statistics
    let rows = bicycles.map { shop, count in
      let text =
        switch count {
        case .success(let count): "<td>\(count)</td>"
        // The error can have the path of a file, which is for the log.
        case .failure(let error): "<td class=\"bad\">\(((error as? SqlError)?.kind).map { "\($0)" } ?? "failed")</td>"
        }
      // A name has no characters that mean something in HTML.
      return "<tr><th>\(shop)</th>\(text)</tr>"
    }
    let slowest = health.slowest.map { tenant in
      "<li>\(tenant.name): \(Int(tenant.statistics.longestUse / .milliseconds(1))) ms</li>"
    }
    return """
      <!doctype html>
      <html lang="en"><head><meta charset="utf-8"><title>Shops</title>
      <meta name="viewport" content="width=device-width"><meta http-equiv="refresh" content="5">
      <style>body{font:15px/1.5 system-ui,sans-serif;max-width:40rem;margin:2rem auto;padding:0 1rem}
      table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.3rem 0;border-top:1px solid #ddd}
      td{text-align:right}.bad{color:#c02626}</style></head><body>
      <h1>\(bicycles.count) shops</h1>
      <p id="state" class="\(health.isHealthy ? "good" : "bad")">\(statistics.open) open, \(statistics.waiting) calls \
      wait, \(statistics.threads) threads, \(statistics.failed) failed openings, WALs of \(health.walSize >> 10) KiB</p>
      <h2>Bicycles</h2><table id="shops">\(rows.joined())</table>
      <h2>Longest calls</h2><ol id="slowest">\(slowest.joined())</ol>
      </body></html>
      """
  }
}
