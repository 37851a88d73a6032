/// The results of the imports, as lines to print.
struct ImportReport {
  var results: [ImportResult]

  var lines: [String] {
    var table = TextTable(.left, .right, .right, .right)
    table.add("table", "rows", "seconds", "rows/s")
    for result in results {
      let rate = Rate(count: result.rows, duration: result.duration).perSecond
      table.add(result.table, result.rows.grouped, result.duration.inSeconds, rate.grouped)
    }
    var lines = table.lines
    for result in results where result.skippedCount > 0 {
      lines.append("")
      lines.append("\(result.table): \(result.skippedCount.grouped) line\(result.skippedCount == 1 ? "" : "s") skipped")
      lines += result.skipped.map { "  \($0)" }
      let hidden = result.skippedCount - result.skipped.count
      if hidden > 0 { lines.append("  and \(hidden.grouped) more") }
    }
    return lines
  }
}
