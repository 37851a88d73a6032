import Synchronization

/// A compiled statement outside the cache, such as that of a ``Prepared``. The connection owns it and may drop it;
/// `statement` is then nil.
final class StatementSlot {
  /// Accessed only with the handle's lock held.
  @exclusivity(unchecked) var statement: PreparedStatement?
  /// True if its creator has been deallocated, on any thread. A statement can't be finalized while another thread uses
  /// the connection, so the connection finalizes it later.
  private let abandoned = Atomic(false)

  var isAbandoned: Bool { abandoned.load(ordering: .acquiring) }

  func abandon() { abandoned.store(true, ordering: .releasing) }
}
