import SqlableCore

/// Replacements for a file's pages: a WAL's committed frames, or a rollback journal's original pages.
struct WALOverlay {
  private let file: RawFile
  /// The offset of each page's content, keyed by page number: the latest content in a WAL, or the first content in a
  /// journal.
  private(set) var offsets: [UInt32: Int] = [:]
  let pageSize: Int
  /// The number of pages in the database, after the WAL's last commit or before the journal's transaction.
  private(set) var pageCount: UInt32 = 0
  let isJournal: Bool

  func page(_ number: UInt32) -> [UInt8]? { offsets[number].map { file.bytes(at: $0, count: pageSize) } }

  // MARK: Write-ahead log

  /// Reads the frames up to the last commit, and verifies the checksum of each frame. Nil if there are no committed
  /// frames. Adds a description to `problems` if damage hides commits.
  ///
  /// - Parameter likelyPageSize: The page size to use if the WAL's header is damaged. In this case, the first frame
  ///   can't be verified alone. The first frame is used if the second frame's checksum continues the first frame's
  ///   checksum.
  init?(wal file: RawFile, problems: inout [String], likelyPageSize: () -> Int?) {
    (self.file, isJournal) = (file, false)
    let header = file.bytes(at: 0, count: WALFormat.headerSize)
    guard header.count == WALFormat.headerSize, let magic = header.word(0), let size = header.word(8) else {
      return nil
    }
    let sum = WALChecksum(isBigEndian: magic & 1 == 1)
    let start = sum.adding(header[..<24])
    let isSound = magic & ~1 == 0x377F_0682 && (start.first, start.second) == (header.word(24), header.word(28))
    let sizes = isSound ? Int(size) : likelyPageSize()
    guard let sizes, PageGeometry.sizes.contains(sizes) else { return nil }
    pageSize = sizes
    var lostCommits = 0
    if isSound {
      lostCommits = read(from: 0, start, salts: (header.word(16), header.word(20)))
    } else {
      for isBigEndian in [true, false] where offsets.isEmpty {
        let frame = file.bytes(at: WALFormat.headerSize, count: WALFormat.frameHeaderSize)
        guard let first = frame.word(16), let second = frame.word(20) else { return nil }
        let sum = WALChecksum(isBigEndian: isBigEndian, first: first, second: second)
        lostCommits = read(from: 1, sum, salts: (frame.word(8), frame.word(12)))
        // The second frame's checksum confirms the stored checksum of the first frame, but not the first frame's
        // content. Use the first frame's page unless a later frame contains the same page.
        if !offsets.isEmpty, let number = frame.word(0), offsets[number] == nil {
          offsets[number] = WALFormat.headerSize + WALFormat.frameHeaderSize
        }
      }
    }
    if lostCommits > 0 {
      problems.append("a frame of the WAL is damaged; \(lostCommits) commits after it were not recovered")
    } else if !isSound, offsets.isEmpty {
      problems.append("the header of the WAL is damaged; no commit was recovered from it")
    }
    if offsets.isEmpty { return nil }
  }

  /// Reads the frames up to the last commit before the first damaged frame. Returns the number of commits after the
  /// damaged frame.
  private mutating func read(from first: Int, _ start: WALChecksum, salts: (UInt32?, UInt32?)) -> Int {
    var sum = start
    var pending: [UInt32: Int] = [:]
    let frameSize = WALFormat.frameHeaderSize + pageSize
    var offset = WALFormat.headerSize + first * frameSize
    while true {
      let frame = file.bytes(at: offset, count: frameSize)
      guard frame.count == frameSize, let number = frame.word(0), let size = frame.word(4), number > 0,
        frame.word(8) == salts.0, frame.word(12) == salts.1
      else { break }
      sum = sum.adding(frame[..<8]).adding(frame[WALFormat.frameHeaderSize...])
      guard frame.word(16) == sum.first, frame.word(20) == sum.second else { break }
      pending[number] = offset + WALFormat.frameHeaderSize
      if size > 0 {
        offsets.merge(pending) { $1 }
        pending = [:]
        pageCount = size
      }
      offset += frameSize
    }
    // Count the lost commits. The invalid frame at `offset` itself can be the rest of a killed process's transaction.
    // But commits in later frames were lost because of damage or a failed sync. Frames from before the last reset of
    // the WAL have other salts.
    return stride(from: offset + frameSize, through: file.size - frameSize, by: frameSize).count { offset in
      let header = file.bytes(at: offset, count: WALFormat.frameHeaderSize)
      guard let number = header.word(0), let size = header.word(4), number > 0, size > 0 else { return false }
      return header.word(8) == salts.0 && header.word(12) == salts.1
    }
  }

  // MARK: Rollback journal

  /// Reads the original pages that an unfinished transaction overwrote. Nil if there are no such pages.
  init?(journal file: RawFile) {
    (self.file, isJournal) = (file, true)
    let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
    let header = file.bytes(at: 0, count: 28)
    guard header.starts(with: magic), let count = header.word(16), let size = header.word(24),
      PageGeometry.sizes.contains(Int(size))
    else { return nil }
    (pageSize, pageCount) = (Int(size), count)
    var start = 0
    while true {
      let header = file.bytes(at: start, count: 28)
      guard header.starts(with: magic), let records = header.word(8), let nonce = header.word(12),
        let sector = header.word(20).map(Int.init), sector >= 28, sector <= 65_536
      else { break }
      var offset = start + sector
      // SQLite writes the number of records when it syncs the journal. -1 means that the records extend to the end of
      // the journal.
      var left = records == .max ? Int.max : Int(records)
      while left > 0 {
        let record = file.bytes(at: offset, count: pageSize + 8)
        guard record.count == pageSize + 8, let number = record.word(0), number > 0,
          record.word(pageSize + 4) == WALOverlay.journalSum(record, pageSize, nonce)
        else { break }
        if offsets[number] == nil { offsets[number] = offset + 4 }
        offset += pageSize + 8
        left -= 1
      }
      guard left == 0, records > 0 else { break }
      start = (offset + sector - 1) / sector * sector
    }
    if offsets.isEmpty { return nil }
  }

  private static func journalSum(_ record: [UInt8], _ pageSize: Int, _ nonce: UInt32) -> UInt32 {
    var (sum, offset) = (nonce, pageSize - 200)
    while offset > 0 {
      sum &+= UInt32(record.byte(4 + offset) ?? 0)
      offset -= 200
    }
    return sum
  }
}
