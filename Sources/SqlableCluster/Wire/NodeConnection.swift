#if Cluster
import Sqlable
import Glibc
import NIOCore
import NIOPosix

final class NodeConnection: Sendable {
  let address: NodeAddress
  private let channel: any Channel
  /// True if the connection was closed. The channel stays active until its event loop closes the channel.
  private let isClosed = LockedValue(false)

  private init(address: NodeAddress, channel: any Channel) { (self.address, self.channel) = (address, channel) }

  /// A closure that returns true if the wait for a silent node should end.
  typealias SilenceCheck = @Sendable (NodeAddress) async -> Bool

  /// The time after which a silent node is checked.
  static let silence = Duration.milliseconds(500)

  deinit { channel.close(promise: nil) }

  /// Connects, and sends the protocol version. Throws ``NodeFailure`` if the connection fails or takes too long, and
  /// `CancellationError` if the task is cancelled.
  ///
  /// A suspended process keeps its connections open. While a node does not answer, `isGivenUp` is therefore called
  /// repeatedly; if it returns true, the wait ends.
  static func open(
    to address: NodeAddress, before deadline: ContinuousClock.Instant,
    isGivenUp: @escaping SilenceCheck = { _ in false }
  ) async throws -> NodeConnection {
    let left = deadline - .now
    guard left > .zero else {
      throw NodeFailure(
        address: address, reason: "the deadline passed before the connection was opened", wasSent: false, isLate: true)
    }
    do {
      let connecting = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .connectTimeout(min(TimeAmount(left), .seconds(2)))
        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        // Without this option, the kernel would wait for a quarter of an hour if packets are lost.
        .channelOption(.socketOption(.so_keepalive), value: 1)
        .channelOption(.tcpOption(.init(rawValue: TCP_KEEPIDLE)), value: 2)
        .channelOption(.tcpOption(.init(rawValue: TCP_KEEPINTVL)), value: 1)
        .channelOption(.tcpOption(.init(rawValue: TCP_USER_TIMEOUT)), value: 3_000)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(WireHandler(address: address, isGivenUp: isGivenUp))
          }
        }
        .connect(host: address.host, port: Int(address.port))
      let promise = connecting.eventLoop.makePromise(of: (any Channel).self)
      connecting.cascade(to: promise)
      let channel = try await withTaskCancellationHandler {
        try await promise.futureResult.get()
      } onCancel: {
        promise.fail(CancellationError())
        connecting.whenSuccess { $0.close(promise: nil) }
      }
      return NodeConnection(address: address, channel: channel)
    } catch let error as CancellationError {
      throw error
    } catch {
      // If the deadline cut the attempt short, the failure says nothing about the node.
      throw NodeFailure(address: address, reason: "can't connect", wasSent: false, isLate: deadline <= .now)
    }
  }

  var isOpen: Bool { !isClosed.withLock { $0 } && channel.isActive }

  func close() {
    isClosed.withLock { $0 = true }
    channel.close(promise: nil)
  }

  /// Sends a request, and returns the response, which can be a `.failure`.
  ///
  /// Throws ``NodeFailure`` if the connection was lost or the deadline passed, and `CancellationError` if the task was
  /// cancelled. After either of these errors, the connection is closed, and the node might have run the request. After
  /// any other error, the request was not sent.
  ///
  /// - Parameter inParts: True to return only the first part of the rows. No other request is allowed until
  ///   ``nextPart(before:)`` has returned the last part.
  func send(
    _ request: WireRequest, inParts: Bool = false, before deadline: ContinuousClock.Instant
  ) async throws -> WireResponse {
    var message = channel.allocator.buffer(capacity: 256)
    try request.write(to: &message)
    return try await call(.request(message, inParts: inParts), before: deadline)
  }

  /// Returns the next part of the rows. Until the next call, the node can send only what the network buffers hold.
  func nextPart(before deadline: ContinuousClock.Instant) async throws -> WireResponse {
    try await call(.nextPart, before: deadline)
  }

  /// Sends a request, and calls `take` on the connection's event loop with the response or a ``NodeFailure``.
  func send(
    _ request: WireRequest, before deadline: ContinuousClock.Instant,
    take: @escaping @Sendable (Result<WireResponse, any Error>) -> Void
  ) {
    var message = channel.allocator.buffer(capacity: 64)
    do { try request.write(to: &message) } catch { return take(.failure(error)) }
    start(.request(message, inParts: false), before: deadline).futureResult.whenComplete(take)
  }

  /// Sends requests without waiting between them. Returns the results in order. Cancellation closes the connection.
  func send(
    _ requests: [WireMessage], before deadline: ContinuousClock.Instant
  ) async -> [Result<WireResponse, any Error>] {
    let calls = requests.map { request in
      let promise = channel.eventLoop.makePromise(of: WireResponse.self)
      return WireCall(content: .request(request.bytes, inParts: false), promise: promise, deadline: deadline)
    }
    channel.eventLoop.execute { [self] in
      for call in calls { channel.write(call, promise: unwritten(call.promise)) }
      channel.flush()
    }
    return await withTaskCancellationHandler {
      let all = EventLoopFuture.whenAllComplete(calls.map(\.promise.futureResult), on: channel.eventLoop)
      do { return try await all.get() } catch { return calls.map { _ in .failure(error) } }
    } onCancel: {
      for call in calls { call.promise.fail(CancellationError()) }
      close()
    }
  }

  private func call(
    _ content: WireCall.Content, before deadline: ContinuousClock.Instant
  ) async throws -> WireResponse {
    try Task.checkCancellation()
    guard deadline > .now else {
      throw NodeFailure(address: address, reason: WireCall.late, wasSent: false, isLate: true)
    }
    let promise = start(content, before: deadline)
    return try await withTaskCancellationHandler {
      try await promise.futureResult.get()
    } onCancel: {
      promise.fail(CancellationError())
      close()
    }
  }

  private func start(
    _ content: WireCall.Content, before deadline: ContinuousClock.Instant
  ) -> EventLoopPromise<WireResponse> {
    let promise = channel.eventLoop.makePromise(of: WireResponse.self)
    let call = WireCall(content: content, promise: promise, deadline: deadline)
    channel.writeAndFlush(call, promise: unwritten(promise))
    return promise
  }

  /// Returns a promise for writing a call to the channel. If the write fails, the call fails too.
  private func unwritten(_ promise: EventLoopPromise<WireResponse>) -> EventLoopPromise<Void> {
    // A closed channel no longer has a handler, so only the promise of the write reports the failure.
    let written = channel.eventLoop.makePromise(of: Void.self)
    written.futureResult.whenFailure { [address] _ in
      promise.fail(NodeFailure(address: address, reason: "the connection was lost"))
    }
    return written
  }
}

struct WireMessage: Sendable {
  fileprivate let bytes: ByteBuffer

  init(_ request: WireRequest) throws {
    var bytes = ByteBufferAllocator().buffer(capacity: 256)
    try request.write(to: &bytes)
    self.bytes = bytes
  }
}

/// A failure to reach a node, or to receive its answer.
struct NodeFailure: Error, CustomStringConvertible {
  let address: NodeAddress
  let reason: String
  var wasSent = true
  /// True if the call's own deadline passed, which says nothing about the node.
  var isLate = false
  /// True if the node became silent during the request. Such a request is not sent again, because a very long request
  /// would silence the next node too.
  var isSilent = false

  var description: String { "\(address): \(reason)" }
}

extension TimeAmount {
  fileprivate init(_ duration: Duration) { self = .nanoseconds(Int64(clamping: duration.nanoseconds)) }
}

extension Duration {
  fileprivate var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflows ? .max : product.addingReportingOverflow(attoseconds / 1_000_000_000).partialValue
  }
}

private struct WireCall: Sendable {
  enum Content: Sendable {
    case request(ByteBuffer, inParts: Bool)
    /// A request for the next part of the oldest request's rows.
    case nextPart
  }

  let content: Content
  let promise: EventLoopPromise<WireResponse>
  let deadline: ContinuousClock.Instant

  static let late = "the node did not answer in time"

  /// Starts a task that waits for the response. The task ends the call and closes the connection at the deadline, or if
  /// `isGivenUp` returns true.
  func watch(on channel: any Channel, of address: NodeAddress, _ isGivenUp: @escaping NodeConnection.SilenceCheck) {
    let ended = LockedValue(false)
    promise.futureResult.whenComplete { _ in ended.withLock { $0 = true } }
    Task {
      while !ended.withLock({ $0 }) {
        if deadline <= .now {
          end(NodeFailure(address: address, reason: WireCall.late, isLate: true), channel)
        } else if await isGivenUp(address) {
          // The node might have answered while `isGivenUp` ran. The connection must then stay open, because the next
          // call might already use it.
          guard !ended.withLock({ $0 }) else { return }
          let reason = "the node does not answer, and another node is the leader"
          end(NodeFailure(address: address, reason: reason, isSilent: true), channel)
        } else {
          try? await Task.sleep(until: min(deadline, .now + NodeConnection.silence), clock: .continuous)
        }
      }
    }
  }

  private func end(_ failure: NodeFailure, _ channel: any Channel) {
    promise.fail(failure)
    channel.close(promise: nil)
  }
}

extension SqlAnswer {
  /// Appends the rows of the next part of the same answer.
  fileprivate mutating func append(_ part: SqlAnswer) {
    let first = rows.count * part.columns.count
    columns = part.columns
    rows += part.rows
    for place in part.invalidTexts { invalidTexts.insert(first + place) }
  }
}

/// A channel handler that splits received bytes into responses. Each response goes to the oldest waiting call.
private final class WireHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = WireCall
  typealias OutboundOut = ByteBuffer

  private struct Waiting {
    var promise: EventLoopPromise<WireResponse>
    var timer: Scheduled<Void>
    var deadline: ContinuousClock.Instant
    let isInParts: Bool
    var answer = SqlAnswer()
  }

  private let address: NodeAddress
  private let isGivenUp: NodeConnection.SilenceCheck
  private var waiting = CircularBuffer<Waiting>()
  private var received = ByteBuffer()
  /// True if a part was delivered and the next part is not yet requested.
  private var isPaused = false
  /// True if the channel wanted to read during the pause.
  private var isReadDue = false
  /// The error that made this side close the connection; nil if this side did not close the connection.
  private var failure: (any Error)?

  init(address: NodeAddress, isGivenUp: @escaping NodeConnection.SilenceCheck) {
    (self.address, self.isGivenUp) = (address, isGivenUp)
  }

  func channelActive(context: ChannelHandlerContext) {
    var greeting = context.channel.allocator.buffer(capacity: 8)
    greeting.writeWord(1)
    context.writeAndFlush(wrapOutboundOut(greeting), promise: nil)
    context.fireChannelActive()
  }

  func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
    let call = unwrapOutboundIn(data)
    guard context.channel.isActive, failure == nil else {
      call.promise.fail(failure ?? connectionLost)
      promise?.fail(failure ?? connectionLost)
      return
    }
    let channel = context.channel
    let pause = min(TimeAmount(call.deadline - .now), TimeAmount(NodeConnection.silence))
    let timer = context.eventLoop.scheduleTask(in: pause) { [address, isGivenUp] in
      call.watch(on: channel, of: address, isGivenUp)
    }
    switch call.content {
    case .request(let message, let inParts):
      waiting.append(Waiting(promise: call.promise, timer: timer, deadline: call.deadline, isInParts: inParts))
      context.write(wrapOutboundOut(message), promise: promise)
    case .nextPart:
      promise?.succeed(())
      resume(context, call, timer)
    }
  }

  /// Delivers the next part. The part might already have arrived together with the previous part.
  private func resume(_ context: ChannelHandlerContext, _ call: WireCall, _ timer: Scheduled<Void>) {
    guard isPaused, !waiting.isEmpty else {
      timer.cancel()
      return call.promise.fail(connectionLost)
    }
    waiting.modify(waiting.startIndex) { waiting in
      (waiting.promise, waiting.timer, waiting.deadline) = (call.promise, timer, call.deadline)
    }
    isPaused = false
    takeResponses(context)
    guard !isPaused, isReadDue else { return }
    isReadDue = false
    context.read()
  }

  /// Defers reading during a pause, so that the client does not buffer the later parts.
  func read(context: ChannelHandlerContext) {
    if isPaused { isReadDue = true } else { context.read() }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    received.writeBuffer(&bytes)
    takeResponses(context)
    guard !waiting.isEmpty else { return }
    // A node waits for an acknowledgement. Without this option, the kernel would delay the acknowledgement by 40 ms.
    _ = context.channel.setOption(.tcpOption(.init(rawValue: TCP_QUICKACK)), value: 1)
  }

  private func takeResponses(_ context: ChannelHandlerContext) {
    do {
      while !isPaused, let response = try nextResponse() { take(response) }
      received.discardReadBytes()
    } catch {
      // After a malformed response, the start of the next response is unknown, so the connection can't be used anymore.
      failure = error
      context.close(promise: nil)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  func channelInactive(context: ChannelHandlerContext) {
    // If a response can't be parsed, the error belongs to the first waiting call.
    var error = failure
    while let call = waiting.popFirst() {
      call.timer.cancel()
      // The first request past its deadline closes the connection, which also ends the other requests of the same call.
      let isLate = call.deadline <= .now
      call.promise.fail(
        error ?? (isLate ? NodeFailure(address: address, reason: WireCall.late, isLate: true) : connectionLost))
      error = nil
    }
    context.fireChannelInactive()
  }

  private var connectionLost: NodeFailure { NodeFailure(address: address, reason: "the connection was lost") }

  private func nextResponse() throws -> WireResponse? {
    guard let words = received.getInteger(at: received.readerIndex, endianness: .little, as: UInt32.self),
      let type = received.getInteger(at: received.readerIndex + 4, as: UInt8.self),
      received.readableBytes >= WireResponse.headerLength + Int(words) * 8
    else { return nil }
    received.moveReaderIndex(forwardBy: WireResponse.headerLength)
    guard let body = received.readSlice(length: Int(words) * 8) else { return nil }
    return try WireResponse(type: type, body)
  }

  private func take(_ response: WireResponse) {
    guard !waiting.isEmpty else { return }
    guard case .rows(let part, let isLast) = response else { return end(with: response) }
    if waiting[waiting.startIndex].isInParts { return isLast ? end(with: response) : pause(with: response) }
    // The subscript would copy all received rows for each part.
    waiting.modify(waiting.startIndex) { $0.answer.append(part) }
    guard isLast, let call = waiting.first else { return }
    end(with: .rows(call.answer, isLast: true))
  }

  private func pause(with part: WireResponse) {
    isPaused = true
    waiting[waiting.startIndex].timer.cancel()
    waiting[waiting.startIndex].promise.succeed(part)
  }

  private func end(with response: WireResponse) {
    guard let call = waiting.popFirst() else { return }
    call.timer.cancel()
    call.promise.succeed(response)
  }
}
#endif
