extension SqlError: CustomStringConvertible {
  public var description: String {
    var text = "SqlError.\(kindName)"
    if let label { text += " [\(label)]" }
    text += ": \(message)"
    let column = [table, column].compactMap { $0 }.joined(separator: ".")
    let element = batchIndex.map { "element \($0) of the batch" }
    let parts = [documentPath, column, rowId.map { "row \($0)" }, element].compactMap(\.self)
    let location = parts.filter { !$0.isEmpty }.joined(separator: ", ")
    if !location.isEmpty { text += " (at \(location))" }
    if extendedCode != 0 { text += " (code \(extendedCode))" }
    switch transaction {
    case .none: break
    case .untouched: text += "; the transaction is still open"
    case .rolledBack: text += "; the transaction was rolled back"
    case .unknown: text += "; the transaction was either stored completely, or not at all"
    }
    if let sql { text += "; \(positionInText)in: \(SqlError.shortened(sql, around: offset))" }
    return text
  }

  /// Returns the statement, shortened to at most 1,000 bytes around the failure.
  private static func shortened(_ sql: String, around offset: Int?) -> String {
    let (bytes, longest) = (sql.utf8, 1000)
    guard bytes.count > longest else { return sql }
    let center = min(max(offset ?? 0, 0), bytes.count)
    let skipped = center < longest ? 0 : min(center - longest / 2, bytes.count - longest)
    // Omits a character that the cut would split.
    let isContinued = { (byte: UInt8) in byte & 0b1100_0000 == 0b1000_0000 }
    let start = bytes.dropFirst(skipped).drop(while: isContinued).startIndex
    var end = bytes.index(start, offsetBy: longest, limitedBy: bytes.endIndex) ?? bytes.endIndex
    while end < bytes.endIndex, isContinued(bytes[end]) { end = bytes.index(before: end) }
    let part = String(decoding: bytes[start..<end], as: UTF8.self)
    let (before, after) = (start == bytes.startIndex ? "" : "… ", end == bytes.endIndex ? "" : " …")
    return "\(before)\(part)\(after) (\(bytes.count) bytes of SQL)"
  }

  /// The place of the failure, such as `at line 1, column 8 `. Lines and columns are counted from 1.
  private var positionInText: String {
    guard let sql, let offset, offset <= sql.utf8.count else { return "" }
    // Split bytes, because Swift treats "\r\n" as one character, which is not equal to "\n".
    let lines = sql.utf8.prefix(offset).split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
    let column = lines.last.map { String(decoding: $0, as: UTF8.self).count } ?? 0
    return "at line \(lines.count), column \(column + 1) "
  }

  /// The name of the kind. Includes the associated value only for a constraint, a change log and a tenant.
  package var kindName: String {
    switch kind {
    case .constraint(let constraint): "constraint(\(constraint))"
    case .changeLog(let problem): "changeLog(\(problem))"
    case .tenant(let problem): "tenant(\(problem))"
    case .schema: "schema"
    case .decoding: "decoding"
    case .encoding: "encoding"
    case .invalidStatement: "invalidStatement"
    case .misuse: "misuse"
    default: "\(kind)"
    }
  }
}
