import CSqlableSQLite

extension Connection {
  /// What the index of the write-ahead log says of its end: the number of frames up to the last commit, and the salts
  /// of the log that they are in; nil if there is no log, or a commit is just changing it.
  ///
  /// The index and not the file tells what is committed: the file also has the frames of a commit that failed when it
  /// was synced. SQLite reads it: closing a descriptor of its file would drop the locks that are on it.
  package var logEnd: (frames: Int, salts: UInt64)? {
    // Frames in the third word; the salts as the bytes of the log's header.
    logHeader.map { (Int($0[2] & 0xFFFF_FFFF), UInt64(bigEndian: $0[4])) }
  }

  /// The size of the log up to the last commit, in bytes; nil if there is no log, or a commit is just changing it.
  package var logSize: Int? {
    logHeader.map { header in
      // Sixteen bits, in which 65,536 is 1.
      let bits = Int(header[1] >> 48)
      let pageSize = bits == 1 ? 65_536 : bits
      return LogFormat.headerSize + Int(header[2] & 0xFFFF_FFFF) * (LogFormat.frameHeaderSize + pageSize)
    }
  }

  /// The header of the index.
  private var logHeader: [UInt64]? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    var memory: UnsafeMutableRawPointer?
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      let methods = file.pointee.pMethods, methods.pointee.iVersion >= 2, let map = methods.pointee.xShmMap,
      map(file, 0, LogIndex.regionSize, 0, &memory) == SQLITE_OK, let memory
    else { return nil }
    // The header is there twice; a writer changes one copy after the other. Another process may do so now.
    let copies = [0, 48].map { start in (0..<6).map { LogIndex.word(memory, start + $0 * 8) } }
    guard copies[0] == copies[1], copies[0][1] >> 32 & 0xFF != 0 else { return nil }
    return copies[0]
  }

  /// Sets the size of the log, in pages, at which a commit of this connection runs a checkpoint; 0 for none.
  package func setAutocheckpoint(pages: Int) { sqlite3_wal_autocheckpoint(handle, Int32(clamping: pages)) }
}

private enum LogIndex {
  /// The size of the first part of the index, in bytes.
  static let regionSize: Int32 = 32_768

  /// Eight bytes of shared memory.
  @inline(never)
  static func word(_ memory: UnsafeMutableRawPointer, _ offset: Int) -> UInt64 {
    memory.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }
}
