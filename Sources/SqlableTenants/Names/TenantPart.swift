import FoundationEssentials
import SqlableCore

/// A part of a tenant on its way to another machine; see ``SqliteTenants/handOver(_:within:_:)``.
///
/// A part is `Codable`, and has at most about 1 MiB of the tenant's file. It contains the tenant's rows, so the
/// connection must be encrypted, and the receiver must authenticate the sender.
public struct TenantPart: Codable, Sendable, Hashable {
  enum Content: Codable, Sendable, Hashable {
    /// - Parameter wait: The longest time for which the sender will wait for the tenant's calls, in seconds; nil if the
    ///   sender sends no such time.
    case begin(wait: Int?)
    case bytes(Data, offset: Int)
    /// Pages that have changed since their bytes were sent.
    case pages(Data, numbers: [Int], size: Int)
    /// The receiver syncs its file, so that the sync after the last part takes less time.
    case sync
    /// The receiver becomes the owner.
    case end(size: Int)
    /// The receiver must never become the owner by this hand-over.
    case cancel
  }

  /// The name of the tenant.
  public let tenant: String
  /// The token that identifies the hand-over.
  let token: String
  let number: Int
  let content: Content

  /// The maximum number of bytes of the file in one part.
  static let maximumBytes = 1 << 20

  /// Divides `count` pages into ranges, each of which is sent in one part.
  static func ranges(_ count: Int, pageSize: Int) -> [Range<Int>] {
    let width = max(1, maximumBytes / pageSize)
    return stride(from: 0, to: count, by: width).map { $0..<min(count, $0 + width) }
  }
}

/// The receiver's answer to a part: the result of ``SqliteTenants/receive(_:)``. The closure that is passed to
/// ``SqliteTenants/handOver(_:within:_:)`` returns the answer to the sender.
public struct TenantReceipt: Codable, Sendable, Hashable {
  let token: String
  let number: Int
  /// True once the receiver is the owner.
  let isOwner: Bool
}

/// The sender of one hand-over, which numbers the parts and checks the receipts.
struct TenantSender {
  typealias Send = @Sendable (TenantPart) async throws -> TenantReceipt

  let name: TenantName
  let token: String
  private let send: Send
  private var number: Int

  /// - Parameter number: The number of the first part.
  init(_ name: TenantName, _ token: String, _ send: @escaping Send, number: Int = 0) {
    (self.name, self.token, self.send, self.number) = (name, token, send, number)
  }

  /// Sends a part to the receiver. Returns true if the receiver is now the tenant's owner.
  @discardableResult
  mutating func send(_ content: TenantPart.Content) async throws -> Bool {
    try Task.checkCancellation()
    return try await deliver(TenantPart(tenant: name.text, token: token, number: number, content: content))
  }

  private mutating func deliver(_ part: TenantPart) async throws -> Bool {
    let receipt = try await send(part)
    guard receipt.token == token, receipt.number == number else {
      throw SqlError.misuse(
        "the receipt belongs to another part; return the receipt that receive(_:) returned for this part")
    }
    number += 1
    return receipt.isOwner
  }

  /// Prevents the receiver from becoming the owner. Returns true if the receiver is already the owner. Throws if the
  /// receiver does not answer. Also runs in a cancelled task.
  func cancel() async throws -> Bool {
    try await Task {
      var sender = self
      return try await sender.deliver(TenantPart(tenant: name.text, token: token, number: number, content: .cancel))
    }.value
  }
}
