/// A value that is usually the default: nil then, and otherwise behind one reference. Statements are copied at every
/// step of building and running them, so they must be small.
@usableFromInline
package struct CopyOnWriteBox<Value: DefaultConstructible>: Sendable, Hashable {
  private var box: Box?

  /// Sound as `Sendable`: it is changed through a unique reference only.
  private final class Box: @unchecked Sendable {
    @exclusivity(unchecked) var value: Value

    init(_ value: Value) { self.value = value }
  }

  @usableFromInline
  init() {}

  /// True if nothing was ever changed.
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

/// A value with a default.
@usableFromInline
package protocol DefaultConstructible: Sendable, Hashable {
  init()
}
