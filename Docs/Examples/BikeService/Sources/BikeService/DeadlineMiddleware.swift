import Hummingbird
import Sqlable

/// Whatever a request asks of the pool is done by its deadline, or throws `.timeout`.
///
/// An event stream is not held to it: the body of a response is written after the middleware has returned.
struct DeadlineMiddleware<Context: RequestContext>: RouterMiddleware {
  let duration: Duration

  func handle(
    _ request: Request, context: Context, next: (Request, Context) async throws -> Response
  ) async throws -> Response {
    try await withDeadline(duration) { try await next(request, context) }
  }
}
