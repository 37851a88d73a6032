import Foundation

/// A problem with a file, a line of it, or one field. It names the line and the column, but never the value: data may
/// be private, and logs are not.
struct CSVError: Error, Hashable, Sendable {
  enum Problem: Hashable, Sendable {
    case cannotRead(errno: Int32)
    case isDirectory
    case isEmpty
    case missingColumns([String])
    case repeatedColumn

    case fieldCount(found: Int, expected: Int)
    case textAfterQuote
    case unterminatedQuote
    case tooLong(limit: Int)

    case missing
    case notAnInteger
    case outOfRange
    case notANumber
    case notADate
    case unknownWord
    case invalidUTF8
  }

  /// The line the record starts on, counted from 1; 0 for a problem with the whole file.
  var line: Int
  var column: String?
  var problem: Problem

  /// Whether the rest of the file can't be read either, so that skipping the line does not help.
  var isFatal: Bool {
    switch problem {
    case .cannotRead, .isDirectory, .isEmpty, .missingColumns, .repeatedColumn: true
    default: false
    }
  }
}

extension CSVError: CustomStringConvertible {
  var description: String {
    (line > 0 ? "line \(line): " : "") + reason
  }

  /// The description without the line.
  var reason: String {
    (column.map { "column \($0): " } ?? "") + problem.description
  }
}

extension CSVError.Problem: CustomStringConvertible {
  var description: String {
    switch self {
    case .cannotRead(let code): String(cString: strerror(code))
    case .isDirectory: "is a directory, not a file"
    case .isEmpty: "is empty: there is no header line"
    case .missingColumns(let names): "the header lacks \(names.joined(separator: ", "))"
    case .repeatedColumn: "is in the header twice"
    case .fieldCount(let found, let expected): "\(found) \(found == 1 ? "field" : "fields") instead of \(expected)"
    case .textAfterQuote: "text after the closing quote"
    case .unterminatedQuote: "unterminated quote"
    case .tooLong(let limit): "longer than \(limit) bytes"
    case .missing: "NA, but a value is needed"
    case .notAnInteger: "not a whole number"
    case .outOfRange: "a number too large for 64 bits"
    case .notANumber: "not a number"
    case .notADate: "not a time of the form 2013-01-31T23:00:00Z"
    case .unknownWord: "not a known value"
    case .invalidUTF8: "not valid UTF-8"
    }
  }
}
