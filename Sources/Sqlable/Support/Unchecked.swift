/// What changes in an object, in memory of its own: the checks for exclusive access on the properties of a class cost more
/// than what is done with them here.
///
/// Its owner frees it, and holds a lock or is used by one thread at a time. An access is a load or a store, and nothing is
/// called within one, so that none can overlap another.
struct Unchecked<Value> {
  private let memory: UnsafeMutablePointer<Value>

  init(_ value: Value) {
    memory = .allocate(capacity: 1)
    memory.initialize(to: value)
  }

  var value: Value {
    @inline(__always) get { memory.pointee }
    @inline(__always) nonmutating _modify { yield &memory.pointee }
  }

  func free() {
    memory.deinitialize(count: 1)
    memory.deallocate()
  }
}
