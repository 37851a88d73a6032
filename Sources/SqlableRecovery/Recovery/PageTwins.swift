import SqlableCore

/// Pairs of b-tree pages with the same bytes. An intact file has no such pairs; a write at a wrong offset creates one.
struct PageTwins {
  private var twins: [UInt32: UInt32] = [:]

  init(of file: DamagedFile) {
    var pages: [(hash: Int, number: UInt32)] = []
    for number in 1...max(file.pageCount, 1) {
      guard let bytes = file.page(number), TreePage.Kind(rawValue: bytes[0]) != nil, bytes.short(3) ?? 0 > 0 else {
        continue
      }
      var hasher = Hasher()
      bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
      pages.append((hasher.finalize(), number))
    }
    pages.sort { ($0.hash, $0.number) < ($1.hash, $1.number) }
    for (page, next) in zip(pages, pages.dropFirst()) where page.hash == next.hash {
      guard file.page(page.number) == file.page(next.number) else { continue }
      twins[page.number] = twins[page.number] ?? next.number
      twins[next.number] = page.number
    }
  }

  subscript(_ number: UInt32) -> UInt32? { twins[number] }

  var pages: [UInt32] { twins.keys.sorted() }
}
