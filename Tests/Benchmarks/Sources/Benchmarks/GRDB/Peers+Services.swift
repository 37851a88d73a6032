#if GRDB
import Foundation
import GRDB

extension Peers {
  func pages() throws -> [Contender] {
    let queue = try reader()
    let names = fixture.keys(count).map { MixedRow.name(of: $0) }
    func paging(_ name: String, _ one: @escaping (Database, String) throws -> UInt64) -> Contender {
      Contender(name) { try names.reduce(0) { sum, name in sum &+ (try queue.read { try one($0, name) }) } }
    }
    func page<Record: TableRecord>(_ record: Record.Type, after name: String) -> QueryInterfaceRequest<Record> {
      Record.filter(Column("name") > name).order(Column("name")).limit(20)
    }
    return [
      paging(Name.grdbIndex) { try page(ByIndex<RealDates>.self, after: $1).fetchAll($0).digest() },
      paging(Name.grdbName) { try page(ByName<RealDates>.self, after: $1).fetchAll($0).digest() },
      paging(Name.grdbCodable) { try page(ByCodable<RealDates>.self, after: $1).fetchAll($0).digest() },
      paging(Name.grdbCached) { db, name in
        let sql = "SELECT \(Peers.columns) FROM mixed WHERE name > ? ORDER BY name LIMIT ?"
        return try ByIndex<RealDates>.fetchAll(db.cachedStatement(sql: sql), arguments: [name, 20]).digest()
      },
    ]
  }

  func joins() throws -> [Contender] {
    let queue = try reader()
    let members = (0..<count).map { ($0 &* 7919) % fixture.members }
    func joining(_ name: String, _ one: @escaping (Database, Int) throws -> UInt64) -> Contender {
      Contender(name) { try members.reduce(0) { sum, member in sum &+ (try queue.read { try one($0, member) }) } }
    }
    return [
      joining(Name.grdbIndex) { try LoanByIndex.fetchAll($0, sql: Loan.grdbSQL, arguments: [$1]).digest() },
      joining(Name.grdbName) { try LoanByName.fetchAll($0, sql: Loan.grdbSQL, arguments: [$1]).digest() },
      joining(Name.grdbCodable) { try Loan.fetchAll($0, sql: Loan.grdbSQL, arguments: [$1]).digest() },
      joining(Name.grdbCached) {
        try LoanByIndex.fetchAll($0.cachedStatement(sql: Loan.grdbSQL), arguments: [$1]).digest()
      },
    ]
  }

  func documents() throws -> [Contender] {
    let queue = try reader()
    return [Contender(Name.grdbCodable) { try queue.read { try DocumentRow.fetchAll($0).digest() } }]
  }

  func inLists() throws -> [Contender] {
    let queue = try reader()
    let ids = fixture.keys(1_000 * count)
    let lists = (0..<count).map { Array(ids[$0 * 1_000..<($0 + 1) * 1_000]) }
    func listing(_ name: String, _ one: @escaping (Database, [Int]) throws -> UInt64) -> Contender {
      Contender(name) { try lists.reduce(0) { sum, list in sum &+ (try queue.read { try one($0, list) }) } }
    }
    let marks = databaseQuestionMarks(count: 1_000)
    return [
      listing(Name.grdbIndex) { try ByIndex<RealDates>.fetchAll($0, keys: $1).digest() },
      listing(Name.grdbName) { try ByName<RealDates>.fetchAll($0, keys: $1).digest() },
      listing(Name.grdbCodable) { try ByCodable<RealDates>.fetchAll($0, keys: $1).digest() },
      listing(Name.grdbCached) { db, list in
        let statement = try db.cachedStatement(sql: "SELECT \(Peers.columns) FROM mixed WHERE id IN (\(marks))")
        return try ByIndex<RealDates>.fetchAll(statement, arguments: StatementArguments(list)).digest()
      },
    ]
  }

  // MARK: - Statements

  func opens() -> [Contender] {
    let path = fixture.path
    let ids = fixture.keys(count)
    return [
      Contender(Name.grdbIndex) {
        try ids.reduce(0) { sum, id in
          let queue = try DatabaseQueue(path: path, configuration: Peers.configuration)
          let digest = try queue.read { try ByIndex<RealDates>.fetchOne($0, key: id)?.digest ?? 0 }
          try queue.close()
          return sum &+ digest
        }
      }
    ]
  }

  func coldStatements() throws -> [Contender] {
    let queue = try reader()
    func cold(_ name: String, _ one: @escaping (Database, ColdFilter) throws -> UInt64) -> Contender {
      let all = ColdFilter.all
      let start = Box(0)
      return Contender(
        name, tearDown: { [count] in start.value = (start.value + count) % (all.count - count) },
        run: { [count] in
          try queue.read { db in
            try all[start.value..<start.value + count].reduce(0) { $0 &+ (try one(db, $1)) }
          }
        })
    }
    return [
      cold(Name.grdbIndex) { db, filter in
        let terms = filter.terms.map { Peers.expression($0) }
        let filter = terms[0] && terms[1] && terms[2] && terms[3]
        return try ByIndex<RealDates>.filter(filter).limit(1).fetchOne(db)?.digest ?? 0
      },
      cold(Name.grdb + " SQL") { db, filter in
        var arguments = StatementArguments()
        for term in filter.terms {
          switch ColdFilter.value(of: term) {
          case .integer(let value): arguments += [value]
          case .real(let value): arguments += [value]
          }
        }
        arguments += [1]
        return try ByIndex<RealDates>.fetchOne(db, sql: filter.sql, arguments: arguments)?.digest ?? 0
      },
    ]
  }

  private static func expression(_ term: Int) -> SQLExpression {
    let column = Column(["id", "price", "at"][term / 5])
    func compare(_ value: some SQLExpressible) -> SQLExpression {
      switch term % 5 {
      case 0: column > value
      case 1: column >= value
      case 2: column != value
      case 3: column < value
      default: column <= value
      }
    }
    return switch ColdFilter.value(of: term) {
    case .integer(let value): compare(value)
    case .real(let value): compare(value)
    }
  }
}
#endif
