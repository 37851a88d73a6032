import CSqlableSQLite

extension Connection {
  /// The number of WAL frames up to the last commit, and the WAL's salts, as stored in the WAL's index. Nil if there is
  /// no WAL, or while a commit changes the index.
  ///
  /// Only the index shows which frames are committed, because the WAL file can also contain the frames of a commit
  /// whose sync failed. The index is read through SQLite, because closing another descriptor of the index file would
  /// drop this process's locks on the file.
  package var logEnd: (frames: Int, salts: UInt64)? {
    // The low half of the third word is the number of frames. The fifth word contains the salts, in the byte order of
    // the WAL's header.
    logHeader.map { (Int($0[2] & 0xFFFF_FFFF), UInt64(bigEndian: $0[4])) }
  }

  /// The size of the WAL up to the last commit, in bytes. Nil if there is no WAL, or while a commit changes the index.
  package var walSize: Int? {
    logHeader.map { header in
      // The page size has sixteen bits; the value 1 means 65,536.
      let bits = Int(header[1] >> 48)
      let pageSize = bits == 1 ? 65_536 : bits
      return WALFormat.headerSize + Int(header[2] & 0xFFFF_FFFF) * (WALFormat.frameHeaderSize + pageSize)
    }
  }

  /// The header of the index. Nil if there is no WAL, or while a commit changes the header.
  private var logHeader: [UInt64]? {
    var file: UnsafeMutablePointer<sqlite3_file>?
    var memory: UnsafeMutableRawPointer?
    guard sqlite3_file_control(handle, "main", SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK, let file,
      let methods = file.pointee.pMethods, methods.pointee.iVersion >= 2, let map = methods.pointee.xShmMap,
      map(file, 0, WALIndex.regionSize, 0, &memory) == SQLITE_OK, let memory
    else { return nil }
    // The index has two copies of the header. A writer changes one after the other, so equal copies are complete.
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

  /// Reads eight bytes of shared memory.
  @inline(never)
  static func word(_ memory: UnsafeMutableRawPointer, _ offset: Int) -> UInt64 {
    memory.loadUnaligned(fromByteOffset: offset, as: UInt64.self)
  }
}
