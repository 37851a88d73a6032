import SqlableCore

struct HandleUse {
  let callSite: CallSite
  let begin: ContinuousClock.Instant
  /// The time at which the call released the handle; nil while the call holds the handle.
  let end: ContinuousClock.Instant?

  func length(at now: ContinuousClock.Instant) -> Duration { begin.duration(to: end ?? now) }

  func text(at now: ContinuousClock.Instant) -> String {
    "the call at \(callSite) \(end == nil ? "has held" : "held") the handle for \(length(at: now).seconds) s"
  }
}

/// The latest uses of a pool's handles during which other calls waited. The error of a call that waited for too long
/// names these uses.
struct LatestUses {
  private static let maximum = 16
  private var uses: [HandleUse] = []
  private var next = 0

  mutating func append(_ use: HandleUse) {
    if uses.count < LatestUses.maximum { return uses.append(use) }
    uses[next] = use
    next = (next + 1) % LatestUses.maximum
  }

  func ended(after begin: ContinuousClock.Instant) -> [HandleUse] {
    uses.filter { $0.end.map { $0 > begin } ?? false }
  }
}

extension SqlitePool.State {
  /// Records that a call held a handle while other calls waited for a handle.
  mutating func noteUse(by call: PoolCall, until end: ContinuousClock.Instant) {
    guard call.kind != .detection, (call.kind.isRead ? waitingReads : waitingWrites).count > 0, call.hasHandle
    else { return }
    let use = HandleUse(callSite: call.callSite, begin: call.handleTime, end: end)
    if call.kind.isRead { readUses.append(use) } else { writeUses.append(use) }
  }

  /// Returns the uses of handles for which a call waited, the longest use first.
  func uses(during call: PoolCall, until now: ContinuousClock.Instant) -> [HandleUse] {
    let handles = call.kind.isRead ? readers : [writer]
    let running = handles.compactMap(\.call).compactMap { call in
      call.gotHandle.map { HandleUse(callSite: call.callSite, begin: $0, end: nil) }
    }
    let uses = running + (call.kind.isRead ? readUses : writeUses).ended(after: call.begin)
    return uses.ordered { $0.length(at: now) > $1.length(at: now) }
  }
}
