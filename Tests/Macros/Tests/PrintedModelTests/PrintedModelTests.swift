import Foundation
import Sqlable
import Testing

/// Tests that the output of `sqlable models --macro` compiles, reads every row and declares the same tables. The
/// command's own tests compare the output with this file.
@Suite struct PrintedModelTests {
  private static let models: [any Sqlable.Type] = [
    Berth.self, Countdown.self, LeftSide.self, Maker.self, OddTable.self, Product.self, RightSide.self, Rule.self,
    Memo.self,
  ]

  private func withTables(_ body: (SqliteDatabase) throws -> Void) throws {
    try withDatabase(Configuration(foreignKeys: false)) { db in
      let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "PrintedModels.sql")
      for statement in try String(contentsOf: file, encoding: .utf8).components(separatedBy: ";\n") {
        let text = statement.split(separator: "\n").filter { !$0.hasPrefix("--") }.joined(separator: "\n")
        if !text.isEmpty { try db.execute(SQL(verbatim: text)) }
      }
      try body(db)
    }
  }

  @Test(arguments: PrintedModelTests.models.indices) func everyRowIsRead(_ place: Int) throws {
    func count(_ model: (some Sqlable).Type, _ db: SqliteDatabase) throws -> Int { try model.read().run(db).count }
    let model = PrintedModelTests.models[place]
    try withTables { db in
      let rows = try db.query("SELECT count(*) FROM \(table: model.tableName)", as: Int.self)[0]
      #expect(try count(model, db) == rows)
      #expect(rows > 0 || model.tableName == "right_side")
    }
  }

  @Test func modelsDeclareTheSameTablesAsTheFile() throws {
    try withTables { db in
      let schema = Schema(Maker.self, Product.self, LeftSide.self, RightSide.self, Rule.self, Memo.self)
      let differences = try schema.differences(db)
      // The file has the foreign types only in comments.
      #expect(
        differences.map { "\($0)" }.filter { !$0.contains("sku") && !$0.contains("sold") && !$0.contains("made") } == []
      )
    }
  }
}
