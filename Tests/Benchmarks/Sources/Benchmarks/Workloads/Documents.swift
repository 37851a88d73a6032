import Foundation
import Sqlable

extension Suite {
  /// Statements as data: what an endpoint does with the body of a request.
  var statementsAsData: [Workload] {
    let small = fixture.scaled(5_000)
    return [
      workload("D1", "documents of 20 terms, read and checked", operations: small) { try reading(small) },
      workload("D2", "statements of 20 terms, written as documents", operations: small) { try writing(small) },
      workload("D3", "rows by key, within a policy's limits", operations: small) { try limited(small) },
    ]
  }

  /// 20 terms: six comparisons of two terms each, an OR of three of them, and an AND.
  private var search: Statement<Book, [Book]> {
    Book.read().filter(
      Book.pages > 100 && Book.pages < 900 && Book.title != "x"
        && (Book.authorId == 1 || Book.authorId == 2 || Book.authorId == 3)
    ).orderBy(Book.id).limit(20)
  }

  private var policy: StatementPolicy {
    StatementPolicy(
      .table(Book.self).readingAll().filtering(
        Book.id, Book.pages, Book.title, Book.authorId, by: .equality, .comparison
      ).sorting(Book.id))
  }

  private func reading(_ count: Int) throws -> [Workload.Contender] {
    let data = try search.json()
    let policy = policy
    func digest(_ read: () throws -> Statement<Book, [Book]>) throws -> UInt64 {
      var digest: UInt64 = 0
      for _ in 0..<count { digest &+= try read().kind == .read ? 1 : 0 }
      return digest
    }
    return [
      .init("Foundation's decoder") {
        let decoder = JSONDecoder()
        return try digest { try decoder.decode(Statement<Book, [Book]>.self, from: data) }
      },
      .init(Name.sqlable) { try digest { try Statement<Book, [Book]>(json: data) } },
      .init(Name.sqlable + " policy") {
        try digest { try policy.statement(Statement<Book, [Book]>.self, json: data) }
      },
    ]
  }

  private func writing(_ count: Int) throws -> [Workload.Contender] {
    let search = search
    return [
      .init("Foundation's encoder") {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try (0..<count).reduce(0) { sum, _ in sum &+ UInt64(try encoder.encode(search).count) }
      },
      .init(Name.sqlable) { try (0..<count).reduce(0) { sum, _ in sum &+ UInt64(try search.json().count) } },
    ]
  }

  private func limited(_ count: Int) throws -> [Workload.Contender] {
    let (db, keys) = (fixture.db, fixture.keys(count))
    let policy = StatementPolicy(.table(Typed.self).readingAll().filtering(Typed.id, by: .equality))
    func digest(_ run: (Statement<Typed, [Typed]>) throws -> [Typed]) throws -> UInt64 {
      try keys.reduce(0) { sum, key in
        sum &+ (try run(Typed.read().filter(Typed.id == key)).first?.digest ?? 0)
      }
    }
    return [
      .init("without limits") { try digest { try $0.run(db) } },
      .init(Name.sqlable + " limits") { try digest { try $0.limited(by: policy.limits).run(db) } },
      .init(Name.sqlable + " policy") { try digest { try $0.limited(by: policy).run(db) } },
    ]
  }
}
