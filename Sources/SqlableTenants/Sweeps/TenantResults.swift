import SqlableCore

extension SqliteTenants {
  /// Calls `body` with each tenant, and returns the results as they arrive.
  ///
  /// ```swift
  /// for try await (name, count) in tenants.each(concurrency: 4, { try await Bicycle.count().run($0) }) {
  ///   print(name, try count.get())
  /// }
  /// ```
  ///
  /// A tenant's error is its result, and does not end the loop. At most `concurrency` calls run or have results that
  /// wait for the loop. Ending the loop cancels the calls. The loop throws `CancellationError`, `.io` if the directory
  /// can't be read, and `.misuse` for a concurrency below 1.
  ///
  /// If ``TenantsConfiguration/maximumOpen`` tenants are open, the loop closes tenants that no call uses. Tenants that
  /// only such loops have used are closed first, so a loop closes only about `concurrency` other tenants.
  public func each<Value: Sendable>(
    concurrency: Int = 4, _ body: @escaping @Sendable (SqliteTenant) async throws -> Value
  ) -> some AsyncSequence<(name: String, result: Result<Value, any Error>), any Error> & Sendable {
    TenantResults(tenants: self, concurrency: concurrency, body: body)
  }
}

/// The results of a closure for each tenant; see ``SqliteTenants/each(concurrency:_:)``.
struct TenantResults<Value: Sendable>: AsyncSequence, Sendable {
  typealias Element = (name: String, result: Result<Value, any Error>)

  let tenants: SqliteTenants
  let concurrency: Int
  let body: @Sendable (SqliteTenant) async throws -> Value

  func makeAsyncIterator() -> Iterator { Iterator(results: self) }

  struct Iterator: AsyncIteratorProtocol {
    private let results: TenantResults
    private var names: TenantNames.Iterator
    private let run = Run()
    private var isAtEnd = false

    fileprivate init(results: TenantResults) {
      self.results = results
      names = TenantNames(tenants: results.tenants).makeAsyncIterator()
    }

    /// Returns the next result; nil after the last result.
    mutating func next() async throws -> Element? {
      guard results.concurrency >= 1 else { throw SqlError.misuse("the concurrency must be at least 1") }
      try Task.checkCancellation()
      while !isAtEnd, run.count < results.concurrency {
        guard let name = try await names.next() else {
          isAtEnd = true
          break
        }
        run.start(SqliteTenant(name: name, tenants: results.tenants, isSweep: true), results.body)
      }
      return try await run.next()
    }
  }

  /// The calls of one loop. Releasing this object cancels the calls.
  fileprivate final class Run: Sendable {
    private struct State {
      var tasks: [String: Task<Void, Never>] = [:]
      var finished: [Element] = []
      var waiter: CheckedContinuation<Element?, any Error>?
    }

    private let state = LockedValue(State())

    /// The number of calls that run or whose result the loop has not received.
    var count: Int { state.withLock { $0.tasks.count + $0.finished.count } }

    func start(_ tenant: SqliteTenant, _ body: @escaping @Sendable (SqliteTenant) async throws -> Value) {
      state.withLock { state in
        state.tasks[tenant.name] = Task { [weak self] in
          let result: Result<Value, any Error>
          do { result = .success(try await body(tenant)) } catch { result = .failure(error) }
          self?.finish(tenant.name, result)
        }
      }
    }

    private func finish(_ name: String, _ result: Result<Value, any Error>) {
      let waiter = state.withLock { state -> CheckedContinuation<Element?, any Error>? in
        state.tasks[name] = nil
        defer { state.waiter = nil }
        if state.waiter == nil { state.finished.append((name, result)) }
        return state.waiter
      }
      waiter?.resume(returning: (name, result))
    }

    /// Returns the next result; nil once no call runs anymore.
    func next() async throws -> Element? {
      try await withTaskCancellationHandler {
        try await withCheckedThrowingContinuation { continuation in
          let outcome = state.withLock { state -> Result<Element?, any Error>? in
            // Check for a cancellation while the lock is held. A later cancellation finds the waiter.
            if Task.isCancelled { return .failure(CancellationError()) }
            if !state.finished.isEmpty { return .success(state.finished.removeFirst()) }
            if state.tasks.isEmpty { return .success(nil) }
            state.waiter = continuation
            return nil
          }
          if let outcome { continuation.resume(with: outcome) }
        }
      } onCancel: {
        let waiter = state.withLock { state in
          defer { state.waiter = nil }
          return state.waiter
        }
        waiter?.resume(throwing: CancellationError())
      }
    }

    deinit { state.withLock { state in for task in state.tasks.values { task.cancel() } } }
  }
}
