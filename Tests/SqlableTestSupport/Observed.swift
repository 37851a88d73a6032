import Foundation
import SqlableCore

/// Tables with every form of key. SQL writes their rows, so the structs have no properties.
enum Observed {
  protocol Model: Sqlable {
    init()
  }

  /// An integer key, which is the rowid.
  struct Note: Model {
    static let id = Column("id", .integer, PrimaryKey())
    static let text = Column("text", .nullable(.text), Unique())
    static let tableLayout = [id, text]
  }

  /// A text key and a rowid.
  struct Country: Model {
    static let code = Column("code", .text, PrimaryKey())
    static let name = Column("name", .nullable(.text))
    static let tableLayout = [code, name]
  }

  /// A composite key and no rowid. The key's order differs from the order of the columns.
  struct Seat: Model {
    static let holder = Column("holder", .nullable(.text), Unique())
    static let number = Column("number", .integer)
    static let row = Column("row", .text)
    static let tableLayout = [holder, number, row]
    static let tableConstraints: [TableConstraint] = [PrimaryKeys(row, number)]
    static let tableOptions: [TableOption] = [.withoutRowid]
  }

  /// An integer key and no rowid.
  struct Slot: Model {
    static let text = Column("text", .nullable(.text))
    static let id = Column("id", .integer, PrimaryKey())
    static let tableLayout = [text, id]
    static let tableOptions: [TableOption] = [.withoutRowid]
  }

  /// A text key and no rowid.
  struct Tag: Model {
    static let weight = Column("weight", .nullable(.integer))
    static let label = Column("label", .text, PrimaryKey())
    static let tableLayout = [weight, label]
    static let tableOptions: [TableOption] = [.withoutRowid]
  }

  /// Calls `body` on `count` threads at once, waits for all of them and returns their errors.
  static func threads(_ count: Int, _ body: @escaping @Sendable (_ index: Int) throws -> Void) -> [any Error] {
    let group = DispatchGroup()
    let errors = Mutex<[any Error]>([])
    for index in 0..<count {
      group.enter()
      Thread {
        do { try body(index) } catch { errors.withLock { $0.append(error) } }
        group.leave()
      }.start()
    }
    group.wait()
    return errors.withLock { $0 }
  }
}

extension Observed.Model {
  init(row: ReadRow) throws { self.init() }
}

/// A log of the changes that observers receive.
final class EventLog: Sendable {
  private let lines = Collected<String>()

  func add(_ line: String) { lines.append(line) }

  /// Removes and returns the lines since the last call.
  func take() -> [String] { lines.take() }

  /// Logs the changes of an observer, for example `update country fr→de`.
  @discardableResult
  func listen<Model: Sqlable>(
    to db: SqliteDatabase, _ change: Change? = nil, on model: Model.Type, id: (any SqlValue)? = nil,
    as name: String = ""
  ) -> ObserverToken {
    db.observe(change, on: model, id: id) { (row: RowChange) in self.add(name + EventLog.line(row)) }
  }

  /// Logs the calls of `didUpdate`, for example `update note 3`.
  func listenToAll(of db: SqliteDatabase) {
    db.didUpdate = { table, id, change in self.add("\(change) \(table) \(id)") }
  }

  static func line(_ row: RowChange) -> String {
    func text(_ key: [DatabaseValue], _ id: Int) -> String {
      key.isEmpty ? "\(id)" : key.map(text).joined(separator: ",")
    }
    func text(_ value: DatabaseValue) -> String {
      switch value {
      case .null: "NULL"
      case .integer(let value): "\(value)"
      case .real(let value): "\(value)"
      case .text(let value): value
      case .blob(let value): "blob(\(value.count))"
      }
    }
    let now = text(row.key, row.id)
    let before = text(row.previousKey, row.previousId)
    return "\(row.change) \(row.table) " + (before == now ? now : "\(before)→\(now)")
  }
}
