import Foundation
import HTTPTypes
import Hummingbird
import Sqlable
import SqlablePolicies

/// Reads that clients write themselves, as statements of Docs/StatementFormat.md: what an owner may ask of the own
/// bicycles.
struct SearchRoutes {
  let pool: SqlitePool

  func add(to router: RouterGroup<some RequestContext>) {
    router.post { request, _ in
      var request = request
      return try await answer(to: search(&request).limited)
    }

    // What POST /search answers to the same statement, now and whenever it is another answer. A POST too: the address
    // of a GET, which an EventSource needs, ends up in logs with all values of the statement, and has no header.
    router.post("events") { request, context in
      var request = request
      let search = try await search(&request)
      // Once with the request's deadline, so that a search that takes too long is 503, and no stream that breaks off.
      _ = try await answer(to: search.limited)
      // Without `onlyChanges` a client could notice that others change their bicycles.
      let results = search.statement.updates(in: pool, onlyChanges: true)
      return Response.events(of: results, to: request, logger: context.logger) { result in
        try ServerSentEvent("result", data: SearchResult(result))
      }
    }
  }

  /// The statement in the body, as far as its owner may ask for it, and the same within the limits of one answer.
  private func search(_ request: inout Request) async throws -> (
    statement: AnyStatement, limited: LimitedQuery<AnyStatement>
  ) {
    // Who asks is taken on trust. A service of your own takes the owner from what it has verified: a session, a token.
    guard let owner = request.headers[.bikeOwner], !owner.isEmpty else {
      throw HTTPError(.badRequest, message: "the header Bike-Owner is missing")
    }
    let policy = StatementPolicy.search(by: owner)
    // Throws what becomes a 413, after that many bytes.
    let body = try await request.collectBody(upTo: policy.limits.bytes)
    do {
      let statement = try policy.statement(json: Data(body.readableBytesView))
      return (statement, statement.limited(by: policy))
    } catch let error as SqlError { throw error.isOfDocument ? DocumentError(error) : error }
  }

  private func answer(to search: LimitedQuery<AnyStatement>) async throws -> SearchResult {
    // A read, so it runs on one of the pool's readers, which can't write.
    do { return SearchResult(try await search.run(pool)) } catch let error as SqlError {
      switch error.kind {
      // Its plan would scan too many rows.
      case .invalidStatement: throw DocumentError(error)
      // SQLite's functions throw for some values: the sum of two prices can be too large.
      case .other, .tooBig: throw HTTPError(.unprocessableContent, message: "the result can't be computed")
      default: throw error
      }
    }
  }
}

extension StatementPolicy {
  /// What an owner's statements may do: read the own bicycles.
  static func search(by owner: String) -> StatementPolicy {
    StatementPolicy(
      .table(Bicycle.self).readingAll()
        .filtering(Bicycle.id, Bicycle.color, Bicycle.price, by: .equality, .comparison)
        .filtering(Bicycle.name, by: .equality, .comparison, .pattern)
        .sorting(Bicycle.id, Bicycle.name, Bicycle.price)
        .rows(where: Bicycle.owner == owner),
      features: [.aggregates, .distinct])
  }
}

extension HTTPField.Name {
  fileprivate static let bikeOwner = HTTPField.Name("Bike-Owner")!
}

extension SqlError {
  /// Whether the document is to blame, and not the policy that it is checked against.
  fileprivate var isOfDocument: Bool { if case .misuse = kind { documentPath != nil } else { true } }
}

/// 400: what is wrong with a document, and where in it. Neither holds a name or value that the policy hides.
private struct DocumentError: HTTPResponseError, Encodable {
  private let message: String
  private let path: String?

  init(_ error: SqlError) { (message, path) = (error.message, error.documentPath) }

  var status: HTTPResponse.Status { .badRequest }

  func response(from request: Request, context: some RequestContext) throws -> Response {
    var response = try context.responseEncoder.encode(["error": self], from: request, context: context)
    response.status = status
    return response
  }
}
