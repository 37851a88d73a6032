/// Reads a file of comma-separated values one record at a time, in constant memory.
///
///     var flights = try CSVReader<Flight.CSV>.open(path)
///     while try flights.advance() { try use(flights.int(.day), flights.optionalText(.tailnum)) }
///
/// Accepts RFC 4180, and what files in the wild add to it: a byte-order mark, LF or CRLF, a missing newline at the end,
/// blank lines (skipped). A field's bytes stay in the window and are converted on demand; only text allocates, and
/// short text does not. After an error that is not fatal, `advance()` continues after the malformed line.
struct CSVReader<Column: CSVColumn>: ~Copyable {
  struct Field {
    var start = 0
    var count = 0
    var isQuoted = false
    var hasDoubledQuotes = false
  }

  /// The line on which the current record starts, counted from 1.
  private(set) var line = 0
  private(set) var window: FileWindow
  private var header: [String] = []
  private var fields: [Field] = []
  /// The position in the file of each of `Column`'s cases, by raw value.
  private var positions: [Int] = []

  /// The offset in the window at which the next record starts, and its line.
  private var next = 0
  private var nextLine = 1

  /// Opens a file and reads its header.
  ///
  /// Not an `init`, since the compiler (6.3) rejects one that throws after a noncopyable value's properties are set.
  static func open(_ path: String) throws(CSVError) -> sending CSVReader {
    var reader = CSVReader(window: try FileWindow(path: path))
    try reader.readHeader()
    return reader
  }

  private init(window: consuming FileWindow) {
    self.window = window
  }

  /// The number of bytes processed, for a progress display.
  var bytesRead: Int { window.bytesRead - window.count + next }

  /// Moves to the next record; false at the end of the file.
  mutating func advance() throws(CSVError) -> Bool {
    guard let count = try nextRecord() else { return false }
    guard count == header.count else {
      throw CSVError(line: line, problem: .fieldCount(found: count, expected: header.count))
    }
    return true
  }

  func field(_ column: Column) -> Field { fields[positions[column.rawValue]] }

  func error(_ problem: CSVError.Problem, in column: Column) -> CSVError {
    CSVError(line: line, column: column.name, problem: problem)
  }

  private mutating func readHeader() throws(CSVError) {
    while window.count < 3, !window.isAtEnd { _ = try window.refill(keepingFrom: 0) }
    if window.count >= 3, window.bytes[0] == 0xEF, window.bytes[1] == 0xBB, window.bytes[2] == 0xBF { next = 3 }

    guard try nextRecord() != nil else { throw CSVError(line: 0, problem: .isEmpty) }
    for field in fields {
      guard let name = text(of: field) else { throw CSVError(line: line, problem: .invalidUTF8) }
      header.append(name)
    }
    var missing: [String] = []
    for column in Column.allCases {
      let matches = header.indices.filter { header[$0] == column.name }
      guard matches.count < 2 else { throw error(.repeatedColumn, in: column) }
      if let match = matches.first { positions.append(match) } else { missing.append(column.name) }
    }
    guard missing.isEmpty else { throw CSVError(line: line, problem: .missingColumns(missing)) }
  }
}

// MARK: - Finding the fields

extension CSVReader {
  private enum Scan {
    case record(fields: Int)
    case endOfFile
    /// The window ends before the end of the record; the position is that of the field.
    case incomplete(position: Int, isQuoted: Bool)
    case malformed(position: Int, CSVError.Problem)
  }

  /// Scans to the next record that is not blank; returns its number of fields, or nil at the end of the file.
  private mutating func nextRecord() throws(CSVError) -> Int? {
    while true {
      line = nextLine
      switch scan() {
      case .record(let count):
        let isBlank = count == 1 && fields[0].count == 0 && !fields[0].isQuoted && header.count != 1
        if !isBlank { return count }
      case .endOfFile:
        return nil
      case .incomplete(let position, let isQuoted):
        guard try window.refill(keepingFrom: next) else {
          try skipLine()
          throw error(isQuoted ? .unterminatedQuote : .tooLong(limit: FileWindow.limit), at: position)
        }
        next = 0
      case .malformed(let position, let problem):
        try skipLine()
        throw error(problem, at: position)
      }
    }
  }

  private func error(_ problem: CSVError.Problem, at position: Int) -> CSVError {
    CSVError(line: line, column: position < header.count ? header[position] : nil, problem: problem)
  }

  /// Finds the fields of the record at `next` and moves `next` behind it, or leaves `next` as it is.
  private mutating func scan() -> Scan {
    let bytes = window.bytes
    let end = window.count
    let isAtEnd = window.isAtEnd
    var index = next
    var newlines = 0
    var count = 0

    while true {
      if index == end {
        guard isAtEnd else { return .incomplete(position: count, isQuoted: false) }
        guard index > next else { return .endOfFile }
        store(Field(start: index), at: count)  // The file ends with a comma.
        return finish(count + 1, at: index, newlines)
      }
      var field = Field()
      if bytes[index] == Byte.quote {
        field.isQuoted = true
        index += 1
        field.start = index
        while true {
          guard index < end else {
            guard isAtEnd else { return .incomplete(position: count, isQuoted: true) }
            return .malformed(position: count, .unterminatedQuote)
          }
          let byte = bytes[index]
          if byte == Byte.quote {
            // Only the next byte shows whether this quote is doubled.
            guard index + 1 < end || isAtEnd else { return .incomplete(position: count, isQuoted: true) }
            guard index + 1 < end, bytes[index + 1] == Byte.quote else { break }
            field.hasDoubledQuotes = true
            index += 1
          } else if byte == Byte.newline {
            newlines += 1
          }
          index += 1
        }
        field.count = index - field.start
        index += 1
        if index < end, bytes[index] == Byte.carriageReturn {
          guard index + 1 < end || isAtEnd else { return .incomplete(position: count, isQuoted: true) }
          if index + 1 == end || bytes[index + 1] == Byte.newline { index += 1 }
        }
      } else {
        field.start = index
        while index < end, bytes[index] != Byte.comma, bytes[index] != Byte.newline { index += 1 }
        guard index < end || isAtEnd else { return .incomplete(position: count, isQuoted: false) }
        field.count = index - field.start
        let endsLine = index == end || bytes[index] == Byte.newline
        if endsLine, field.count > 0, bytes[index - 1] == Byte.carriageReturn { field.count -= 1 }
      }

      store(field, at: count)
      count += 1
      if index == end { return finish(count, at: index, newlines) }
      switch bytes[index] {
      case Byte.comma: index += 1
      case Byte.newline: return finish(count, at: index + 1, newlines + 1)
      default: return .malformed(position: count - 1, .textAfterQuote)
      }
    }
  }

  /// The header decides the number of fields; further fields of a record are counted but not kept.
  private mutating func store(_ field: Field, at position: Int) {
    if position < fields.count {
      fields[position] = field
    } else if header.isEmpty {
      fields.append(field)
    }
  }

  private mutating func finish(_ count: Int, at index: Int, _ newlines: Int) -> Scan {
    next = index
    nextLine += newlines
    return .record(fields: count)
  }

  /// Moves to the line after the one that the record starts on, however long that is.
  ///
  /// Only that line, not all that a wrong quote has enclosed: the lines below may be well-formed.
  private mutating func skipLine() throws(CSVError) {
    while true {
      while next < window.count {
        next += 1
        if window.bytes[next - 1] == Byte.newline {
          nextLine += 1
          return
        }
      }
      guard !window.isAtEnd else { return }
      _ = try window.refill(keepingFrom: next)
      next = 0
    }
  }
}

enum Byte {
  static let newline = UInt8(ascii: "\n")
  static let carriageReturn = UInt8(ascii: "\r")
  static let quote = UInt8(ascii: "\"")
  static let comma = UInt8(ascii: ",")
}
