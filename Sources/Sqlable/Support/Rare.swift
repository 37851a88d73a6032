/// A value that most often is the default one: nothing then, and else behind one reference. A statement is copied at
/// every step of its making and running.
@usableFromInline
struct Rare<Value: RareValue>: Sendable, Hashable {
  private var box: Box?

  /// Sound as `Sendable`: it is changed by one that has the only reference, and by no other.
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

/// What has a default.
@usableFromInline
protocol RareValue: Sendable, Hashable {
  init()
}
