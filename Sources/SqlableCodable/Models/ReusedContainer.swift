import SqlableCore

/// A container of `Codable` that is reused for each row. Making a `KeyedDecodingContainer` or a
/// `KeyedEncodingContainer` takes 900 instructions.
///
/// A model's `init(from:)` or `encode(to:)` can keep a copy of the container. The owner of a reused container calls
/// `abandonShared()` before each row. If a copy was kept, `abandonShared()` abandons all containers.
class ReusedContainer {
  fileprivate let keys: UnsafeRawPointer
  /// The next container in the list; each container has a different key type. The reference is retained.
  fileprivate let next: Unmanaged<ReusedContainer>?
  /// The memory of the container, which consists of one reference.
  fileprivate let memory: UnsafeMutablePointer<AnyObject>

  fileprivate init(
    keys: UnsafeRawPointer, next: Unmanaged<ReusedContainer>?, memory: UnsafeMutablePointer<AnyObject>
  ) { (self.keys, self.next, self.memory) = (keys, next, memory) }

  deinit {
    memory.deinitialize(count: 1)
    memory.deallocate()
    next?.release()
  }

  fileprivate var isShared: Bool { !isKnownUniquelyReferenced(&memory.pointee) }
}

/// A reused container of one type.
///
/// The class is generic over the container instead of over the keys, so that its methods find the container's metadata
/// in the object. A function that is generic over the keys looks up the metadata, which takes 280 instructions.
final class ReusedContainerOf<Container>: ReusedContainer {
  /// Returns nil unless the container consists of a single reference: only then can the library check whether copies of
  /// the container exist.
  fileprivate init?(_ container: Container, keys: UnsafeRawPointer, next: Unmanaged<ReusedContainer>?) {
    guard MemoryLayout<Container>.size == MemoryLayout<AnyObject>.size, !_isPOD(Container.self) else { return nil }
    let memory = UnsafeMutablePointer<AnyObject>.allocate(capacity: 1)
    UnsafeMutableRawPointer(memory).initializeMemory(as: Container.self, to: container)
    super.init(keys: keys, next: next, memory: memory)
  }

  /// Returns a copy of the container. Not inlined, because callers don't have the container's metadata.
  @inline(never)
  func copy() -> Container {
    // Sound: only `init` sets the memory.
    UnsafeMutableRawPointer(memory).assumingMemoryBound(to: Container.self).pointee
  }
}

/// The reused containers of one coder, one for each key type. The owner calls `abandon()` before the owner is freed.
struct ReusedContainers {
  // Unmanaged, because a retained reference takes 40 instructions for each use.
  private(set) var first: Unmanaged<ReusedContainer>?

  /// Returns the container for a type of coding keys. `keys` is the address of the type's `KeyMap`.
  @inline(__always)
  func container(keys: UnsafeRawPointer) -> Unmanaged<ReusedContainer>? {
    var container = first
    while let current = container, current._withUnsafeGuaranteedRef({ $0.keys != keys }) {
      container = current._withUnsafeGuaranteedRef { $0.next }
    }
    return container
  }

  mutating func add<Container>(_ container: Container, keys: UnsafeRawPointer) {
    guard let reused = ReusedContainerOf(container, keys: keys, next: first) else { return }
    first = Unmanaged.passRetained(reused)
  }

  /// Abandons all containers if a model has kept a copy of one. Returns true if the containers were abandoned.
  @inline(__always)
  mutating func abandonShared() -> Bool {
    var container = first
    while let current = container {
      if current._withUnsafeGuaranteedRef({ $0.isShared }) { return abandon() }
      container = current._withUnsafeGuaranteedRef { $0.next }
    }
    return false
  }

  /// Abandons all containers. Returns false if there are none.
  @discardableResult
  @inline(never)
  mutating func abandon() -> Bool {
    guard let first else { return false }
    first.release()
    self.first = nil
    return true
  }
}
