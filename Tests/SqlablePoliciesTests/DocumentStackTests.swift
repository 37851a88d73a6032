import Foundation
import Glibc
import SqlablePolicies
import SqlableSchema
import Testing

@testable import SqlableCore
@testable import SqlableDocuments
@testable import SqlableTestSupport

/// Stack use of the deepest documents that are accepted.
@Suite struct DocumentStackTests {
  /// Kinds of nesting: an innermost text, and a function that wraps a text once.
  private static let kinds: [(name: String, inner: String, outer: @Sendable (String) -> String)] = [
    ("not", "1", { #"{"not":\#($0)}"# }),
    ("isNull", "1", { #"{"isNull":\#($0)}"# }),
    ("sum", "1", { #"{"+":[\#($0),1]}"# }),
    ("and", "1", { #"{"and":[\#($0),{"or":[1,\#($0.count < 200 ? $0 : "1")]}]}"# }),
    ("function", #"{"column":"name"}"#, { #"{"arguments":[\#($0)],"function":"lower"}"# }),
    ("like", "1", { #"{"escape":"!","like":[\#($0),"x"]}"# }),
    ("case", "1", { #"{"case":[[\#($0),1]],"else":\#($0.count < 200 ? $0 : "1")}"# }),
    ("collate", #"{"column":"name"}"#, { #"{"as":"NOCASE","collate":\#($0)}"# }),
    ("cast", "1", { #"{"as":"text","cast":\#($0)}"# }),
    ("between", "1", { #"{"between":[\#($0),1,2]}"# }),
    ("exists", "1", { #"{"exists":{"from":"person","where":\#($0)}}"# }),
    ("count", "1", { #"{"=":[{"count":{"from":"person","where":\#($0)}},1]}"# }),
    ("query", "1", { #"{"query":{"from":"person","select":[\#($0)],"limit":1}}"# }),
    ("in", "1", { #"{"in":[1,{"from":"person","select":[\#($0)]}]}"# }),
    ("values", "1", { #"{"in":[{"row":[1,2]},{"values":[[\#($0),2]]}]}"# }),
    (
      "named", "1",
      {
        #"""
        {"query":{"from":[{"as":"q","columns":["integer"],"query":{"from":"person","select":[\#($0)]}}],\#
        "select":[1]}}
        """#
      }
    ),
    (
      "compound", "1",
      {
        #"""
        {"query":{"compounds":[{"unionAll":{"from":"person","limit":1,"select":[\#($0)]}}],"from":"person",\#
        "select":[1]}}
        """#
      }
    ),
    (
      "chain", #"{"from":"person","select":[1]}"#,
      {
        #"{"from":[{"as":"q","columns":["integer"],"query":\#($0)}],"select":[1]}"#
      }
    ),
    (
      "combined", #"{"from":"person","select":[1]}"#,
      {
        #"{"compounds":[{"unionAll":\#($0)}],"from":"person","limit":1,"select":[1]}"#
      }
    ),
    ("ordered", "1", { #"{"query":{"from":"person","orderBy":[{"asc":\#($0)}],"select":[1],"limit":1}}"# }),
  ]

  private static func document(_ kind: Int, _ depth: Int) -> Data {
    var term = kinds[kind].inner
    for _ in 0..<depth { term = kinds[kind].outer(term) }
    if ["chain", "combined"].contains(kinds[kind].name) {
      let source = #"{"as":"q","columns":["integer"],"query":\#(term)}"#
      return Data(#"{"read":{"from":[\#(source)],"select":[1]},"sqlable":1}"#.utf8)
    }
    return Data(#"{"count":{"from":"person","where":\#(term)},"sqlable":1}"#.utf8)
  }

  private static var policy: StatementPolicy {
    var policy = StatementPolicy(.table(Person.self).readingAll().rows(where: Person.id > 0))
    policy.features = Set(StatementPolicy.Feature.allCases)
    (policy.limits.depth, policy.limits.nodes, policy.limits.bytes) = (10_000, 100_000, 1 << 20)
    return policy
  }

  /// Decodes, encodes, compares, renders and runs a document.
  private static func work(_ json: Data, _ db: SqliteDatabase) throws {
    let statement = try AnyStatement(json: json, rules: StatementRules(models: [Person.self]))
    let other = try AnyStatement(json: statement.json(), rules: StatementRules(models: [Person.self]))
    _ = (statement == other, statement.hashValue, statement.sql, statement.description)
    _ = try? statement.run(db)
  }

  /// Decodes, renders, compares and runs a document under a policy.
  private static func limitedWork(_ json: Data, _ db: SqliteDatabase) throws {
    let limited = try policy.statement(json: json)
    _ = limited.sql
    _ = (limited == limited, limited.hashValue)
    _ = try? limited.limited(by: policy).run(db)
  }

  /// Calls `body` on a thread with a stack of 16 MiB, and returns the number of bytes that it used.
  private static func stackUse(_ body: @escaping @Sendable () -> Void) -> Int {
    let (size, mark) = (16 << 20, UInt8(0xA5))
    let stack = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 4_096)
    defer { stack.deallocate() }
    memset(stack, Int32(mark), size)
    var attributes = pthread_attr_t()
    pthread_attr_init(&attributes)
    pthread_attr_setstack(&attributes, stack, size)
    final class Body {
      let run: () -> Void
      init(_ run: @escaping () -> Void) { self.run = run }
    }
    var thread = pthread_t()
    pthread_create(
      &thread, &attributes,
      { context in
        guard let context else { return nil }
        Unmanaged<Body>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, Unmanaged.passRetained(Body(body)).toOpaque())
    pthread_join(thread, nil)
    let bytes = UnsafeRawBufferPointer(start: stack, count: size)
    return size - (bytes.firstIndex { $0 != mark } ?? size)
  }

  /// Returns the greatest accepted depth of a kind, and the error of the next depth.
  private static func deepest(
    _ kind: Int, _ isAccepted: (Data) throws -> Void
  ) throws -> (depth: Int, refusal: SqlError?) {
    for depth in 1...400 {
      do { try isAccepted(document(kind, depth)) } catch let error as SqlError { return (depth - 1, error) }
    }
    return (400, nil)
  }

  @Test(arguments: kinds.map(\.name)) func theDeepestDocumentFitsIntoHalfAMegabyteOfStack(name: String) throws {
    let kind = try #require(DocumentStackTests.kinds.firstIndex { $0.name == name })
    try withDatabase { db in
      try db.createTable(Person.self)
      nonisolated(unsafe) var (plain, limited): ((depth: Int, refusal: SqlError?)?, (depth: Int, refusal: SqlError?)?)
      let use = DocumentStackTests.stackUse {
        plain = try? DocumentStackTests.deepest(kind) { try DocumentStackTests.work($0, db) }
        limited = try? DocumentStackTests.deepest(kind) { try DocumentStackTests.limitedWork($0, db) }
      }
      let deepest = try #require(plain)
      #expect(deepest.depth >= 2, "\(deepest)")
      #expect(deepest.refusal?.message.contains("nested too deeply") == true, "\(deepest)")
      #expect(limited?.refusal != nil)
      let error = sqlError { try DocumentStackTests.work(DocumentStackTests.document(kind, 1_000), db) }
      #expect(error?.message == "the document is nested more than 400 deep")
      // Foundation's coders recurse too.
      let coded = DocumentStackTests.stackUse {
        let json = DocumentStackTests.document(kind, deepest.depth)
        _ = try? JSONDecoder().decode(Statement<Person, Int>.self, from: json)
        if let statement = try? Statement<Person, Int>(json: json) { _ = try? JSONEncoder().encode(statement) }
      }
      // A sanitizer makes every frame several times as large.
      #expect(isSanitized || max(use, coded) < 500 << 10, "\(use) and \(coded) bytes, \(deepest.depth) deep")
    }
  }
}
