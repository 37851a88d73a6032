import Foundation

/// A file of the repository. A Swift file has its comments and texts told apart from its code.
public struct SourceFile: Sendable {
  /// From the root of the repository.
  public let path: String
  let bytes: [UInt8]

  /// The lines' places in `bytes`, without their ends.
  let lines: [Range<Int>]

  /// The bytes with spaces for comments.
  let uncommented: [UInt8]

  /// The bytes with spaces for comments and for texts, except what is interpolated.
  let code: [UInt8]

  public init(_ path: String, _ text: String) {
    self.init(path, bytes: Array(text.utf8))
  }

  init(_ path: String, bytes: [UInt8]) {
    self.path = path
    self.bytes = bytes
    lines = bytes.split(separator: "\n", omittingEmptySubsequences: false)
      .map { $0.startIndex..<$0.endIndex }.filter { $0.lowerBound < bytes.count }
    (uncommented, code) = path.hasSuffix(".swift") ? blanked(bytes) : ([], [])
  }

  var isSwift: Bool { path.hasSuffix(".swift") }

  /// Whether it belongs to tests: those of a package in another package, too.
  var isTest: Bool { path.hasPrefix("Tests/") || path.contains("/Tests/") }

  /// The name of the target under `Sources`, if the file belongs to one of this package.
  var target: String? {
    let parts = path.split(separator: "/")
    guard parts.count > 2, parts[0] == "Sources", !["Package.swift", "Sources", "Tests"].contains(parts[2]) else {
      return nil
    }
    return String(parts[1])
  }

  func text(_ line: Range<Int>) -> String { String(decoding: bytes[line], as: UTF8.self) }

  /// Whether the line begins inside of a text of several lines: the line end before it belongs to that text.
  func startsInText(_ line: Range<Int>) -> Bool {
    line.lowerBound > 0 && code[line.lowerBound - 1] != uncommented[line.lowerBound - 1]
  }
}

/// A name, a keyword or a number.
struct Word {
  let text: String
  let place: Range<Int>

  /// The byte before it, a space at the beginning of the part that was read.
  let before: UInt8
}

/// The words of a part of a file.
func readWords(_ bytes: [UInt8], in part: Range<Int>) -> [Word] {
  var words: [Word] = []
  var place = part.lowerBound
  while place < part.upperBound {
    let start = place
    while place < part.upperBound, isPartOfWord[Int(bytes[place])] { place += 1 }
    if place > start {
      let text = String(decoding: bytes[start..<place], as: UTF8.self)
      words.append(Word(text: text, place: start..<place, before: start > part.lowerBound ? bytes[start - 1] : " "))
    }
    place += 1
  }
  return words
}

private let isPartOfWord: [Bool] = (UInt8.min...UInt8.max).map {
  $0 == "_" || ("a"..."z") ~= $0 || ("A"..."Z") ~= $0 || ("0"..."9") ~= $0
}
