import Glibc
import SqlableCore

/// The state of a file, which changes when the file is written.
struct FileState: Equatable {
  private let identity: FileIdentity?
  private let size: off_t
  private let changed: [Int]
  let hasWAL: Bool

  init(_ path: String) {
    let info = FileIdentity.info(path)
    identity = info.map { FileIdentity($0) }
    size = info?.st_size ?? -1
    changed = info.map { [$0.st_mtim.tv_sec, $0.st_mtim.tv_nsec, $0.st_ctim.tv_sec, $0.st_ctim.tv_nsec] } ?? []
    hasWAL = ["-wal", "-journal"].contains { FileIdentity.linkInfo(path + $0) != nil }
  }
}
