import Synchronization

extension RowState {
  /// The state of decoding a model by `Codable`, for the module SqlableCodable.
  @usableFromInline
  package struct Decoding: ~Copyable {
    /// The stamp of the reused containers while a model is decoded; otherwise ``none``. The stamp is atomic, like the
    /// row's generation.
    @usableFromInline package let current = Atomic<UInt64>(Decoding.none)
    /// A number that identifies the reused containers: at least 2^63, so that it never equals a row's generation.
    @usableFromInline package var stamp: UInt64 = 1 << 63
    /// The address of the `KeyedColumns` of the model that is being decoded, or that was decoded last.
    @usableFromInline package var model: UnsafeRawPointer?
    /// SQLite's value of the model's first column if the row's values are in the order of the model's table; otherwise
    /// nil.
    @usableFromInline package var values: UnsafeRawPointer?
    /// The retained address of the first container. All containers are reused for each row.
    @usableFromInline package var firstContainer: UnsafeRawPointer?

    @inlinable package static var none: UInt64 { .max }

    /// Releases the containers. Containers that a model has kept are stale from then on.
    mutating func abandonContainers() {
      guard let firstContainer else { return }
      Unmanaged<AnyObject>.fromOpaque(firstContainer).release()
      self.firstContainer = nil
      stamp += 1
    }
  }
}
