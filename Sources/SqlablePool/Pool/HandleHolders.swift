import Glibc

/// The threads that hold the handles of a pool, by the number of the handle.
///
/// The threads are in one array. If they were in the handles, a call that looks for its handle would load memory that
/// other processors have just changed. Loading such memory takes longer than the rest of the search.
struct HandleHolders {
  private struct Holder {
    /// The thread that holds the handle; 0 if no thread does.
    var thread: pthread_t = 0
    /// The thread that held the handle last; 0 if there is none.
    var latest: pthread_t = 0
  }

  private var holders: [Holder] = []

  /// Adds a handle and returns its number.
  mutating func add() -> Int {
    holders.append(Holder())
    return holders.count - 1
  }

  subscript(number: Int) -> pthread_t? {
    get { holders[number].thread == 0 ? nil : holders[number].thread }
    set {
      if holders[number].thread != 0 { holders[number].latest = holders[number].thread }
      holders[number].thread = newValue ?? 0
    }
  }

  /// Returns the number of the handle that the thread holds; nil if there is none.
  func number(of thread: pthread_t) -> Int? {
    assert(thread != 0, "the thread must not be 0, the mark of a free handle")
    return holders.firstIndex { $0.thread == thread }
  }

  /// True if the thread was the last holder of the handle.
  func wasHeld(_ number: Int, by thread: pthread_t) -> Bool { holders[number].latest == thread }
}
