import Glibc

/// Writes all bytes, repeating the system call after a partial write. `path` is for the error.
package func writeAll(_ bytes: UnsafeRawBufferPointer, to descriptor: Int32, at offset: Int, _ path: String) throws {
  guard let start = bytes.baseAddress else { return }
  var written = 0
  while written < bytes.count {
    let count = pwrite(descriptor, start + written, bytes.count - written, off_t(offset + written))
    // A signal has interrupted the call before the first byte was written.
    if count < 0, errno == EINTR { continue }
    guard count > 0 else { throw SqlError.system("write to", path, count < 0 ? errno : ENOSPC) }
    written += count
  }
}
