import Synchronization

/// A slot for a statement outside the cache, such as the statement of a ``Prepared``. `statement` is nil after the
/// connection has discarded the statement.
final class StatementSlot {
  /// Accessed only with the handle's lock held.
  @exclusivity(unchecked) var statement: PreparedStatement?
  /// True if the slot's creator has been deallocated, on any thread. The connection finalizes the statement later,
  /// because another thread might be using the connection now.
  private let abandoned = Atomic(false)

  var isAbandoned: Bool { abandoned.load(ordering: .acquiring) }

  func abandon() { abandoned.store(true, ordering: .releasing) }
}
