/// A box for a value that is usually the default. The default needs no memory, so that statements are fast to copy.
@usableFromInline
package struct CopyOnWriteBox<Value: DefaultConstructible>: Sendable, Hashable {
  @usableFromInline var box: Box?

  /// `@unchecked Sendable` is sound: a box is changed only through a unique reference.
  @usableFromInline
  final class Box: @unchecked Sendable {
    @exclusivity(unchecked) var value: Value

    init(_ value: Value) { self.value = value }
  }

  @inlinable
  init() { box = nil }

  package var isDefault: Bool { box == nil }

  package var value: Value {
    _read {
      if let box { yield box.value } else { yield Value() }
    }
    _modify {
      if box == nil {
        box = Box(Value())
      } else if !isKnownUniquelyReferenced(&box) {
        box = Box(value)
      }
      yield &box.unsafelyUnwrapped.value
    }
  }

  @usableFromInline
  package static func == (left: CopyOnWriteBox, right: CopyOnWriteBox) -> Bool {
    left.box === right.box || left.value == right.value
  }

  @usableFromInline
  package func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

@usableFromInline
package protocol DefaultConstructible: Sendable, Hashable {
  init()
}
