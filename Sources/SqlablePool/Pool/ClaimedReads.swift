import SqlableCore

/// A read in progress whose thread has claimed a reader.
@usableFromInline
struct ClaimedRead {
  /// The reader retains the handle.
  @usableFromInline let db: Unmanaged<SqliteDatabase>
  let reader: Unmanaged<PooledHandle>
  let thread: UnsafeMutablePointer<ThreadReads>
}

extension SqlitePool {
  /// Claims the reader that this thread used last. Returns nil if the call must take the pool's lock: with a deadline,
  /// a trace or a receiver of pool events, in a forked process, inside another call, or if the reader is not free.
  @usableFromInline
  func claimReader(at callSite: CallSite) throws -> ClaimedRead? {
    guard configuration.deadline == nil, !root.isForked, !isTraced, !events.isActive,
      let thread = ThreadReads.current, thread.pointee.pool == number, thread.pointee.depth == 0,
      let reader = thread.pointee.reader, !Deadline.isSet
    else { return nil }
    let begin = ClockTime.now
    (thread.pointee.read.callSite, thread.pointee.read.begin) = (callSite, begin)
    guard reader._withUnsafeGuaranteedRef({ $0.claim.take(thread) }) else { return nil }
    thread.pointee.depth = 1
    do {
      let db = try reader._withUnsafeGuaranteedRef { try $0.openClaimed(at: begin) }
      return ClaimedRead(db: db, reader: reader, thread: thread)
    } catch { throw failed(thread, reader.takeUnretainedValue(), error) }
  }

  /// True if a trace receives the statements of the pool. A process without a trace reads only the count.
  private var isTraced: Bool { TraceCount.isPositive && traceFlag.isSet }

  /// Claims a reader for a short read on the thread of a task, and starts the read's budget.
  @usableFromInline
  func claimReaderForTask(at callSite: CallSite) throws -> ClaimedRead? {
    guard let read = try claimReader(at: callSite) else { return nil }
    read.reader._withUnsafeGuaranteedRef { $0.interruption.beginBudget(SqlitePool.quickThousands) }
    return read
  }

  /// Ends the read of a task. Returns the error for the caller; nil if the read has succeeded, or if it was interrupted
  /// because it takes too long. Then the read runs again as another call.
  @usableFromInline
  func endTaskRead(_ read: ClaimedRead, _ error: (any Error)?) -> (any Error)? {
    let isAbandoned = read.reader._withUnsafeGuaranteedRef { $0.interruption.endBudget() }
    if let error, !isAbandoned { return failed(read, error) }
    end(read, isAbandoned: error != nil)
    return nil
  }

  /// Ends a read.
  ///
  /// - Parameter isAbandoned: True if the read was interrupted, and runs again as another call.
  @usableFromInline
  func end(_ read: ClaimedRead, isAbandoned: Bool = false) {
    read.reader._withUnsafeGuaranteedRef { reader in
      let isUsable = reader.endClaimedUse()
      reader.interruption.reset()
      if !isAbandoned { reader.claimCounts.add(ClockTime.now - read.thread.pointee.read.begin) }
      read.thread.pointee.depth = 0
      if isUsable, reader.claim.giveBack(read.thread) { return }
      if !isUsable { reader.discard() }
      endCall(of: reader, isCounted: true, isAbandoned: isAbandoned)
    }
  }

  /// Ends a read that has thrown; returns the error for the caller.
  @usableFromInline
  func failed(_ read: ClaimedRead, _ error: any Error) -> any Error {
    failed(read.thread, read.reader.takeUnretainedValue(), error)
  }

  private func failed(
    _ thread: UnsafeMutablePointer<ThreadReads>, _ reader: PooledHandle, _ error: any Error
  ) -> any Error {
    if (error as? SqlError)?.indicatesBrokenHandle == true { reader.discard() }
    reader.endLoan()
    reader.noteCacheUse()
    if reader.isUnusable { reader.discard() }
    thread.pointee.depth = 0
    let call = endCall(of: reader, isCounted: false)
    return root.reportedWithoutLock(call?.error(error, label: configuration.handles.label) ?? error)
  }

  /// Ends a read with the pool's lock, which revokes the claim.
  @discardableResult
  private func endCall(of reader: PooledHandle, isCounted: Bool, isAbandoned: Bool = false) -> PoolCall? {
    let (call, next) = withState { state in
      let call = reader.call
      call?.isCounted = isCounted
      call?.isAbandoned = isAbandoned
      return (call, call.flatMap { state.endRead($0, reader) })
    }
    if let next { handOn(reader, to: next) }
    if let call { reportEnd(of: call) }
    return call
  }
}
