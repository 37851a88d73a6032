import Dispatch
import SqlableCore

/// The threads, queue and file watcher that many pools share, instead of two threads and a watcher for each pool.
///
/// A single pool has its own threads, which wake faster and never wait for another pool.
package final class PoolResources: Sendable {
  package let threads: SharedThreads
  /// The queue that matches the commits of each pool with its loops.
  let feedQueue = DispatchQueue(label: "sqlable.pools.feed")
  /// Nil if no inotify instance was left.
  let watches: FileWatches?

  package init(threads limit: Int) {
    threads = SharedThreads(limit: limit)
    let spare = FileWatches.spare
    watches = FileWatches(on: DispatchQueue(label: "sqlable.pools.watches")) ?? spare
  }
}
