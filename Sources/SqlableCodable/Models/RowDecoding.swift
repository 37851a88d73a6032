import SqlableCore
import Synchronization

extension RowState {
  @inline(__always)
  var isDecoding: Bool { decoding.current.load(ordering: .relaxed) != Decoding.none }

  /// Begins to decode a model. `columns` contains the addresses that identify the columns of the model's table.
  @inline(__always)
  mutating func beginDecoding(
    _ model: UnsafeRawPointer, columns: UnsafePointer<UnsafeRawPointer>, count: Int
  ) {
    let first = firstValue.map { $0 + window.lowerBound * valueStride }
    decoding.begin(model, values: isWindow(columns, count) ? first : nil)
  }

  func endDecoding() { decoding.current.store(Decoding.none, ordering: .relaxed) }

  @inline(__always)
  private func isWindow(_ columns: UnsafePointer<UnsafeRawPointer>, _ count: Int) -> Bool {
    guard window.count == count else { return false }
    let first = self.columns + window.lowerBound
    return first == columns || (0..<count).allSatisfy { first[$0] == columns[$0] }
  }
}

extension RowState.Decoding {
  @inline(__always)
  var containers: ReusedContainers {
    get { ReusedContainers(first: firstContainer.map(Unmanaged.fromOpaque)) }
    set { firstContainer = newValue.first.map { UnsafeRawPointer($0.toOpaque()) } }
  }

  @inline(__always)
  fileprivate mutating func begin(_ model: UnsafeRawPointer, values: UnsafeRawPointer?) {
    if containers.abandonShared() { stamp += 1 }
    (self.model, self.values) = (model, values)
    current.store(stamp, ordering: .relaxed)
  }
}
