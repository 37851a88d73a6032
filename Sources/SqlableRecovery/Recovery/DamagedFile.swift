import FoundationEssentials
import SqlableCore

/// The pages of a database file as SQLite would read them, including pages in the WAL or the rollback journal.
final class DamagedFile {
  let geometry: PageGeometry
  let header: DatabaseHeader?
  let encoding: TextEncoding
  let pageCount: UInt32
  /// The number of pages in the file, including pages after the database's end.
  let fileCount: UInt32
  /// The original number of pages in the database. The number is larger than `fileCount` if the file was truncated.
  let fullCount: UInt32
  let problems: [String]
  private let file: RawFile
  private let log: WALOverlay?

  var usable: Int { geometry.usable }

  /// Throws `.cannotOpen` for a file that can't be read, and `.misuse` for a file that looks encrypted. Throws
  /// `.notADatabase` for a file without any database page.
  ///
  /// - Parameter likelyEncoding: The text encoding of a backup, used if the file itself does not show its encoding.
  init(path: String, likelyEncoding: TextEncoding? = nil) throws {
    // For a symbolic link, the WAL and the journal are beside the link's target.
    let path = FileIdentity.resolved(path) ?? path
    file = try RawFile(path: path)
    let file = file
    let stored = DatabaseHeader(file.bytes(at: 0, count: 100))
    let guess = PageGeometry.best(for: file, header: stored?.isSound == true ? stored : nil)
    var problems: [String] = []
    let writeAhead = try RawFile.ifExists(path + "-wal").flatMap { log in
      WALOverlay(wal: log, problems: &problems) { guess?.pageSize }
    }
    let journal = try writeAhead == nil ? RawFile.ifExists(path + "-journal").flatMap { WALOverlay(journal: $0) } : nil
    log = writeAhead ?? journal
    let first = log?.page(1) ?? file.bytes(at: 0, count: 100)
    let header = DatabaseHeader(first).flatMap { $0.isSound ? $0 : nil }
    self.header = header
    guard header != nil || log != nil || !file.looksEncrypted else { throw Salvage.encrypted }
    var geometry = guess
    if let log, guess?.pageSize != log.pageSize {
      let reserved = header.map(\.reserved) ?? guess.map { $0.pageSize - $0.usable } ?? 0
      geometry = PageGeometry(pageSize: log.pageSize, reserved: reserved)
    }
    guard let geometry else {
      throw SqlError(.notADatabase, message: "the file contains no database page", label: path)
    }
    self.geometry = geometry
    let size = geometry.pageSize
    let inFile = UInt32(clamping: file.size / size + (file.size % size >= 100 ? 1 : 0))
    let largest = log?.offsets.keys.max() ?? 0
    var count = max(inFile, largest)
    if let log, log.pageCount > 0 {
      count = min(count, log.pageCount)
    } else if let known = header?.pageCount, known < inFile {
      count = known
    }
    (pageCount, fileCount) = (count, max(count, inFile))
    fullCount = max(count, log.flatMap { $0.pageCount > 0 ? $0.pageCount : nil } ?? header?.pageCount ?? 0)
    let texts = TextSample(of: file, geometry)
    encoding = texts.encoding(claimed: header?.encoding) ?? likelyEncoding ?? .utf8
    if let claimed = header?.encoding, claimed != encoding { problems.append("the header has a wrong text encoding") }
    if header == nil { problems.append("the header of the file is damaged") }
    if let header, PageGeometry(header) != geometry { problems.append("the header has a wrong page size") }
    if let known = log?.pageCount ?? header?.pageCount, known > count {
      problems.append("the file lacks the last \(known - count) pages of the database")
    }
    if log?.isJournal == true { problems.append("an unfinished transaction was rolled back") }
    self.problems = problems
  }

  /// Returns a page's bytes, fewer if the file ends within the page; nil if the page is missing or unreadable.
  func page(_ number: UInt32) -> [UInt8]? {
    guard number > 0, number <= fileCount else { return nil }
    let size = geometry.pageSize
    let bytes = log?.page(number) ?? file.bytes(at: Int(number - 1) * size, count: size)
    return bytes.isEmpty ? nil : bytes
  }

  /// True if a page is missing because the file was truncated.
  func isCut(_ number: UInt32) -> Bool { number > fileCount && number <= fullCount }

  /// Returns a b-tree page; nil if the page is missing or is not a b-tree page.
  func tree(_ number: UInt32) -> TreePage? {
    guard let bytes = page(number) else { return nil }
    // The last page of a truncated file is padded with zeros.
    let rest = [UInt8](repeating: 0, count: max(geometry.pageSize - bytes.count, 0))
    return TreePage(bytes + rest, number: number, usable: usable, readable: bytes.count)
  }

  /// True if a page is SQLite's lock page, which has no content.
  func isLockPage(_ number: UInt32) -> Bool { Int(number - 1) == 0x4000_0000 / geometry.pageSize }
}
