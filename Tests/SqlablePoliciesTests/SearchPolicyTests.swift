import Foundation
import SqlableCore
import SqlableDocuments
import SqlablePolicies
import SqlableQueries
import SqlableSchema
import Testing

@testable import SqlableTestSupport

/// Full-text searches under a policy that shows some rows of the table.
@Suite struct SearchPolicyTests {
  private func found(
    _ query: Select<Essay>, in db: SqliteDatabase, _ hidden: SqlExpression = Essay.filmId == 3
  ) throws -> [Int?] {
    let policy = StatementPolicy(
      .table(Essay.self).readingAll().filtering(Essay.text, by: .pattern).filtering(Essay.filmId, by: .equality)
        .sorting(Essay.filmId).rows(where: hidden), features: [.fullText, .joins, .subqueries])
    let allowed = try policy.statement(Select<Essay>.self, json: query.json())
    return try allowed.limited(by: policy).run(db).map(\.id)
  }

  @Test(.needsFullText) func aSearchFindsTheRowsOfThePolicyOnly() throws {
    try withEssays { db throws in
      let night = Essay.search(.words("night"))
      #expect(try night.run(db).map(\.id).count == 2)
      #expect(try found(night, in: db) == [2])
      #expect(try found(Essay.search(.words("night"), weights: [Essay.text: 3]), in: db) == [2])
      #expect(try found(night.filter(Essay.text.like("%train%")), in: db) == [2])
      #expect(try found(night.filter(Essay.text.like("%train%") && Essay.filmId == 3), in: db) == [2])
      #expect(try found(night.filter(Essay.text.like("%harbour%")), in: db) == [])
      #expect(try found(Essay.search(.words("harbour")), in: db) == [])
      #expect(try found(Essay.read().asSelect().filter(Essay.matches(.words("night"))), in: db) == [2])
    }
  }

  /// After a left join without a match, `matches` is `NULL IN (SELECT …)`: NULL only if some row matches.
  @Test(.needsFullText) func matchesRevealsNoWordsOfHiddenRows() throws {
    try withEssays { db throws in
      let policy = StatementPolicy(
        .table(Essay.self).readingAll().filtering(Essay.id, Essay.filmId, by: .equality)
          .filtering(Essay.text, by: .pattern).rows(where: Essay.filmId == 3), features: [.fullText, .joins])
      func answer(_ word: String) throws -> [[DatabaseValue]] {
        let read =
          #"{"sqlable":1,"read":{"from":[{"table":"essay","as":"a"},{"table":"essay","as":"b","join":"left","on":0}],"#
          + #""select":[{"column":"id","of":"a"}],"where":{"isNull":{"matches":"essay","of":"b","for":"\#(word)"}}}}"#
        let statement = try policy.statement(AnyStatement.self, json: Data(read.utf8))
        guard case .rows(let rows) = try statement.limited(by: policy).run(db) else { throw CancellationError() }
        return rows.map { $0.values }
      }
      // "harbour" occurs in hidden rows only, "zebra" in no row.
      let (hidden, unknown) = try (answer("harbour"), answer("zebra"))
      #expect(hidden == unknown)
      #expect(!hidden.isEmpty)
    }
  }

  @Test(.needsFullText) func otherConditionsOfASearchSeeOnlyThePolicysRows() throws {
    try withEssays { db throws in
      let policy = StatementPolicy(
        .table(Essay.self).readingAll().filtering(Essay.text, by: .pattern, .equality).rows(where: Essay.filmId == 3),
        features: [.fullText, .json])
      let query = Essay.search(.words("night")).filter(Essay.text.json() == "1" || Essay.text.like("%train%"))
      let allowed = try policy.statement(Select<Essay>.self, json: query.json())
      #expect(
        allowed.sql.contains(
          #"WHERE "essay"."film_id" = (VALUES (?)) AND "essay_fulltext"."essay_fulltext" MATCH ? AND CASE WHEN "#
        ), "\(allowed.sql)")
    }
  }
}
