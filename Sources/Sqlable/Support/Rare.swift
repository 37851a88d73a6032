/// A value that is usually the default: nil then, and otherwise behind one reference. Statements are copied at every
/// step of building and running them, so they must be small.
@usableFromInline
struct Rare<Value: RareValue>: Sendable, Hashable {
  private var box: Box?

  /// Sound as `Sendable`: it is changed through a unique reference only.
  private final class Box: @unchecked Sendable {
    @exclusivity(unchecked) var value: Value

    init(_ value: Value) { self.value = value }
  }

  @usableFromInline
  init() {}

  /// Whether nothing was ever changed.
  var isDefault: Bool { box == nil }

  var value: Value {
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
  static func == (left: Rare, right: Rare) -> Bool { left.box === right.box || left.value == right.value }

  @usableFromInline
  func hash(into hasher: inout Hasher) { hasher.combine(value) }
}

/// A value with a default.
@usableFromInline
protocol RareValue: Sendable, Hashable {
  init()
}
