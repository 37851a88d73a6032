import CSqlableSQLite
import FoundationEssentials

/// A file read as bytes, without locks.
///
/// The file is opened through SQLite, because closing another descriptor would release the locks of this process's
/// connections on the file.
package final class RawFile {
  private let handle: OpaquePointer
  private let file: UnsafeMutablePointer<sqlite3_file>
  /// The size of the file, in bytes, when the file was opened.
  package let size: Int

  package init(path: String) throws {
    // Opening a pipe would wait for a writer.
    if let info = FileIdentity.info(path), !info.isRegular {
      throw SqlError(.cannotOpen, message: "can't open the database file: the path is not a regular file", label: path)
    }
    var handle: OpaquePointer?
    let name = path.begins(with: "file:") ? "./" + path : path
    let code = sqlite3_open_v2(name, &handle, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, nil)
    guard code == SQLITE_OK, let handle else {
      let failure = Connection.failure(code, handle: handle)
      sqlite3_close_v2(handle)
      throw Connection.error(code, extendedCode: failure.extendedCode, message: failure.message, label: path)
    }
    var file: UnsafeMutablePointer<sqlite3_file>?
    var size: sqlite3_int64 = 0
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      let methods = file.pointee.pMethods, methods.pointee.xFileSize?(file, &size) == SQLITE_OK
    else {
      sqlite3_close_v2(handle)
      throw SqlError(.cannotOpen, message: "can't read the file", label: path)
    }
    (self.handle, self.file, self.size) = (handle, file, Int(size))
  }

  deinit { sqlite3_close_v2(handle) }

  /// Waits until the disk has all bytes that were written to the file by any connection.
  package func sync() throws {
    guard file.pointee.pMethods?.pointee.xSync?(file, SQLITE_SYNC_NORMAL) == SQLITE_OK else {
      throw SqlError(.io, message: "can't sync the database file")
    }
  }

  package static func ifExists(_ path: String) throws -> RawFile? {
    FileManager.default.fileExists(atPath: path) ? try RawFile(path: path) : nil
  }

  /// True if a rollback journal with a header is beside the file. Also true while another connection writes.
  package static func hasHotJournal(_ path: String) -> Bool {
    (try? ifExists(path + "-journal"))?.bytes(at: 0, count: 1).first.map { $0 != 0 } == true
  }

  /// True if the file begins with a database header, and does not look like an encrypted file with a plaintext header.
  package var isPlain: Bool { bytes(at: 0, count: 16) == Array("SQLite format 3\0".utf8) && !looksEncrypted }

  /// True if the bytes of every sampled part are as evenly distributed as in an encrypted or compressed file.
  package var looksEncrypted: Bool {
    // Samples begin after a plaintext header. For 1,024 random bytes, chi-squared exceeds 450 in one of a trillion
    // files.
    let step = max((size - 128) / 16, 4_096)
    return size >= 1_152
      && stride(from: 128, through: size - 1_024, by: step).allSatisfy { offset in
        let bytes = bytes(at: offset, count: 4_096)
        var counts = [Int](repeating: 0, count: 256)
        for byte in bytes { counts[Int(byte)] += 1 }
        let expected = Double(bytes.count) / 256
        return counts.reduce(0.0) { $0 + (Double($1) - expected) * (Double($1) - expected) / expected } < 450
      }
  }

  /// Returns the bytes from `offset` on: fewer than `count` at the end of the file, and none if the disk can't be read.
  package func bytes(at offset: Int, count: Int) -> [UInt8] {
    let count = min(count, size - offset)
    guard offset >= 0, count > 0, let read = file.pointee.pMethods?.pointee.xRead, let length = Int32(exactly: count)
    else { return [] }
    return [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      let code = read(file, buffer.baseAddress, length, sqlite3_int64(offset))
      initialized = code == SQLITE_OK ? count : 0
    }
  }
}
