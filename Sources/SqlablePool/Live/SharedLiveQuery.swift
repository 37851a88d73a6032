import Dispatch
import SqlableCore

/// A live result that is fetched once for all loops over equal statements.
///
/// Loops only wait. While a loop waits, a task evaluates the filter and fetches the result. The task is independent of
/// the loops' cancellation, deadlines and actors.
///
/// ```text
/// commit 7 -- may concern it --> is the filter met? --> fetch, begun at 9 --> all waiting loops get one result: 7 to 9
///         commits 8, 9 -- recorded, included in the fetch          commit 10 -- may concern it --> …
/// ```
final class SharedLiveQuery<Value: Sendable>: FollowedLiveQuery {
  let number: Int
  private let pool: SqlitePool
  private let source: LiveQuerySource<Value>
  private let state = LockedValue(LiveQueryState<Value>())
  /// A separate queue, so that loops over other results don't wait behind the loops over this result.
  private let wakes = WakeQueue()

  private typealias State = LiveQueryState<Value>

  init(_ pool: SqlitePool, _ source: LiveQuerySource<Value>) {
    self.pool = pool
    self.source = source
    number = pool.feed.newNumber()
    pool.feed.add(self, number)
  }

  deinit {
    pool.feed.remove(number)
    pool.feed.sharedResults.forget(source.key, number)
  }

  private func withState<Result>(_ body: (inout State) -> Result) -> Result {
    let (result, overdue, releasable) = state.withLock { state in
      let result = body(&state)
      return (result, state.takeOverdue(), state.takeReleasable())
    }
    if !overdue.isEmpty { wakes.wake(overdue) }
    withExtendedLifetime(releasable) {}
    return result
  }

  // MARK: Loops

  func begin() -> Int {
    let loop = pool.feed.newNumber()
    pool.feed.loopBegins()
    withState { $0.begin(loop) }
    return loop
  }

  func end(_ loop: Int) {
    withState { $0.end(loop) }
    pool.feed.loopEnds()
  }

  /// Waits until the result might differ from the loop's last result, and returns the result; nil if the pool was
  /// closed.
  ///
  /// The result includes all commits acknowledged before the call. Throws `CancellationError`, `.timeout` and read
  /// errors.
  func next(_ loop: Int, isolation actor: isolated (any Actor)?) async throws -> (Value, LiveQueryContents?)? {
    let acknowledged = pool.feed.position
    while true {
      try Task.checkCancellation()
      let waiter = Waiter()
      let isOverdue = isOverdue
      let isMatched = pool.feed.isMatched(upTo: acknowledged)
      let step = withState { state in
        let step = state.step(loop, holding: acknowledged, isMatched: isMatched)
        if case .wait(let isNeeded) = step, !isNeeded || !isOverdue {
          state.wait(waiter, loop, isOverdue: isOverdue)
          begin(&state)
        }
        return step
      }
      switch step {
      case .end: return nil
      case .fail(let error): throw error
      case .take(let value, let contents):
        if self.isOverdue { throw timeout }
        return (value, contents)
      case .match: pool.feed.catchUp()
      case .wait(let isNeeded):
        if isNeeded, isOverdue {
          withState { $0.dropUnneededFetch() }
          throw timeout
        }
        // A loop wakes at its deadline. If the loop waits for a fetch, the call times out. If the loop waits for a
        // commit, the wait goes on.
        let alarm = isOverdue ? nil : alarm(waiter)
        let isWoken = await waiter.wait(isolation: actor)
        alarm?.cancel()
        leave(waiter)
        guard isWoken else { throw CancellationError() }
      }
    }
  }

  /// Schedules an alarm that wakes a loop at its deadline. The fetch continues, because other loops share the fetch.
  private func alarm(_ waiter: Waiter) -> DispatchWorkItem? {
    guard let deadline = Deadline.current else { return nil }
    let alarm = DispatchWorkItem { waiter.wake() }
    let time = DispatchTime.now() + ContinuousClock.now.duration(to: deadline).dispatched
    DispatchQueue.global().asyncAfter(deadline: time, execute: alarm)
    return alarm
  }

  private var isOverdue: Bool { Deadline.current.map { $0 <= .now } ?? false }

  private var timeout: SqlError {
    SqlError(
      .timeout, message: "the deadline passed before the live result at \(source.callSite) was delivered",
      label: pool.configuration.handles.label)
  }

  /// Ends a wait, and interrupts a fetch that no other loop waits for.
  private func leave(_ waiter: Waiter) {
    withState { $0.leave(waiter) ? $0.task : nil }?.cancel()
  }

  // MARK: Commits

  func didCommit(_ commit: CommittedChanges?, at position: Int, _ matches: inout Matches) {
    let (overdue, isTaskRequested, releasable) = state.withLock { state in
      state.didCommit(commit, at: position)
      let overdue = state.takeOverdue()
      return (overdue, state.requestTask(), state.takeReleasable())
    }
    if !overdue.isEmpty { matches.wake(overdue) }
    if isTaskRequested { matches.call(self) }
    if let releasable { matches.keep(releasable) }
  }

  func end(_ matches: inout Matches) {
    let (woken, releasable) = state.withLock { state in (state.end(), state.takeReleasable()) }
    matches.keep(self)
    matches.wake(woken)
    if let releasable { matches.keep(releasable) }
  }

  func wake() { withState { begin(&$0) } }

  var priority: TaskPriority { state.withLock { $0.priority } }

  private func begin(_ state: inout State) {
    state.isTaskRequested = false
    guard state.task == nil, state.hasWork else { return }
    state.task = Task.detached(priority: state.priority) { [self] in await work() }
  }

  // MARK: Reading

  private func work() async {
    while let work = nextWork() {
      switch work {
      case .ask(let filter, let rows, let position):
        let isConcerned = (try? filter.concerns(rows)) ?? true
        wakes.wake(withState { $0.answer(isConcerned, upTo: position) })
      case .read(let fetch, let known): await read(fetch, known)
      case .nothing: break
      }
    }
  }

  /// Returns the next work. If there is none, ends the task and returns nil.
  private func nextWork() -> State.Work? {
    withState { state in
      if !Task.isCancelled {
        let work = state.nextWork(pool.feed)
        if case .nothing = work {} else { return work }
      }
      state.task = nil
      // Begin again, because other loops might have started to wait since the task was cancelled.
      begin(&state)
      return nil
    }
  }

  private func read(_ fetch: State.Fetch, _ known: LiveQueryRule?) async {
    let expected = state.withLock { $0.read }
    do {
      let run = { @Sendable [self] (db: SqliteDatabase) in try source.read(db, known, pool.feed) { expect($0, $1) } }
      let fetched =
        source.isShort
        ? try await pool.performStatement(.read, at: source.callSite, run)
        : try await pool.perform(.read, at: source.callSite, run)
      let latest = withState { state in
        state.knownRule = fetched.rule
        return state.latest
      }
      // Read again if the closure has read other columns than before. The feed omits commits that change only columns
      // without a subscriber, so it might lack a commit that changed a new column. Before the first read, the columns
      // are unknown, and the feed has all commits.
      if fetched.isExpectedLate, let expected, expected != fetched.rule.read { return withState { $0.takeBack() } }
      let isSame = latest != nil && fetched.contents != nil && latest?.contents == fetched.contents
      wakes.wake(
        withState { state in
          let woken = state.take(fetch, fetched.value, fetched.contents, isSame: isSame, fetched.pageEnd)
          if fetched.isExpectedLate { state.didExpectLate(fetch, until: pool.feed.position) }
          return woken
        })
    } catch {
      wakes.wake(
        withState { state in
          guard !Task.isCancelled else {
            state.takeBack()
            return []
          }
          return state.fail(fetch, error)
        })
    }
  }

  /// Records the columns that the query reads. If possible, call this method before reading rows, so that later commits
  /// are recorded.
  private func expect(_ read: ReadColumns, _ rule: RowRule) {
    withState { state in (state.read, state.rule) = (read, rule) }
    pool.feed.expect(read, rule, number)
  }
}

final class LiveQueryLoop<Value: Sendable>: Sendable {
  private let result: SharedLiveQuery<Value>
  private let number: Int

  init(_ pool: SqlitePool, _ source: LiveQuerySource<Value>) {
    result = pool.feed.sharedResults.result(source.key) { SharedLiveQuery(pool, source) }
    number = result.begin()
  }

  deinit { result.end(number) }

  func next(isolation actor: isolated (any Actor)?) async throws -> (Value, LiveQueryContents?)? {
    try await result.next(number, isolation: actor)
  }
}
