import CSqlableSQLite

extension Connection {
  /// The end of the WAL, from the WAL's index: the number of frames up to the last commit, and the WAL's salts. Nil if
  /// there is no WAL, or if a commit is changing the index.
  ///
  /// The index, not the WAL file, shows what is committed: the file also has the frames of a commit whose sync failed.
  /// SQLite reads the index: closing a descriptor of the index's file would drop the locks on that file.
  package var logEnd: (frames: Int, salts: UInt64)? {
    // The third word has the number of frames; the fifth has the salts, as the bytes of the WAL's header.
    logHeader.map { (Int($0[2] & 0xFFFF_FFFF), UInt64(bigEndian: $0[4])) }
  }

  /// The size of the WAL up to the last commit, in bytes. Nil if there is no WAL, or if a commit is changing the index.
  package var walSize: Int? {
    logHeader.map { header in
      // The page size has sixteen bits, in which 1 stands for 65,536.
      let bits = Int(header[1] >> 48)
      let pageSize = bits == 1 ? 65_536 : bits
      return WALFormat.headerSize + Int(header[2] & 0xFFFF_FFFF) * (WALFormat.frameHeaderSize + pageSize)
    }
  }

  /// The header of the index; nil if there is no WAL, or if a commit is changing the header.
  private var logHeader: [UInt64]? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    var memory: UnsafeMutableRawPointer?
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      let methods = file.pointee.pMethods, methods.pointee.iVersion >= 2, let map = methods.pointee.xShmMap,
      map(file, 0, WALIndex.regionSize, 0, &memory) == SQLITE_OK, let memory
    else { return nil }
    // The index has two copies of the header. A writer, maybe in another process, changes one copy after the other.
    let copies = [0, 48].map { start in (0..<6).map { WALIndex.word(memory, start + $0 * 8) } }
    guard copies[0] == copies[1], copies[0][1] >> 32 & 0xFF != 0 else { return nil }
    return copies[0]
  }

  /// Sets the size of the WAL, in pages, at which a commit of this connection runs a checkpoint; 0 for none.
  package func setAutocheckpoint(pages: Int) { sqlite3_wal_autocheckpoint(handle, Int32(clamping: pages)) }
}

private enum WALIndex {
  /// The size of the first part of the index, in bytes.
  static let regionSize: Int32 = 32_768

  /// Eight bytes of shared memory.
  @inline(never)
  static func word(_ memory: UnsafeMutableRawPointer, _ offset: Int) -> UInt64 {
    memory.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }
}
