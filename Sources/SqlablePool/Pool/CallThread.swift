import SqlableCore

/// The thread on which the calls of a handle run.
enum CallThread: Sendable {
  case own(WorkerThread)
  case shared(SharedThreads)

  init(_ resources: PoolResources?) { self = resources.map { .shared($0.threads) } ?? .own(WorkerThread()) }

  var isShared: Bool { if case .shared = self { true } else { false } }

  func async(_ body: @escaping @Sendable () -> Void) {
    switch self {
    case .own(let thread): thread.async(body)
    case .shared(let threads): threads.async(body)
    }
  }
}
