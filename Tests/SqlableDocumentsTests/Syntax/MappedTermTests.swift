import SqlableDocuments
import Testing

@testable import SqlableCore
@testable import SqlableDocumentsTestSupport
@testable import SqlableTestSupport

@Suite struct MappedTermTests {
  private struct Refused: Error {}

  /// A counter that throws at the term or query with the given number.
  private final class Countdown {
    var rest: Int
    init(_ rest: Int) { self.rest = rest }

    func step() throws {
      rest -= 1
      if rest < 0 { throw Refused() }
    }

    func term(_ term: SqlExpression) throws -> SqlExpression {
      try step()
      return try term.mapped({ try self.term($0) }, { try self.query($0) })
    }

    func query(_ query: SelectQuery) throws -> SelectQuery {
      try step()
      var query = query
      try query.clauses.mapTerms({ try self.term($0) }, { try self.query($0) })
      return query
    }

    func tree(_ tree: StatementTree) throws {
      switch tree {
      case .select(let query): _ = try self.query(query)
      case .insert(let query): _ = try query.rest.value.source.map { try self.query($0) }
      case .update(let query):
        for assignment in query.rest.value.assignments { _ = try term(assignment.value) }
        _ = try query.selection.filter.map { try term($0) }
      case .delete(let query): _ = try query.selection.filter.map { try term($0) }
      }
    }
  }

  @Test func anErrorAtAnyTermEndsTheWalk() throws {
    var walks = 0
    for document in try StatementCorpus.all() {
      let tree = document.erased.decoded.tree
      var place = 0
      while true {
        let countdown = Countdown(place)
        do {
          try countdown.tree(tree)
          break
        } catch is Refused {
          #expect(countdown.rest == -1)
        }
        (place, walks) = (place + 1, walks + 1)
      }
    }
    #expect(walks > 1000)
  }
}
