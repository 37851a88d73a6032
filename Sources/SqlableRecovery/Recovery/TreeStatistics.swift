import SqlableCore

/// Row counts and gaps of one b-tree.
struct TreeStatistics {
  /// A missing page of the b-tree, with the rowids that its rows can have, its depth and its state.
  struct Gap {
    enum Page {
      case unreadable
      /// The page was after the end of the file.
      case cut
      /// The number of the page is unknown, because no readable pointer leads to the page. The page might be any page
      /// of the file, or might be overwritten.
      case unknown
    }

    let rowids: ClosedRange<Int64>
    /// The depth of the missing page; 0 for the root.
    let depth: Int
    let page: Page
    /// The number of the missing page; nil if the pointer to the page might be damaged.
    let number: UInt32?
    /// True if pages below the missing page might still exist as orphans.
    let mayHaveOrphans: Bool
  }

  /// Rows that are lost individually, in damaged cells or broken chains of overflow pages.
  struct LostRows {
    let rowids: ClosedRange<Int64>
    let count: Int
  }

  private(set) var leaves = 0
  private(set) var leafCells = 0
  private(set) var overflowPages = 0
  private(set) var leafBytes = 0
  private var interiorPages = 0
  private var interiorCells = 0
  private var children = 0
  private var span = 0.0
  /// The depth of the leaves below the root, which is equal for all leaves; nil before the first leaf.
  private(set) var leafDepth: Int?
  private(set) var gaps: [Gap] = []
  private(set) var lost: [LostRows] = []
  private(set) var unreadablePages = 0
  /// The numbers of the first 1,000 pages that are unreadable or belong to another b-tree.
  private(set) var badPages: [UInt32] = []
  private var orphans: [ClosedRange<Int64>] = []
  private(set) var orphanCells = 0

  var isComplete: Bool { gaps.isEmpty && lost.isEmpty }
  var mayHaveOrphans: Bool { gaps.contains(where: \.mayHaveOrphans) }
  var entries: Int { leafCells + interiorCells }

  /// The smallest number of values in a row of an intact page; nil before the first row.
  private(set) var leastFields: Int?

  // MARK: Counting

  mutating func addFields(_ count: Int) { leastFields = min(leastFields ?? count, count) }

  mutating func addBadPage(_ number: UInt32, isReadable: Bool) {
    if !isReadable { unreadablePages += 1 }
    if badPages.count < 1_000 { badPages.append(number) }
  }

  mutating func addLeaf(cells: Int, bytes: Int, rowids: ClosedRange<Int64>?, depth: Int, isOrphan: Bool) {
    leaves += 1
    leafCells += cells
    leafBytes += bytes
    if isOrphan { orphanCells += cells }
    if !isOrphan { leafDepth = leafDepth ?? depth }
    guard let rowids else { return }
    span += rowids.width
    if isOrphan { orphans.append(rowids) }
  }

  mutating func assumeLeafDepth(_ depth: Int) { leafDepth = leafDepth ?? depth }

  mutating func addInterior(cells: Int) {
    interiorPages += 1
    interiorCells += cells
    children += cells + 1
  }

  mutating func lose(_ count: Int, in rowids: ClosedRange<Int64>) {
    lost.append(LostRows(rowids: rowids, count: count))
  }

  mutating func miss(
    _ rowids: ClosedRange<Int64>, depth: Int, _ page: Gap.Page = .unknown, number: UInt32? = nil,
    mayHaveOrphans: Bool = true
  ) {
    gaps.append(Gap(rowids: rowids, depth: depth, page: page, number: number, mayHaveOrphans: mayHaveOrphans))
  }

  mutating func addOverflow(_ pages: Int) { overflowPages += pages }

  func isMissing(_ rowid: Int64) -> Bool {
    gaps.contains { $0.rowids.contains(rowid) } || lost.contains { $0.rowids.contains(rowid) }
  }

  func misses(anyOf pages: [UInt32]) -> Bool {
    gaps.contains { gap in gap.number.map(pages.contains) == true }
  }

  var missingRowids: [ClosedRange<Int64>] {
    var ranges: [ClosedRange<Int64>] = []
    for range in (gaps.map(\.rowids) + lost.map(\.rowids)).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = ranges.last, range.lowerBound <= last.upperBound {
        ranges[ranges.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        ranges.append(range)
      }
    }
    return ranges
  }

  // MARK: Estimate

  var pages: Int { leaves + interiorPages + overflowPages }
  var cutPages: Int { gaps.count { $0.page == .cut } }
  /// True if the root is missing, so that the original size of the b-tree is unknown.
  var isRootLost: Bool { gaps.contains { $0.depth == 0 } }
  /// The depth of the leaves. Without leaves, the depth of the deepest missing page; nil if no page is missing.
  private var likelyLeafDepth: Int? { leafDepth ?? gaps.lazy.map(\.depth).max() }
  /// True if an unknown number of pages might be missing, because their parent pages were after the end of the
  /// truncated file.
  var isOpen: Bool { gaps.contains { $0.page == .cut && $0.depth < likelyLeafDepth ?? 0 } }

  /// Estimates the number of lost rows. `known` counts rows in damaged cells, in broken overflow chains, and on leaves
  /// that are known to be lost. `possible` counts rows in pages to which no pointer leads. The number of these pages is
  /// unknown.
  ///
  /// - Parameters:
  ///   - guess: The number of rows per leaf, used if no leaf was found.
  ///   - usable: The usable bytes of a page.
  func estimatedLoss(rowsPerLeaf guess: Double, usable: Int) -> (known: Double, possible: Double) {
    // With few leaves, the last leaf distorts the average, because this leaf is not full.
    let full = leafBytes > 0 ? Double(usable - 8) * Double(leafCells) / Double(leafBytes) : guess
    let perLeaf = leaves == 0 ? guess : leaves > 3 ? Double(leafCells) / Double(leaves) : full * 0.8
    // `density` is the number of rows for each rowid of the leaves' ranges. The first row and the first rowid of each
    // leaf are not counted, so a leaf with a single row has no effect.
    let (steps, width) = (Double(leafCells - leaves), span - Double(leaves))
    let density = leafCells > 2 * leaves && width > 0 ? steps / width : 0
    var (known, possible) = (Double(lost.reduce(0) { $0 + $1.count }), 0.0)
    let holes = gaps.filter { gap in gap.mayHaveOrphans && orphans.contains { $0.overlaps(gap.rowids) } }
    for gap in gaps {
      // `holes` are gaps in which orphans were found. The loss of such a gap includes the ranges between the orphans,
      // so a gap deeper in the b-tree in the same range is already counted.
      let isInHole = holes.contains { $0.depth < gap.depth && $0.rowids.overlaps(gap.rowids) }
      if isInHole { continue }
      let loss = loss(in: gap, perLeaf: perLeaf, density: density)
      if gap.page != .unknown, gap.depth == likelyLeafDepth { known += loss } else { possible += loss }
    }
    return (known, possible)
  }

  private func loss(in gap: Gap, perLeaf: Double, density: Double) -> Double {
    let isOpen = gap.rowids.upperBound == .max
    let level = likelyLeafDepth.map { max($0 - gap.depth, 0) }
    if level == 0, gap.page != .unknown {
      // In a tree without rowids, a missing last leaf looks like any other leaf, so use the average.
      if gap.rowids == TreeCrawler.allRowids { return perLeaf }
      // The last leaf of a table that grows at its end is half full on average.
      if isOpen { return leaves > 0 ? perLeaf / 2 : perLeaf }
      if gap.rowids.lowerBound == .min {
        // Most tables start with id 1, so the missing rows have ids from 1.
        return density > 0.2 && gap.rowids.upperBound > 0
          ? min(Double(gap.rowids.upperBound) * density, perLeaf * 2) : perLeaf
      }
      return density > 0.2 ? gap.rowids.width * density : min(perLeaf, gap.rowids.width)
    }
    let inside = orphans.filter { $0.overlaps(gap.rowids) }.sorted { $0.lowerBound < $1.lowerBound }
    let fanOut = interiorPages > 0 ? Double(children) / Double(interiorPages) : 1
    let below = (0..<min(level ?? 0, 8)).reduce(1.0) { leaves, _ in leaves * fanOut }
    guard let first = inside.first, let last = inside.last else {
      let loss = perLeaf * below
      // Keys without rowids don't show which orphans belong to the gap, so subtract the rows of all orphans.
      return isOpen ? max(loss - Double(orphanCells), 0) : min(loss, gap.rowids.width)
    }
    if density == 0 {
      // A root has as many children as it needs, so the usual number of children says nothing about the root.
      return gap.depth == 0 ? 0 : max(below - Double(inside.count), 0) * perLeaf
    }
    // A hole in the rowids counts as lost rows only if at least half of a leaf page's rows would fit into the hole.
    // Smaller holes also occur in undamaged tables.
    var holes = zip(inside, inside.dropFirst()).map { Double($1.lowerBound) - Double($0.upperBound) - 1 }
    if gap.rowids.lowerBound != .min { holes.append(Double(first.lowerBound) - Double(gap.rowids.lowerBound)) }
    if !isOpen { holes.append(Double(gap.rowids.upperBound) - Double(last.upperBound)) }
    return holes.reduce(0) { loss, hole in loss + (hole * density >= perLeaf / 2 ? hole * density : 0) }
  }
}

extension ClosedRange<Int64> {
  var width: Double { Double(upperBound) - Double(lowerBound) + 1 }

  static func between(_ first: Int64, _ last: Int64) -> ClosedRange? { first <= last ? first...last : nil }
}
