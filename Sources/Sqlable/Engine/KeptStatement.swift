import Synchronization

/// A compiled statement that is not the cache's: the connection owns it and may drop it, whoever made it can tell.
final class KeptStatement {
  /// Touched with the handle's lock held only.
  @exclusivity(unchecked) var statement: PreparedStatement?
  /// Whether whoever made it has let go of it, on whatever thread: a statement can't be finalized while its connection
  /// is in use, so that is left to the connection.
  private let abandoned = Atomic(false)

  var isAbandoned: Bool { abandoned.load(ordering: .acquiring) }

  func abandon() { abandoned.store(true, ordering: .releasing) }
}
