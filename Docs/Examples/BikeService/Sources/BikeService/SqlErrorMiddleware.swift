import Hummingbird
import Logging
import Sqlable

/// The one place that says what a refused statement is in HTTP.
struct SqlErrorMiddleware<Context: RequestContext>: RouterMiddleware {
  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    do {
      return try await next(request, context)
    } catch let error as SqlError {
      throw error.httpError(logger: context.logger)
    }
  }
}

extension SqlError {
  fileprivate func httpError(logger: Logger) -> HTTPError {
    switch kind {
    case .constraint(.unique), .constraint(.primaryKey):
      return HTTPError(.conflict, message: "there is one already with this \(column ?? "key")")
    case .tenant(.missing), .tenant(.deleted): return HTTPError(.notFound)
    case .tenant(.exists): return HTTPError(.conflict)
    case .tenant(.invalidName): return HTTPError(.badRequest, message: message)
    case .constraint, .encoding, .tooBig:
      return HTTPError(.unprocessableContent, message: column.map { "\($0) is not acceptable" } ?? "not acceptable")
    case .busy, .timeout, .closed, .full, .unavailable, .outcomeUnknown:
      // Full too: somebody has to make room, and then the same request can succeed.
      logger.warning("not now: \(self)")
      return HTTPError(.serviceUnavailable, headers: [.retryAfter: "1"])
    default:
      // A mistake in the program, or a damaged file: for those who run the service, not for its clients. The
      // description holds the statement, and never a value that was bound.
      logger.error("\(self)")
      return HTTPError(.internalServerError)
    }
  }
}
