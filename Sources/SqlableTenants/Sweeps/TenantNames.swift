import SqlableCore

/// The names of all tenants, read from the directory while a loop runs; see ``SqliteTenants/names``.
struct TenantNames: AsyncSequence, Sendable {
  let tenants: SqliteTenants

  func makeAsyncIterator() -> Iterator { Iterator(tenants: tenants) }

  struct Iterator: AsyncIteratorProtocol {
    fileprivate let tenants: SqliteTenants
    private var names: ArraySlice<String> = []
    private var directory = 0

    fileprivate init(tenants: SqliteTenants) { self.tenants = tenants }

    /// Returns the next name; nil after the last name. Throws `.io` if a directory can't be read, and
    /// `CancellationError` if the task is cancelled.
    mutating func next() async throws -> String? {
      try tenants.checkFork()
      while names.isEmpty, directory < TenantName.directories {
        try Task.checkCancellation()
        let index = directory
        names = try await tenants.onThread { try $0.directory.names(inDirectory: index) }[...]
        directory += 1
      }
      return names.popFirst()
    }
  }
}

extension SqliteTenants {
  /// The names of all tenants of the directory, in an order that stays the same.
  ///
  /// ```swift
  /// for try await name in tenants.names { print(name) }
  /// ```
  ///
  /// A loop holds the names of one of 256 directories in memory. A tenant that is created or deleted during the loop
  /// may be missing or present.
  public var names: some AsyncSequence<String, any Error> & Sendable { TenantNames(tenants: self) }

  /// Calls `body` on a thread of the keeper, because reading a directory blocks.
  func onThread<Value: Sendable>(_ body: @escaping @Sendable (SqliteTenants) throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      resources.threads.async { [self] in continuation.resume(with: Result { try body(self) }) }
    }
  }
}
