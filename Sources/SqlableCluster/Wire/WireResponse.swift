#if Cluster
import Sqlable
import Foundation
import NIOCore

/// A response of dqlite's wire protocol, version 1.
enum WireResponse: Sendable {
  case failure(code: Int, message: String)
  /// The leader's id and address. The id is 0 and the address is empty if the node has no known leader.
  case node(id: UInt64, address: String)
  case nodes([ClusterMember])
  case database
  case statement(id: UInt32, parameters: Int)
  case result(lastInsertedId: Int64, changes: Int)
  /// A batch of rows. More batches follow unless `isLast`.
  case rows(SqlAnswer, isLast: Bool)
  case files([WireFile])
  case metadata(failureDomain: UInt64, weight: UInt64)
  case empty

  /// The size of a message's header in bytes. The header contains the length, the type and the schema.
  static let headerLength = 8

  init(type: UInt8, _ body: ByteBuffer) throws {
    var body = body
    switch type {
    case 0: self = try WireResponse.failure(&body)
    case 1: self = .node(id: try body.word(), address: try body.text())
    case 3:
      let count = try body.word()
      var nodes: [ClusterMember] = []
      for _ in 0..<count {
        let (id, address) = (try body.word(), try body.text())
        let role = ClusterRole(code: try body.word())
        nodes.append(ClusterMember(id: id, address: address, role: role))
      }
      self = .nodes(nodes)
    case 4: self = .database
    case 5:
      let word = try body.word()
      self = .statement(
        id: UInt32(truncatingIfNeeded: word >> 32), parameters: Int(truncatingIfNeeded: try body.word()))
    case 6:
      let id = Int64(bitPattern: try body.word())
      self = .result(lastInsertedId: id, changes: Int(truncatingIfNeeded: try body.word()))
    case 7: self = try WireResponse.rows(&body)
    case 8: self = .empty
    case 9:
      let count = try body.word()
      var files: [WireFile] = []
      for _ in 0..<count { files.append(WireFile(name: try body.text(), bytes: try body.bytes())) }
      self = .files(files)
    case 10: self = .metadata(failureDomain: try body.word(), weight: try body.word())
    default: throw SqlError.wire("a response of type \(type)")
    }
  }

  /// Parses the code and the message at the end of the body. If a query fails during execution, columns and rows can
  /// precede the code.
  ///
  /// The search for the code skips the message's last 8-byte word, and goes backwards to a word with a NUL byte. That
  /// word is the code: a code is small, so its word always contains a NUL byte. The message has NUL bytes only in its
  /// last word.
  private static func failure(_ body: inout ByteBuffer) throws -> WireResponse {
    var code = body.writerIndex - 16
    while code > body.readerIndex, body.getBytes(at: code, length: 8)?.contains(0) == false { code -= 8 }
    guard code >= body.readerIndex else { throw SqlError.wire("a truncated message") }
    body.moveReaderIndex(to: code)
    return .failure(code: Int(truncatingIfNeeded: try body.word()), message: try body.text())
  }

  private static func rows(_ body: inout ByteBuffer) throws -> WireResponse {
    let count = Int(truncatingIfNeeded: try body.word())
    // SQLite's own limit is 32,767 columns.
    guard 1...32_767 ~= count else { throw SqlError.wire("a result of \(count) columns") }
    var answer = SqlAnswer(columns: try (0..<count).map { _ in try body.text() })
    let headerWords = (count + 15) / 16
    while true {
      let first = try body.word()
      if first == .max { return .rows(answer, isLast: true) }
      if first == 0xEEEE_EEEE_EEEE_EEEE { return .rows(answer, isLast: false) }
      var header = [first]
      for _ in 1..<headerWords { header.append(try body.word()) }
      let row = try (0..<count).map { column in
        let type = try WireType(header[column / 16] >> (UInt64(column % 16) * 4) & 15)
        let value = try body.value(type, of: answer.columns[column])
        if type.isText, case .blob = value { answer.invalidTexts.insert(answer.rows.count * count + column) }
        return value
      }
      answer.rows.append(row)
    }
  }
}

struct WireFile: Sendable {
  let name: String
  let bytes: ByteBuffer
}

private enum WireType: UInt64 {
  case integer = 1
  case real = 2
  case text = 3
  case blob = 4
  case null = 5
  /// An integer in a column that is declared as DATE, DATETIME or TIMESTAMP.
  case unixTime = 9
  /// A text or NULL in a column that is declared as DATE, DATETIME or TIMESTAMP.
  case dateText = 10
  /// An integer or NULL in a column that is declared as BOOLEAN.
  case boolean = 11

  var isText: Bool { self == .text || self == .dateText }

  init(_ code: UInt64) throws {
    guard let type = WireType(rawValue: code) else { throw SqlError.wire("a value of unknown type \(code)") }
    self = type
  }
}

extension ByteBuffer {
  fileprivate mutating func word() throws -> UInt64 {
    guard let word = readInteger(endianness: .little, as: UInt64.self) else {
      throw SqlError.wire("a truncated message")
    }
    return word
  }

  fileprivate mutating func text() throws -> String {
    guard case .text(let text) = try textOrBytes() else {
      throw SqlError.decoding(expected: "TEXT", found: "TEXT that is not UTF-8")
    }
    return text
  }

  /// Returns a text, or the bytes of a text that is not UTF-8. An error would lose all rows of the answer.
  private mutating func textOrBytes() throws -> DatabaseValue {
    guard let length = readableBytesView.firstIndex(of: 0).map({ $0 - readerIndex }) else {
      throw SqlError.wire("a text without a terminating NUL byte")
    }
    let text = (try? readUTF8ValidatedString(length: length)).flatMap { $0 }.map(DatabaseValue.text)
    let value = text ?? .blob(Data(readBytes(length: length) ?? []))
    moveReaderIndex(forwardBy: min(8 - length & 7, readableBytes))
    return value
  }

  fileprivate mutating func bytes() throws -> ByteBuffer {
    let length = Int(truncatingIfNeeded: try word())
    guard 0...readableBytes ~= length, let bytes = readSlice(length: length) else {
      throw SqlError.wire("a truncated message")
    }
    moveReaderIndex(forwardBy: min((8 - length & 7) & 7, readableBytes))
    return bytes
  }

  fileprivate mutating func value(_ type: WireType, of column: String) throws -> DatabaseValue {
    switch type {
    case .integer, .unixTime: return .integer(Int64(bitPattern: try word()))
    case .real: return .real(Double(bitPattern: try word()))
    case .text: return try textOrBytes()
    case .null:
      _ = try word()
      return .null
    case .blob: return .blob(Data(try bytes().readableBytesView))
    case .boolean:
      let integer = Int64(bitPattern: try word())
      guard integer != 0 else { throw SqlError.ambiguous("0 or NULL", "BOOLEAN", column) }
      return .integer(integer)
    case .dateText:
      let text = try textOrBytes()
      guard text != .text("") else { throw SqlError.ambiguous("'' or NULL", "DATETIME", column) }
      return text
    }
  }
}

extension SqlError {
  static func wire(_ problem: String) -> SqlError {
    SqlError(.io, message: "the node does not speak dqlite: \(problem)")
  }

  /// Returns the error for a value that dqlite reports in the same way as NULL.
  fileprivate static func ambiguous(_ values: String, _ type: String, _ column: String) -> SqlError {
    SqlError(
      .decoding(.init(expected: "a value", found: values)),
      message:
        "the value is ambiguous (\(values)): dqlite returns the same result for both in a column declared as "
        + "\(type); select the term +\(column.quotedName) instead",
      column: column)
  }
}
#endif
