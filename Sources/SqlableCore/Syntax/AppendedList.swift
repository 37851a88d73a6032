/// A list whose copies share their elements. Appending an element does not copy the earlier elements, even if another
/// copy of the list is alive. Otherwise `query = query.unionAll(next)` in a loop would take quadratic time.
package struct AppendedList<Element: Sendable>: RandomAccessCollection, Sendable, ExpressibleByArrayLiteral {
  /// Nil for an empty list.
  private(set) var storage: AppendOnlyStorage<Element>?
  package private(set) var endIndex: Int

  package init(_ elements: [Element]) {
    storage = elements.isEmpty ? nil : AppendOnlyStorage(elements)
    endIndex = elements.count
  }

  package init(arrayLiteral elements: Element...) { self.init(elements) }

  package var startIndex: Int { 0 }

  package subscript(position: Int) -> Element {
    // This never happens, because only the library reads elements of lists, always at valid positions.
    guard let storage, position < endIndex else { preconditionFailure("the index is out of range") }
    return storage[position]
  }

  package mutating func append(_ element: Element) {
    storage = storage?.appending(element, at: endIndex) ?? AppendOnlyStorage([element])
    endIndex += 1
  }

  package static func += (list: inout AppendedList, elements: some Sequence<Element>) {
    for element in elements { list.append(element) }
  }

  static func + (list: AppendedList, elements: [Element]) -> AppendedList {
    var list = list
    list += elements
    return list
  }
}

extension AppendedList: Equatable where Element: Equatable {
  package static func == (left: AppendedList, right: AppendedList) -> Bool { left.elementsEqual(right) }
}

extension AppendedList: Hashable where Element: Hashable {
  package func hash(into hasher: inout Hasher) {
    hasher.combine(count)
    for element in self { hasher.combine(element) }
  }
}

/// The elements of one list, and of longer lists that were made by appending to this list.
///
/// `Sendable` is safe:
/// 1. An element is initialized once and never changes. The thread that increments `used` initializes the element while
/// holding the lock.
/// 2. A list reads only elements that were initialized before the list was made.
final class AppendOnlyStorage<Element: Sendable>: @unchecked Sendable {
  private let elements: UnsafeMutablePointer<Element>
  private let capacity: Int
  private let used: LockedValue<Int>

  init(_ elements: [Element]) {
    capacity = elements.count * 2
    self.elements = .allocate(capacity: capacity)
    _ = UnsafeMutableBufferPointer(start: self.elements, count: capacity).initialize(from: elements)
    used = LockedValue(elements.count)
  }

  private init(_ other: AppendOnlyStorage, count: Int) {
    capacity = count * 2
    elements = .allocate(capacity: capacity)
    elements.initialize(from: other.elements, count: count)
    used = LockedValue(count)
  }

  deinit {
    elements.deinitialize(count: used.withLock { $0 })
    elements.deallocate()
  }

  subscript(index: Int) -> Element { elements[index] }

  /// Stores an element at this index. Returns this storage, or a copy if another list has already used the index, or if
  /// this storage is full.
  func appending(_ element: Element, at index: Int) -> AppendOnlyStorage {
    if append(element, at: index) { return self }
    let copy = AppendOnlyStorage(self, count: index)
    _ = copy.append(element, at: index)
    return copy
  }

  private func append(_ element: Element, at index: Int) -> Bool {
    used.withLock { used in
      guard used == index, index < capacity else { return false }
      (elements + index).initialize(to: element)
      used += 1
      return true
    }
  }
}
