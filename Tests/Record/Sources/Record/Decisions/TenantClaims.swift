import SqlableCore
import SqlablePool
import SqlableTenants

/// Calls that have a tenant to themselves.
extension TenantDecisions {
  func change(_ number: Int) {
    let policy = simulation.random.pick([ClaimPolicy.waits, .waits, .endsCalls, .skipsOpen])
    var wanted = names
    wanted.shuffle(using: &simulation.random)
    wanted = wanted.prefix(policy == .waits ? simulation.random.pick([1, 2]) : 1).sorted { $0.text < $1.text }
    let end = simulation.now.advanced(by: .milliseconds(simulation.random.pick([0, 20, 2_000])))
    claim(wanted, [], policy, until: end, pause: 1, number)
  }

  private func claim(
    _ wanted: [TenantName], _ claimed: [TenantSlot], _ policy: ClaimPolicy, until end: ContinuousClock.Instant,
    pause: Int, _ number: Int
  ) {
    guard let name = wanted.first else {
      return simulation.step("changes", number) { self.change(claimed, policy, number) }
    }
    simulation.step("claims", number) { [self] in
      func next(_ slot: TenantSlot) {
        if exclusive[name] != nil { simulation.report("two calls have tenant \(name.text) to themselves") }
        if openings.values.contains(where: { $0.name == name && !$0.isClosed }) {
          simulation.report("call \(number) has tenant \(name.text) to itself, which is open")
        }
        exclusive[name] = number
        claim(Array(wanted.dropFirst()), claimed + [slot], policy, until: end, pause: 1, number)
      }
      let result: TenantsState.Claim
      do { result = try state.claim(name, policy) } catch { return endClaims(claimed, number) }
      switch result {
      case .claimed(let slot): next(slot)
      case .closes(let slot, let pool):
        let opening = openings[ObjectIdentifier(pool)]
        if policy == .endsCalls { opening?.mayEndCalls = true }
        if opening?.users.isEmpty == false, policy != .endsCalls {
          simulation.report("call \(number) closes tenant \(name.text), which is in use")
        }
        closeForClaim(slot, pool, until: end, number) { isClosed in
          if isClosed { next(slot) } else { self.endClaims(claimed, number) }
        }
      case .waits:
        guard simulation.now >= end else {
          return simulation.after(.milliseconds(pause), "claims again", number) {
            self.claim(wanted, claimed, policy, until: end, pause: min(pause * 2, 16), number)
          }
        }
        simulation.step("stops claiming", number) { [self] in
          let (leases, work) = state.stopClaiming(name)
          start(work)
          for (waiter, lease) in leases { waiter.resume(.success(lease)) }
          endClaims(claimed, number)
        }
      }
    }
  }

  private func closeForClaim(
    _ slot: TenantSlot, _ pool: SqlitePool, until end: ContinuousClock.Instant, _ number: Int,
    _ body: @escaping (_ isClosed: Bool) -> Void
  ) {
    simulation.step("closes for a claim", number) { [self] in
      let opening = openings[ObjectIdentifier(pool)]
      guard opening?.users.isEmpty != false else {
        guard simulation.now >= end else {
          return simulation.after(.milliseconds(1), "closes again", number) {
            self.closeForClaim(slot, pool, until: end, number, body)
          }
        }
        return simulation.step("does not close", number) { [self] in
          start(state.didFailToCloseForClaim(slot, pool), isForRoom: false)
          body(false)
        }
      }
      opening?.isClosed = true
      simulation.step("has closed for a claim", number) { [self] in
        let work = state.didCloseForClaim(slot)
        places -= 1
        start(work)
        body(true)
      }
    }
  }

  private func change(_ slots: [TenantSlot], _ policy: ClaimPolicy, _ number: Int) {
    guard let slot = slots.first else { return }
    if policy != .skipsOpen, !simulation.random.chance(20) {
      files.remove(slot.name)
      resume(state.didDelete(slot)) { SqlError(.tenant(.deleted), message: "") }
    } else {
      state.didFailToDelete(slot)
      files.insert(slot.name)
    }
    simulation.step("ends its claims", number) { self.endClaims(slots, number) }
  }

  private func endClaims(_ slots: [TenantSlot], _ number: Int) {
    guard let slot = slots.first, flaw != "keepsItsClaim" else { return }
    exclusive[slot.name] = nil
    start(state.endClaim(slot))
    simulation.step("ends its claims", number) { self.endClaims(Array(slots.dropFirst()), number) }
  }
}
