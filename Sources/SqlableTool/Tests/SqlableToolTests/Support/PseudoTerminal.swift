import Foundation
import Glibc
import Testing

/// A pseudo terminal of 80 columns, on which a program writes and a test reads.
struct PseudoTerminal {
  /// The end of the pseudo terminal to which the program writes.
  let line: FileHandle
  private let test: FileHandle

  init() throws {
    var (own, other): (Int32, Int32) = (-1, -1)
    var size = winsize(ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0)
    try #require(openpty(&own, &other, nil, nil, &size) == 0)
    for descriptor in [own, other] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
    (test, line) = (
      FileHandle(fileDescriptor: own, closeOnDealloc: true), FileHandle(fileDescriptor: other, closeOnDealloc: true)
    )
  }

  /// Returns everything that the program writes until it ends.
  func readToEnd() throws -> Data {
    // Reading ends when no process has the line open, so this process must close the line.
    try line.close()
    var (data, part) = (Data(), [UInt8](repeating: 0, count: 4_096))
    while true {
      let count = read(test.fileDescriptor, &part, part.count)
      if count > 0 {
        data.append(contentsOf: part[..<count])
      } else if count == 0 || errno != EINTR {
        // EIO is the end of a pseudo terminal.
        return data
      }
    }
  }
}

/// The lines that a terminal shows after it has received a text, without spaces at their ends.
func screen(_ text: String) -> [String] {
  var (lines, column) = ([[UInt8]()], 0)
  for byte in text.utf8 {
    switch byte {
    case 0x0D: column = 0
    case 0x0A: lines.append([])
    default:
      let missing = max(0, column + 1 - lines[lines.count - 1].count)
      lines[lines.count - 1] += [UInt8](repeating: 0x20, count: missing)
      lines[lines.count - 1][column] = byte
      column += 1
    }
  }
  return lines.map { line in
    String(decoding: line.reversed().drop { $0 == 0x20 }.reversed(), as: UTF8.self)
  }
}
