import SqlableCore

/// The page size of a file, and the usable bytes of a page. The reserved bytes at the end of a page are not usable.
struct PageGeometry: Equatable {
  static let sizes = [512, 1_024, 2_048, 4_096, 8_192, 16_384, 32_768, 65_536]

  let pageSize: Int
  let usable: Int

  /// Nil for a page size or a reserved size that SQLite does not support.
  init?(pageSize: Int, reserved: Int) {
    // SQLite needs at least 480 usable bytes on each page.
    guard PageGeometry.sizes.contains(pageSize), reserved >= 0, reserved < 256, pageSize - reserved >= 480 else {
      return nil
    }
    (self.pageSize, usable) = (pageSize, pageSize - reserved)
  }

  init?(_ header: DatabaseHeader) { self.init(pageSize: header.pageSize, reserved: header.reserved) }

  /// Returns the geometry that matches a file's pages best. The header's geometry is preferred unless another geometry
  /// matches much better.
  ///
  /// SQLite fills a b-tree page from its end, so the last cell ends at the page's end. With a wrong page size, the last
  /// cell ends elsewhere, or its offset is outside the page.
  static func best(for file: RawFile, header: DatabaseHeader?) -> PageGeometry? {
    let claimed = header.flatMap { PageGeometry($0) }
    let trials = sizes.map { size in Trial(of: file, pageSize: size) }
    guard let best = trials.max(by: { $0.share < $1.share }), best.share > 0 else { return claimed }
    if let claimed, let claimedTrial = trials.first(where: { $0.pageSize == claimed.pageSize }) {
      let fittingCount = claimedTrial.matching.count { $0 >= claimed.pageSize - claimed.usable }
      // If nearly every page has the same number of unused bytes at its end, the header's reserved size is wrong.
      let usualDistance = claimedTrial.usualDistance
      if claimedTrial.matching.count > 9,
        claimedTrial.matching.count(where: { $0 == usualDistance }) * 4 >= claimedTrial.matching.count * 3,
        claimedTrial.matching.count(where: { $0 < usualDistance }) * 20 <= claimedTrial.matching.count,
        usualDistance > claimed.pageSize - claimed.usable, claimedTrial.share * 2 >= best.share
      {
        return PageGeometry(pageSize: claimed.pageSize, reserved: usualDistance)
      }
      if claimedTrial.share * 2 >= best.share, fittingCount * 2 >= claimedTrial.matching.count { return claimed }
    }
    // Take the tenth percentile: nine tenths of the pages have at least this many unused bytes at their end.
    let distances = best.matching.sorted()
    return PageGeometry(pageSize: best.pageSize, reserved: distances[distances.count / 10])
  }

  /// A page size that is tested on a sample of a file's pages.
  private struct Trial {
    let pageSize: Int
    /// The distances between the last cell's end and the page's end, in bytes, for pages with a distance below 256.
    private(set) var matching: [Int] = []
    private let sampledPages: Int

    var share: Double { Double(matching.count) / Double(max(sampledPages, 1)) }

    /// The most frequent distance, in bytes; 0 if no page matched.
    var usualDistance: Int {
      Dictionary(grouping: matching) { $0 }.max { ($0.value.count, $1.key) < ($1.value.count, $0.key) }?.key ?? 0
    }

    init(of file: RawFile, pageSize: Int) {
      self.pageSize = pageSize
      let pages = file.size / pageSize
      sampledPages = min(pages, 200)
      for index in 0..<sampledPages {
        let number = pages <= 200 ? index : index * (pages / 200)
        let bytes = file.bytes(at: number * pageSize, count: pageSize)
        guard let page = TreePage(bytes, number: number == 0 ? 1 : 2, usable: pageSize), page.isSound,
          let end = page.cells.compactMap({ $0?.end }).max(), pageSize - end < 256
        else { continue }
        matching.append(pageSize - end)
      }
    }
  }
}

struct DatabaseHeader {
  let bytes: [UInt8]

  init?(_ bytes: [UInt8]) {
    guard bytes.count >= 100 else { return nil }
    self.bytes = Array(bytes[..<100])
  }

  /// True if the constant parts of the header are intact, and the page size and the encoding are valid.
  var isSound: Bool {
    bytes.starts(with: "SQLite format 3\0".utf8) && Array(bytes[21...23]) == [64, 32, 32]
      && PageGeometry(self) != nil && encoding != nil && number(44).map { (1...4).contains($0) } == true
  }

  var pageSize: Int { bytes.short(16).map { $0 == 1 ? 65_536 : $0 } ?? 0 }
  var reserved: Int { Int(bytes[20]) }
  /// The number of pages; nil if the last program that wrote the file did not update the number.
  var pageCount: UInt32? { number(24) == number(92) ? number(28).flatMap { $0 > 0 ? $0 : nil } : nil }
  var firstTrunk: UInt32 { number(32) ?? 0 }
  var freePages: UInt32 { number(36) ?? 0 }
  var isAutoVacuum: Bool { (number(52) ?? 0) > 0 }
  /// The text encoding; UTF-8 for an empty database, which stores no encoding; nil for an invalid number.
  var encoding: TextEncoding? {
    number(56).flatMap { $0 == 0 ? .utf8 : UInt8(exactly: $0).flatMap(TextEncoding.init) }
  }
  var userVersion: Int32 { Int32(bitPattern: number(60) ?? 0) }
  var applicationId: Int32 { Int32(bitPattern: number(68) ?? 0) }

  private func number(_ offset: Int) -> UInt32? { bytes.word(offset) }
}
