#if Cluster
import Sqlable
import NIOCore

/// A request of dqlite's wire protocol, version 1.
///
/// A message has a header of eight bytes and a body. The header contains the body's length in words of eight bytes, the
/// type and the schema. Integers are little-endian, and all fields are aligned to words.
enum WireRequest: Sendable {
  case leader
  /// Opens a database. Each connection has at most one open database.
  case open(database: String)
  case prepare(sql: String)
  case finalize(statement: UInt32)
  /// Runs a compiled statement that returns no rows.
  case execute(statement: UInt32, values: [DatabaseValue])
  case query(statement: UInt32, values: [DatabaseValue])
  /// Compiles and runs a statement that returns no rows.
  case executeSQL(String, values: [DatabaseValue])
  case querySQL(String, values: [DatabaseValue])
  /// Adds a node, as a spare.
  case add(id: UInt64, address: String)
  case assign(id: UInt64, role: ClusterRole)
  case remove(id: UInt64)
  case dump(database: String)
  case nodes
  case transfer(id: UInt64)
  /// Requests the node's failure domain and weight.
  case describe

  /// The maximum number of parameter values of a statement. The protocol stores the count in one byte.
  static let maximumValues = 255

  private var type: UInt8 {
    switch self {
    case .leader: 0
    case .open: 3
    case .prepare: 4
    case .execute: 5
    case .query: 6
    case .finalize: 7
    case .executeSQL: 8
    case .querySQL: 9
    case .add: 12
    case .assign: 13
    case .remove: 14
    case .dump: 15
    case .nodes: 16
    case .transfer: 17
    case .describe: 18
    }
  }

  func write(to buffer: inout ByteBuffer) throws {
    let start = buffer.writerIndex
    buffer.writeRepeatingByte(0, count: 8)
    do { try writeBody(to: &buffer) } catch {
      buffer.moveWriterIndex(to: start)
      throw error
    }
    let words = (buffer.writerIndex - start) / 8 - 1
    buffer.setInteger(UInt32(words), at: start, endianness: .little)
    buffer.setInteger(type, at: start + 4)
  }

  private func writeBody(to buffer: inout ByteBuffer) throws {
    switch self {
    case .leader, .describe: buffer.writeWord(0)
    case .nodes: buffer.writeWord(1)
    case .open(let database):
      try buffer.writeText(database)
      buffer.writeWord(0)
      try buffer.writeText("volatile")
    case .dump(let database): try buffer.writeText(database)
    case .prepare(let sql):
      buffer.writeWord(0)
      try buffer.writeText(sql)
    case .execute(let statement, let values), .query(let statement, let values):
      buffer.writeWord(UInt64(statement) << 32)
      try buffer.writeValues(values)
    case .finalize(let statement): buffer.writeWord(UInt64(statement) << 32)
    case .executeSQL(let sql, let values), .querySQL(let sql, let values):
      buffer.writeWord(0)
      try buffer.writeText(sql)
      try buffer.writeValues(values)
    case .add(let id, let address):
      buffer.writeWord(id)
      try buffer.writeText(address)
    case .assign(let id, let role):
      buffer.writeWord(id)
      buffer.writeWord(role.code)
    case .remove(let id), .transfer(let id): buffer.writeWord(id)
    }
  }
}

extension ByteBuffer {
  mutating func writeWord(_ word: UInt64) { writeInteger(word, endianness: .little) }

  private mutating func pad() {
    let rest = writerIndex & 7
    if rest != 0 { writeRepeatingByte(0, count: 8 - rest) }
  }

  fileprivate mutating func writeText(_ text: String) throws {
    guard !text.utf8.contains(0) else {
      throw SqlError.encoding(expected: "TEXT", found: "TEXT with U+0000, at which dqlite would truncate the text")
    }
    writeString(text)
    writeInteger(UInt8(0))
    pad()
  }

  /// Writes a statement's values: the count, one type byte per value, then the values. Writes nothing if the statement
  /// has no values.
  fileprivate mutating func writeValues(_ values: [DatabaseValue]) throws {
    guard !values.isEmpty else { return }
    guard values.count <= WireRequest.maximumValues else {
      throw SqlError.invalidStatement(
        "the statement binds \(values.count) values, but dqlite allows at most \(WireRequest.maximumValues); bind a "
          + "list of any "
          + "length as one value: IN (SELECT value FROM json_each(\\(json: values)))")
    }
    writeInteger(UInt8(values.count))
    for value in values { writeInteger(UInt8(value.storageClass.rawValue)) }
    pad()
    for value in values {
      switch try value.checked() {
      case .null: writeWord(0)
      case .integer(let integer): writeInteger(integer, endianness: .little)
      case .real(let real): writeWord(real.bitPattern)
      case .text(let text): try writeText(text)
      case .blob(let data):
        writeWord(UInt64(data.count))
        writeBytes(data)
        pad()
      }
    }
  }
}
#endif
