import Foundation
import SqlableCore

/// Tokens and statements of generated SQL texts, compared with SQLite's parser.
struct SQLTokenTrial {
  private let sqlite: SQLiteParser

  init() throws { sqlite = try SQLiteParser() }

  /// Returns the first difference between the tokens of a text and SQLite's; nil if there is none. `planted` is the
  /// text that the library reads instead: a planted fault.
  func defect(ofTokens text: String, as planted: String? = nil) -> String? {
    let tokens = SQLTokenList(planted ?? text)
    var position = 0
    for place in 0..<tokens.count {
      let found = sqlite.token(of: text, from: position)
      let own = SQLiteParser.Token(range: tokens.range(place), isIllegal: tokens.isIllegal(place))
      if found != own { return "\(text.debugDescription) has \(own) where SQLite reads \(String(describing: found))" }
      position = own.range.upperBound
      // SQLite stops at an illegal token.
      if own.isIllegal { break }
    }
    let isWhole = (0..<tokens.count).allSatisfy { !tokens.isIllegal($0) }
    if isWhole, let missed = sqlite.token(of: text, from: position) {
      return "\(text.debugDescription) lacks \(missed)"
    }
    guard isWhole || text.endsInQuotes else { return nil }
    let appended = SQLTokenList(text + "+zq")
    let isLast = appended.count > 0 && appended.text(appended.count - 1) == "zq"
    return isLast == text.endsInQuotes ? "\(text.debugDescription): endsInQuotes is \(isLast)" : nil
  }

  /// Returns the first difference between the statements of a script and SQLite's; nil if there is none.
  func defect(ofScript text: String, isKnownToComplete: Bool) -> String? {
    let own = text.statementRanges
    let ends = sqlite.statementEnds(of: text)
    let isSame =
      own.count == ends.count
      && zip(own, zip([0] + ends, ends)).allSatisfy { $0.lowerBound >= $1.0 && $0.upperBound <= $1.1 }
    guard isSame else { return "\(text.debugDescription) has \(own), SQLite ends at \(ends)" }
    guard isKnownToComplete else { return nil }
    let tokens = SQLTokenList(text)
    for place in 0..<tokens.count where tokens.isSign(place, UInt8(ascii: ";")) {
      let end = tokens.range(place).upperBound
      let isInside = own.contains { $0.lowerBound < end && end < $0.upperBound }
      if sqlite.isComplete(String(decoding: Array(text.utf8)[..<end], as: UTF8.self)) == isInside {
        return "\(text.debugDescription): sqlite3_complete differs at \(end)"
      }
    }
    return nil
  }
}
