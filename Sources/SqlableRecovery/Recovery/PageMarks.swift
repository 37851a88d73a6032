import SqlableCore

/// The known use of each page in a damaged file, one byte per page.
struct PageMarks {
  enum Mark: UInt8 {
    case unknown, tree, overflow, free, map
  }

  private var marks: [Mark]
  private(set) var knownCount = 0

  init(of file: DamagedFile) {
    marks = Array(repeating: .unknown, count: Int(file.fileCount) + 1)
    for number in file.mapPages { marks[Int(number)] = .map }
    knownCount = file.mapPages.count
  }

  subscript(_ number: UInt32) -> Mark? { number > 0 && number < marks.count ? marks[Int(number)] : nil }

  /// Marks a page. Returns false if the page does not exist or already has a mark; only a `free` mark is replaced.
  mutating func claim(_ number: UInt32, as mark: Mark) -> Bool {
    // A b-tree that points to a page is more reliable than the freelist, which might be damaged itself.
    guard let old = self[number], old == .unknown || old == .free && mark != .free else { return false }
    marks[Int(number)] = mark
    if old == .unknown { knownCount += 1 }
    return true
  }

  /// Restores an earlier mark of a page, after a damaged pointer caused a wrong mark. Nil has no effect.
  mutating func release(_ number: UInt32, to mark: Mark?) {
    guard let mark, let old = self[number] else { return }
    marks[Int(number)] = mark
    knownCount += (mark == .unknown ? 0 : 1) - (old == .unknown ? 0 : 1)
  }

  // MARK: Freelist

  /// Marks the pages of the freelist. Returns true if all pages of the freelist were found.
  mutating func markFreelist(of file: DamagedFile) -> Bool {
    guard let header = file.header else { return false }
    var count: UInt32 = 0
    var trunk = header.firstTrunk
    while trunk != 0 {
      guard let entries = file.trunk(trunk), claim(trunk, as: .free) else { return false }
      count += 1
      for entry in entries.pages where file.isCut(entry) || claim(entry, as: .free) { count += 1 }
      trunk = entries.next
    }
    return count == header.freePages
  }

  /// Marks the pages of a freelist whose start is unknown: pages that look like trunks, and the pages that these trunks
  /// list.
  mutating func markLikelyFreelist(of file: DamagedFile) {
    for number in 1...max(file.pageCount, 1) where self[number] == .unknown {
      guard let trunk = file.trunk(number), trunk.pages.count > 2, Set(trunk.pages).count == trunk.pages.count,
        trunk.pages.allSatisfy({
          $0 != number && (self[$0] == .unknown || self[$0] == .free || file.isCut($0))
        }),
        trunk.next == 0 || self[trunk.next] != nil || file.isCut(trunk.next)
      else { continue }
      _ = claim(number, as: .free)
      for entry in trunk.pages { _ = claim(entry, as: .free) }
    }
  }
}

extension DamagedFile {
  /// Returns the pages that a freelist trunk lists, and the next trunk; nil if the page can't be a trunk.
  fileprivate func trunk(_ number: UInt32) -> (next: UInt32, pages: [UInt32])? {
    guard let bytes = page(number), let next = bytes.word(0), let count = bytes.word(4), count <= usable / 4 - 2 else {
      return nil
    }
    let pages = (0..<Int(count)).compactMap { bytes.word(8 + 4 * $0) }
    return pages.allSatisfy { $0 > 1 && $0 <= fullCount } ? (next, pages) : nil
  }

  // MARK: Auto-vacuum

  /// The number of pages that one page of the pointer map describes.
  private var mapped: UInt32 { UInt32(usable / 5) }

  /// The pages of the pointer map; empty for a file without auto-vacuum.
  fileprivate var mapPages: [UInt32] {
    guard header?.isAutoVacuum == true, fileCount > 1 else { return [] }
    return stride(from: 2, through: fileCount, by: Int(mapped) + 1).map { isLockPage($0) ? $0 + 1 : $0 }
      .filter { $0 <= fileCount }
  }

  /// Returns a page and the pages above it in its b-tree, according to the pointer map. The last page is the root,
  /// unless an entry of the map is damaged or beyond the end of the file.
  func mappedPath(of page: UInt32) -> [UInt32] {
    var path: [UInt32] = []
    var page = page
    while path.count < 40, let entry = mapEntry(page), entry.kind == 1 || entry.kind == 5 {
      path.append(page)
      if entry.kind == 1 { return path }
      page = entry.parent
    }
    return path.isEmpty || !isCut(page) ? path : path + [page]
  }

  func isMappedFree(_ page: UInt32) -> Bool { mapEntry(page)?.kind == 2 }

  private func mapEntry(_ number: UInt32) -> (kind: UInt8, parent: UInt32)? {
    guard header?.isAutoVacuum == true, number > 2, number <= fullCount else { return nil }
    let map = (number - 2) / (mapped + 1) * (mapped + 1) + 2
    let mapPage = isLockPage(map) ? map + 1 : map
    guard number > mapPage, let bytes = page(mapPage) else { return nil }
    let offset = 5 * Int(number - mapPage - 1)
    guard let kind = bytes.byte(offset), let parent = bytes.word(offset + 1) else { return nil }
    return (kind, parent)
  }
}
