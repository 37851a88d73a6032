import Foundation
import SqlableCore
import SqlableDocuments
import SqlablePolicies

// Tests/Fuzzing has this file and what it uses in one target.
#if canImport(SqlableTestSupport) && !RECORD
@testable import SqlableTestSupport
#endif

/// A trial of documents from outside: reads a document with and without policies, writes, renders, prepares and runs
/// it, and reports a problem.
///
/// Every document runs in two databases that differ only in rows and columns that the policies hide. Each database also
/// has a table `secret`, which no rule allows.
final class DocumentTrial {
  static let models: [any Sqlable.Type] = [
    Person.self, Bicycle.self, Car.self, Seat.self, Worker.self, Story.self, Memo.self, Account.self, Payment.self,
    Hostile.self,
  ]
  static let rules = StatementRules(models: models, tables: ["archive"])
  /// The limits that stop a runaway query, as a server would. A stopped query is no failure.
  private static let limits = {
    var limits = StatementPolicy.Limits()
    (limits.steps, limits.time, limits.valueBytes, limits.scannedRows) = (300_000, .seconds(5), 1_000_000, nil)
    return limits
  }()

  private let databases: [SqliteDatabase]
  private let policies: [Policy]
  /// The root pages of the tables that the rules allow.
  private let allowed: Set<Int>
  private let decoder = JSONDecoder()
  /// The number of documents read without a policy, of documents read under a policy, and of runs that were stopped.
  private(set) var (accepted, permitted, stopped) = (0, 0, 0)

  private struct Policy {
    let policy: StatementPolicy
    let allowed: Set<Int>
  }

  /// Creates the databases. `heapLimit` is SQLite's heap limit in this process, in bytes. `difference` is a change of
  /// the second database alone, which the trial must find if a policy shows it.
  init(heapLimit: Int? = nil, difference: SQL? = nil) throws {
    databases = try [1, 2].map { try DocumentTrial.database(hidden: $0) }
    if let difference { try databases[1].execute(difference) }
    let roots = try DocumentTrial.roots(databases[0])
    // SQLite stores the counters of AUTOINCREMENT in sqlite_sequence.
    func tables(_ names: [String]) -> Set<Int> { Set((names + ["sqlite_sequence"]).flatMap { roots[$0] ?? [] }) }
    allowed = tables(DocumentTrial.models.map { $0.tableName } + ["archive"])
    policies = DocumentTrial.policies.map { Policy(policy: $0, allowed: tables($1)) }
    decoder.userInfo[.statementRules] = DocumentTrial.rules
    if let heapLimit { try databases[0].execute(SQL(verbatim: "PRAGMA hard_heap_limit = \(heapLimit)")) }
  }

  // MARK: One document

  /// Reads a document without a policy.
  func decoded(_ bytes: UnsafeRawBufferPointer) -> Result<AnyStatement, any Error> {
    Result { try AnyStatement(json: bytes, rules: DocumentTrial.rules) }
  }

  /// Returns the problem that a document causes, or nil.
  func problem(_ bytes: UnsafeRawBufferPointer, _ decoded: Result<AnyStatement, any Error>) -> String? {
    switch decoded {
    case .failure(let error):
      if let problem = problem(refusal: error) { return problem }
      // A policy must refuse the document too. This slow check runs for some of the documents.
      guard bytes.count.isMultiple(of: 8) else { return nil }
    case .success(let statement):
      accepted += 1
      if let problem = problem(writing: statement) { return problem }
      if bytes.count.isMultiple(of: 4), let problem = problem(typed: statement, bytes) { return problem }
      if bytes.count % 16 == 1, let problem = problem(coding: statement) { return problem }
      if case .problem(let problem) = run(statement, statement.limited(by: DocumentTrial.limits), databases[0], allowed)
      {
        return problem
      }
    }
    for policy in policies {
      let statement: AnyStatement
      do { statement = try policy.policy.statement(json: bytes) } catch {
        if let problem = problem(refusal: error) { return "by a policy: \(problem)" }
        continue
      }
      permitted += 1
      guard case .success = decoded else { return "a policy allows what is no statement: \(statement.sql)" }
      if let problem = problem(permitted: statement, policy) { return "by a policy: \(problem)\n\(statement.sql)" }
    }
    return nil
  }

  private func problem(refusal error: any Error) -> String? {
    switch (error as? SqlError)?.kind {
    // misuse: an update of a struct without a key.
    case .invalidStatement, .schema, .encoding, .misuse: nil
    default: "reading it threw \(error)"
    }
  }

  /// Checks that the statement's document decodes as the same statement.
  private func problem(writing statement: AnyStatement) -> String? {
    do {
      let json = try statement.json()
      let again = try AnyStatement(json: json, rules: DocumentTrial.rules)
      guard again == statement, again.hashValue == statement.hashValue else { return "it is read as another statement" }
      guard try again.json() == json else { return "it is written as \(String(decoding: json, as: UTF8.self))" }
      guard again.sql == statement.sql else { return "it has other SQL when read again: \(again.sql)" }
      return nil
    } catch { return "writing it threw \(error)" }
  }

  /// Checks that Foundation's coders decode the same statement.
  private func problem(coding statement: AnyStatement) -> String? {
    do {
      let again = try decoder.decode(AnyStatement.self, from: JSONEncoder().encode(statement))
      return again == statement ? nil : "Foundation's coders make another statement of it"
    } catch { return "Foundation's coders threw \(error)" }
  }

  /// Checks that every type that accepts the document renders the same SQL.
  private func problem(typed statement: AnyStatement, _ bytes: UnsafeRawBufferPointer) -> String? {
    let rules = DocumentTrial.rules
    func check<Work: Runnable>(_ read: () throws -> Work) -> String? {
      do {
        let work = try read()
        return work.sql == statement.sql ? nil : "as \(Work.self) it is \(work.sql)"
      } catch { return problem(refusal: error) }
    }
    switch statement.kind {
    case .read:
      return check { try Select<DynamicRow>(json: bytes, rules: rules) }
        ?? check { try Select<(String, Double)>(json: bytes, rules: rules) }
        ?? check { try Statement<Bicycle, [Bicycle]>(json: bytes, rules: rules) }
    case .first: return check { try Statement<Bicycle, Bicycle?>(json: bytes, rules: rules) }
    case .exists: return check { try Statement<Bicycle, Bool>(json: bytes, rules: rules) }
    case .count: return check { try Statement<Bicycle, Int>(json: bytes, rules: rules) }
    case .insert, .save, .update, .updateAll, .delete, .deleteAll:
      return check { try Statement<Bicycle, Int>(json: bytes, rules: rules) }
        ?? check { try Statement<Bicycle, [Int]>(json: bytes, rules: rules) }
        ?? check { try Returning<Bicycle, DynamicRow>(json: bytes, rules: rules) }
        ?? check { try ReturningStatement<Bicycle, [Bicycle]>(json: bytes, rules: rules).statement }
    }
  }

  // MARK: Running

  private enum Answer: Equatable {
    case output(AnyStatement.Output)
    case error(String)
    /// The run took too long or used too much memory.
    case stopped
    case problem(String)
  }

  private struct Undone: Error {}

  /// Runs a statement within limits, returns the answer and rolls the changes back.
  private func run(
    _ statement: AnyStatement, _ limited: LimitedQuery<AnyStatement>, _ db: SqliteDatabase, _ allowed: Set<Int>,
    hidden: String? = nil
  ) -> Answer {
    var answer = Answer.stopped
    let changes: SQL = "SELECT total_changes()"
    do {
      try db.transaction { db in
        guard try tables(of: statement, db).isSubset(of: allowed) else {
          answer = .problem("it uses another table: \(statement.sql)")
          throw Undone()
        }
        let before = try hidden.map { try db.query(SQL(verbatim: $0), as: String?.self) }
        let count = try db.query(changes, as: Int.self)
        answer = .output(try limited.run(db))
        if let hidden, try db.query(SQL(verbatim: hidden), as: String?.self) != before {
          answer = .problem("it changes what is hidden: \(statement.sql)")
        }
        if statement.isReadOnly, try db.query(changes, as: Int.self) != count {
          answer = .problem("it is no read: \(statement.sql)")
        }
        throw Undone()
      }
    } catch let error as SqlError {
      switch error.kind {
      case .timeout, .outOfMemory, .tooBig:
        stopped += 1
        return .stopped
      // A full-text search has a separate query language.
      case .syntax where error.message.hasPrefix("fts5: "): return .error(error.message)
      case .misuse where error.message.hasPrefix("parameter "): return .error(error.message)
      // A pattern from a row.
      case .invalidStatement where error.message.hasPrefix("the regular expression is "): return .error(error.message)
      // SQLite refuses a misplaced aggregate, an unknown collation or, in an older version, a later feature. The
      // decoder does not know these.
      case .misuse where error.extendedCode != 0, .invalidStatement where error.extendedCode != 0:
        return .error(error.message)
      case .invalidStatement, .readOnly, .syntax, .misuse, .corrupt, .io, .full, .busy, .handleLost, .notADatabase:
        return .problem("running it threw \(error): \(statement.sql)")
      default: return .error(error.message)
      }
    } catch is Undone {} catch { return .problem("running it threw \(error): \(statement.sql)") }
    return answer
  }

  private func problem(permitted statement: AnyStatement, _ policy: Policy) -> String? {
    let isReadOnly = statement.isReadOnly
    let hidden = isReadOnly ? nil : DocumentTrial.hidden
    func differs() -> String? {
      let limited = statement.limited(by: policy.policy)
      let answers = databases.map { run(statement, limited, $0, policy.allowed, hidden: hidden) }
      for case .problem(let problem) in answers { return problem }
      // An update's answer may differ: it may conflict with a hidden row.
      guard isReadOnly, !answers.contains(.stopped), answers[0] != answers[1] else { return nil }
      return "its answer depends on what is hidden: \(answers)"
    }
    // An answer that depends on the time may differ once, so the check repeats.
    guard let problem = differs() else { return nil }
    return differs().flatMap { _ in differs() }.map { _ in problem }
  }

  /// Returns the root pages of the tables and indexes that a statement opens.
  private func tables(of statement: AnyStatement, _ db: SqliteDatabase) throws -> Set<Int> {
    // An insert of no rows has only a comment as its SQL.
    if statement.sql.hasPrefix("-- ") { return [] }
    var text = SQL.StringInterpolation(literalCapacity: 0, interpolationCount: 0)
    text.appendLiteral("EXPLAIN ")
    var quote: Character?
    var literal = ""
    for scalar in statement.sql.unicodeScalars {
      let character = Character(scalar)
      if quote == nil, character == "?" {
        text.appendLiteral(literal)
        text.appendInterpolation(DatabaseValue.null)
        literal = ""
        continue
      }
      if character == quote { quote = nil } else if quote == nil, "\"'".contains(character) { quote = character }
      literal.unicodeScalars.append(scalar)
    }
    text.appendLiteral(literal)
    var pages: Set<Int> = []
    try db.query(SQL(stringInterpolation: text)) { row in
      switch try row.get(at: 1, as: String.self) {
      case "OpenRead", "OpenWrite", "ReopenIdx": pages.insert(try row.get(at: 3, as: Int.self))
      case "Clear": pages.insert(try row.get(at: 2, as: Int.self))
      default: break
      }
    }
    return pages
  }
}
