import Foundation
import Hummingbird
import Logging
import NIOCore
import ServiceLifecycle
import Sqlable

/// One event of `text/event-stream`.
struct ServerSentEvent {
  var event: String
  var data: String
  /// The text that a client sends as `Last-Event-ID` when it connects again; nil for an event without a position.
  var id: String?

  init(_ event: String, data: some Encodable, id: String? = nil) throws {
    (self.event, self.id) = (event, id)
    // JSON in one line: a line break would end the event's data.
    self.data = String(decoding: try JSONEncoder().encode(data), as: UTF8.self)
  }

  var buffer: ByteBuffer {
    ByteBuffer(string: "\(id.map { "id: \($0)\n" } ?? "")event: \(event)\ndata: \(data)\n\n")
  }
}

extension Response {
  /// A response that goes on for as long as `elements` do, until the client goes away or the service shuts down.
  static func events<Elements: AsyncSequence & Sendable>(
    of elements: Elements, to request: Request, logger: Logger,
    as event: @escaping @Sendable (Elements.Element) throws -> ServerSentEvent
  ) -> Response where Elements.Element: Sendable {
    let body = ResponseBody { writer in
      do {
        try await request.body.consumeWithCancellationOnInboundClose { _ in
          for try await element in elements.cancelOnGracefulShutdown() {
            // Waits while the client is slow. What is committed meanwhile piles up nowhere: live results read it at
            // once.
            try await writer.write(event(element).buffer)
          }
        }
        try await writer.finish(nil)
      } catch let error as SqlError {
        // The status was sent long ago; the end of the connection says to come again.
        logger.error("event stream: \(error)")
        throw error
      }
    }
    return Response(status: .ok, headers: [.contentType: "text/event-stream", .cacheControl: "no-cache"], body: body)
  }
}
