import Synchronization

extension RowState {
  /// The state of decoding a model by `Codable`. The containers are reused for each row.
  @usableFromInline
  struct Decoding: ~Copyable {
    /// The stamp of the reused containers while a model is decoded; otherwise ``none``. The stamp is atomic, as the
    /// row's generation is.
    @usableFromInline let current = Atomic<UInt64>(Decoding.none)
    /// The stamp of the reused containers, which is larger than every generation of a row.
    private var stamp: UInt64 = 1 << 63
    /// The address of the `KeyedColumns` of the model that is or was last decoded.
    private(set) var model: UnsafeRawPointer?
    /// SQLite's value of the model's first column if the row's values are in the order of the model's table; otherwise
    /// nil.
    private(set) var values: UnsafeRawPointer?
    var containers = ReusedContainers()

    @usableFromInline static var none: UInt64 { .max }

    /// Abandons the containers. Containers that models have kept become stale.
    mutating func abandonContainers() {
      if containers.abandon() { stamp += 1 }
    }

    @inline(__always)
    fileprivate mutating func begin(_ model: UnsafeRawPointer, values: UnsafeRawPointer?) {
      if containers.abandonShared() { stamp += 1 }
      (self.model, self.values) = (model, values)
      current.store(stamp, ordering: .relaxed)
    }
  }

  /// True while a model is decoded by `Codable`.
  var isDecoding: Bool { decoding.current.load(ordering: .relaxed) != Decoding.none }

  /// Begins to decode a model.
  ///
  /// - Parameter columns: The identities of the columns of the model's table.
  @inline(__always)
  mutating func beginDecoding(
    _ model: UnsafeRawPointer, columns: UnsafePointer<UnsafeRawPointer>, count: Int
  ) {
    let first = firstValue.map { $0 + window.lowerBound * valueStride }
    decoding.begin(model, values: isWindow(columns, count) ? first : nil)
  }

  func endDecoding() { decoding.current.store(Decoding.none, ordering: .relaxed) }

  /// True if the window has exactly these columns.
  @inline(__always)
  private func isWindow(_ columns: UnsafePointer<UnsafeRawPointer>, _ count: Int) -> Bool {
    guard window.count == count else { return false }
    let first = self.columns + window.lowerBound
    return first == columns || (0..<count).allSatisfy { first[$0] == columns[$0] }
  }
}
