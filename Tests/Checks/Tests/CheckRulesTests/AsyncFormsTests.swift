import Testing

@testable import CheckRules

struct AsyncFormsTests {
  func problems(_ text: String) -> [String] {
    checkAsyncForms([SourceFile("Sources/SqlablePool/A.swift", text)]).problems.map(\.description)
  }

  @Test(arguments: [
    ("extension SqlitePool", "func a() throws", "SqlitePool.a()"),
    (
      "public final class SqlitePool: Sendable", "func a<Value>(\n    _ b: (Int) throws -> Value\n  ) throws -> Value",
      "SqlitePool.a(_:)"
    ),
    (
      "extension Migrations", "func a(_ db: some SqlDatabase, file: StaticString = #fileID) throws -> [Int: Int]",
      "Migrations.a(_:file:)"
    ),
    ("extension Salvage", "func a(\n    into pool: SqlitePool\n  ) throws", "Salvage.a(into:)"),
    ("extension SqlExecutor", "func a(_ sql: SQL) throws", "AsyncSqlExecutor.a(_:)"),
  ])
  func aBlockingFunctionWithoutAsyncFormIsFound(type: String, function: String, signature: String) {
    let text = "\(type) {\n  public \(function) { 0 }\n}\n"
    #expect(problems(text) == ["Sources/SqlablePool/A.swift:2: \(signature) has no form for async code"])
  }

  @Test(arguments: [
    ("extension SqlitePool", "func a(_ b: Int) throws", "func a(_ b: Int) async throws"),
    ("extension Migrations", "func a(_ db: some SqlDatabase) throws", "func a(_ pool: SqlitePool) async throws"),
  ])
  func aFunctionWithItsAsyncFormIsNotReported(type: String, function: String, awaited: String) {
    #expect(problems("\(type) {\n  public \(function) {}\n\n  public \(awaited) {}\n}\n").isEmpty)
    #expect(problems("\(type) {\n  public \(function) {}\n}\n").count == 1)
  }

  @Test func anExecutorsCallHasItsFormInTheOtherProtocol() {
    let text = """
      extension SqlExecutor {
        public func a() throws {}
      }
      extension AsyncSqlExecutor {
        public func a() async throws {}
      }

      """
    #expect(problems(text).isEmpty)
  }

  @Test func anAsyncFormWithOtherLabelsDoesNotCount() {
    let text = """
      extension SqlitePool {
        public func a(_ b: Int) throws {}
        public func a(b: Int) async throws {}
      }

      """
    #expect(problems(text) == ["Sources/SqlablePool/A.swift:2: SqlitePool.a(_:) has no form for async code"])
  }

  @Test(arguments: [
    "extension SqlitePool {\n  func a() throws {}\n}\n", "extension SqlitePool {\n  public func a() -> Int { 0 }\n}\n",
    "extension SqliteDatabase {\n  public func a() throws {}\n}\n",
    "extension Schema {\n  public func a(_ db: SqliteDatabase) throws {}\n}\n",
  ])
  func callsThatDoNotBlockAPoolAreNotReported(text: String) {
    #expect(problems(text).isEmpty)
  }
}
