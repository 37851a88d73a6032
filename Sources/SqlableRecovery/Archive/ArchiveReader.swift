import Glibc
import SqlableCore

/// A reader that checks and returns the commits of a generation in order.
struct ArchiveReader {
  let files: ArchiveFiles
  let generation: Int

  /// Calls `body` with each commit until `body` returns false. To read the commit's pages, `body` calls `apply` with a
  /// closure that receives the number and content of each page.
  ///
  /// An incomplete record at the end of the last file is ignored: a process was killed before the record was complete.
  /// Throws `.corrupt` with the numbers of missing or damaged commits.
  func eachCommit(
    _ body: (ArchiveRecord, _ apply: ((Int, ArraySlice<UInt8>) throws -> Void) throws -> Void) throws -> Bool
  ) throws {
    var (next, sum) = (generation + 1, WALChecksum(isBigEndian: false))
    let starts = try files.logs(ofGeneration: generation)
    for (index, start) in starts.enumerated() {
      guard start == next else {
        throw damaged(start > next ? "commits \(next) to \(start - 1) are missing" : "commit \(start) exists twice")
      }
      let log = try ArchiveFile(files.directory(ofGeneration: generation) + "/" + ArchiveFileWriter.name(from: start))
      guard log.isHeader(of: start, after: sum) else {
        // Ignore a last file without records. A process might have been killed after it created the file and before it
        // wrote the header.
        if index == starts.count - 1, log.size <= ArchiveFileWriter.headerSize { return }
        throw damaged("the header of \(log.path) is damaged")
      }
      var offset = ArchiveFileWriter.headerSize
      while offset < log.size {
        let header = log.bytes(offset, ArchiveRecord.headerSize)
        guard let record = ArchiveRecord(header: header), record.number == next, offset + record.size <= log.size,
          let end = log.sum(of: record, at: offset, after: sum)
        else {
          if index == starts.count - 1, log.isTorn(at: offset, next) { return }
          throw damaged("commit \(next) is damaged in \(log.path)")
        }
        let pages = offset + ArchiveRecord.headerSize
        let wantsMore = try body(record) { apply in
          for page in 0..<record.pageCount {
            let entry = log.bytes(pages + page * record.pageEntrySize, record.pageEntrySize)
            guard entry.count == record.pageEntrySize else { throw damaged("commit \(next) can't be read") }
            try apply(Int(truncatingIfNeeded: entry.littleEndian64(0)), entry[8...])
          }
        }
        guard wantsMore else { return }
        (next, sum, offset) = (next + 1, end, offset + record.size)
      }
    }
  }

  /// Returns the last commit's number and time; nil without a commit. Checks the sizes of the records, but not the
  /// checksums.
  func last() throws -> (number: Int, time: Int64)? {
    for start in try files.logs(ofGeneration: generation).reversed() {
      let log = try ArchiveFile(files.directory(ofGeneration: generation) + "/" + ArchiveFileWriter.name(from: start))
      var (offset, last): (Int, ArchiveRecord?) = (ArchiveFileWriter.headerSize, nil)
      while let record = ArchiveRecord(header: log.bytes(offset, ArchiveRecord.headerSize)),
        offset + record.size <= log.size
      {
        (last, offset) = (record, offset + record.size)
      }
      if let last { return (last.number, last.time) }
    }
    return nil
  }

  /// Returns the size in bytes of the commits up to a commit or time. Reads only the headers of the records.
  func size(upTo moment: DatabaseArchive.RestorePoint) throws -> Int {
    var size = 0
    for start in try files.logs(ofGeneration: generation) {
      let log = try ArchiveFile(files.directory(ofGeneration: generation) + "/" + ArchiveFileWriter.name(from: start))
      var offset = ArchiveFileWriter.headerSize
      while let record = ArchiveRecord(header: log.bytes(offset, ArchiveRecord.headerSize)),
        offset + record.size <= log.size
      {
        switch moment {
        case .commit(let number) where record.number > number: return size
        case .time(let time) where record.time > time.archived: return size
        default: break
        }
        (size, offset) = (size + record.size, offset + record.size)
      }
    }
    return size
  }

  private func damaged(_ what: String) -> SqlError {
    SqlError(
      .corrupt,
      message: "the archive at \(files.path) is damaged: \(what); restore an earlier commit by its number")
  }
}

private final class ArchiveFile {
  let path: String
  let size: Int
  private let descriptor: Int32

  init(_ path: String) throws {
    self.path = path
    descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw SqlError.system("open", path, errno, isRead: true) }
    var info = stat()
    size = fstat(descriptor, &info) == 0 ? Int(info.st_size) : 0
  }

  deinit { close(descriptor) }

  func bytes(_ offset: Int, _ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, initialized in
      initialized = max(0, pread(descriptor, buffer.baseAddress, count, off_t(offset)))
    }
  }

  func isHeader(of number: Int, after sum: WALChecksum) -> Bool {
    let header = bytes(0, ArchiveFileWriter.headerSize)
    return header.count == ArchiveFileWriter.headerSize && header.littleEndian64(0) == ArchiveFileWriter.magic
      && header.littleEndian64(8) == UInt64(number) && header.littleEndian64(16) == sum.value
      && header.littleEndian64(24) == WALChecksum(isBigEndian: false).adding(header[..<24]).value
  }

  /// Returns the checksum after a record; nil if the record contains a different checksum.
  func sum(of record: ArchiveRecord, at offset: Int, after sum: WALChecksum) -> WALChecksum? {
    var (sum, position) = (sum.adding(bytes(offset, ArchiveRecord.headerSize)[...]), offset + ArchiveRecord.headerSize)
    for _ in 0..<record.pageCount {
      let entry = bytes(position, record.pageEntrySize)
      guard entry.count == record.pageEntrySize else { return nil }
      sum = sum.adding(entry[...])
      position += entry.count
    }
    let end = bytes(position, ArchiveRecord.sumSize)
    return end.count == ArchiveRecord.sumSize && end.littleEndian64(0) == sum.value ? sum : nil
  }

  /// True if the invalid record at an offset is the last record of the file. A process that was killed while it wrote
  /// leaves only its last record incomplete.
  func isTorn(at offset: Int, _ next: Int) -> Bool {
    let header = bytes(offset, ArchiveRecord.headerSize)
    if let record = ArchiveRecord(header: header) { return record.number == next && offset + record.size >= size }
    // After a crash, a file can end with zeros: a file system can extend a file before it writes the bytes.
    return header.count < ArchiveRecord.headerSize || isZero(from: offset)
  }

  private func isZero(from offset: Int) -> Bool {
    var position = offset
    while position < size {
      let bytes = bytes(position, 1 << 20)
      guard !bytes.isEmpty, bytes.allSatisfy({ $0 == 0 }) else { return false }
      position += bytes.count
    }
    return true
  }
}
