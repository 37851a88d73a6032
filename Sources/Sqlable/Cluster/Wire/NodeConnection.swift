#if Cluster
import NIOCore
import NIOPosix

/// A connection to one node, which answers requests in their order.
final class NodeConnection: Sendable {
  let address: NodeAddress
  private let channel: any Channel

  private init(address: NodeAddress, channel: any Channel) { (self.address, self.channel) = (address, channel) }

  /// Whether a node that is silent is to be given up.
  typealias SilenceCheck = @Sendable (NodeAddress) async -> Bool

  /// How long a node may be silent before it is checked.
  static let silence = Duration.milliseconds(500)

  deinit { channel.close(promise: nil) }

  /// Connects, and announces the protocol's version. Throws ``NodeFailure`` if that fails, or takes too long.
  ///
  /// A node that is stopped keeps its connections. So `isGivenUp` is asked about one that has been silent for a while,
  /// again and again, and may end the wait for it.
  static func open(
    to address: NodeAddress, before deadline: ContinuousClock.Instant,
    isGivenUp: @escaping SilenceCheck = { _ in false }
  ) async throws -> NodeConnection {
    let left = deadline - .now
    guard left > .zero else {
      throw NodeFailure(address: address, reason: "no time was left to connect", wasSent: false)
    }
    do {
      let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
        .connectTimeout(min(TimeAmount(left), .seconds(2)))
        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
        .channelInitializer { channel in
          channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(WireHandler(address: address, isGivenUp: isGivenUp))
          }
        }
        .connect(host: address.host, port: Int(address.port)).get()
      return NodeConnection(address: address, channel: channel)
    } catch {
      throw NodeFailure(address: address, reason: "can't connect", wasSent: false)
    }
  }

  var isOpen: Bool { channel.isActive }

  func close() { channel.close(promise: nil) }

  /// Sends a request, and returns the response, also a `.failure`.
  ///
  /// Throws ``NodeFailure`` if the connection was lost or the deadline passed, and `CancellationError` if the task was
  /// cancelled. Then the connection is closed, and the node may have run the request; otherwise it was not sent.
  func send(_ request: WireRequest, before deadline: ContinuousClock.Instant) async throws -> WireResponse {
    try Task.checkCancellation()
    guard deadline > .now else { throw NodeFailure(address: address, reason: WireCall.late, wasSent: false) }
    var message = channel.allocator.buffer(capacity: 256)
    try request.write(to: &message)
    let promise = channel.eventLoop.makePromise(of: WireResponse.self)
    // A channel that has been closed has no handler any more, and only its own promise says so.
    let written = channel.eventLoop.makePromise(of: Void.self)
    written.futureResult.whenFailure { [address] _ in
      promise.fail(NodeFailure(address: address, reason: "the connection was lost"))
    }
    channel.writeAndFlush(WireCall(message: message, promise: promise, deadline: deadline), promise: written)
    return try await withTaskCancellationHandler {
      try await promise.futureResult.get()
    } onCancel: {
      promise.fail(CancellationError())
      close()
    }
  }
}

/// A node was not reached, or its answer did not come.
struct NodeFailure: Error, CustomStringConvertible {
  let address: NodeAddress
  let reason: String
  /// Whether a request may have reached it.
  var wasSent = true

  var description: String { "\(address): \(reason)" }
}

extension TimeAmount {
  fileprivate init(_ duration: Duration) { self = .nanoseconds(Int64(clamping: duration.nanoseconds)) }
}

extension Duration {
  /// At most the 292 years that fit.
  fileprivate var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflows ? .max : product.addingReportingOverflow(attoseconds / 1_000_000_000).partialValue
  }
}

/// A request that waits for its response.
private struct WireCall: Sendable {
  let message: ByteBuffer
  let promise: EventLoopPromise<WireResponse>
  let deadline: ContinuousClock.Instant

  static let late = "it did not answer in time"

  /// Waits for the response; closes the connection at the deadline, or when the node is given up.
  func watch(on channel: any Channel, of address: NodeAddress, _ isGivenUp: @escaping NodeConnection.SilenceCheck) {
    let ended = Guarded(false)
    promise.futureResult.whenComplete { _ in ended.withLock { $0 = true } }
    Task {
      while !ended.withLock({ $0 }) {
        if deadline <= .now {
          end(WireCall.late, channel, address)
        } else if await isGivenUp(address) {
          end("it is silent, and another node leads", channel, address)
        } else {
          try? await Task.sleep(until: min(deadline, .now + NodeConnection.silence), clock: .continuous)
        }
      }
    }
  }

  private func end(_ reason: String, _ channel: any Channel, _ address: NodeAddress) {
    promise.fail(NodeFailure(address: address, reason: reason))
    channel.close(promise: nil)
  }
}

/// Divides what a node sends into responses, and gives each to the oldest call that waits.
private final class WireHandler: ChannelDuplexHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundIn = WireCall
  typealias OutboundOut = ByteBuffer

  private struct Waiting {
    let promise: EventLoopPromise<WireResponse>
    let timer: Scheduled<Void>
    /// What has come of a result.
    var columns: [String] = []
    var rows: [[DatabaseValue]] = []
  }

  private let address: NodeAddress
  private let isGivenUp: NodeConnection.SilenceCheck
  private var waiting = CircularBuffer<Waiting>()
  private var received = ByteBuffer()
  /// Why the connection was closed by this side.
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
      call.promise.fail(failure ?? lost)
      promise?.fail(failure ?? lost)
      return
    }
    let channel = context.channel
    let pause = min(TimeAmount(call.deadline - .now), TimeAmount(NodeConnection.silence))
    let timer = context.eventLoop.scheduleTask(in: pause) { [address, isGivenUp] in
      call.watch(on: channel, of: address, isGivenUp)
    }
    waiting.append(Waiting(promise: call.promise, timer: timer))
    context.write(wrapOutboundOut(call.message), promise: promise)
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    var bytes = unwrapInboundIn(data)
    received.writeBuffer(&bytes)
    do {
      while let response = try nextResponse() { take(response) }
      received.discardReadBytes()
    } catch {
      // Nothing that follows can be understood.
      failure = error
      context.close(promise: nil)
    }
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

  func channelInactive(context: ChannelHandlerContext) {
    while let call = waiting.popFirst() {
      call.timer.cancel()
      call.promise.fail(failure ?? lost)
    }
    context.fireChannelInactive()
  }

  private var lost: NodeFailure { NodeFailure(address: address, reason: "the connection was lost") }

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
    guard case .rows(let columns, let rows, let isLast) = response else { return end(with: response) }
    waiting[waiting.startIndex].columns = columns
    waiting[waiting.startIndex].rows += rows
    guard isLast, let call = waiting.first else { return }
    end(with: .rows(columns: columns, rows: call.rows, isLast: true))
  }

  private func end(with response: WireResponse) {
    guard let call = waiting.popFirst() else { return }
    call.timer.cancel()
    call.promise.succeed(response)
  }
}
#endif
