import Foundation
import Sqlable
import Testing

@testable import SqlableTestSupport

/// The examples of "Definitions and maintenance as values" in Docs/Schema.md.
@Suite struct DefinitionsGuide {
  @Test func definitionsAndMaintenanceAreValues() async throws {
    let directory = NSTemporaryDirectory() + "sqlable-test-\(UUID().uuidString)"
    defer { try? FileManager.default.removeItem(atPath: directory) }
    let pool = try SqlitePool(filepath: directory + "/bikes.sqlite", configuration: .init(waitTimeout: nil))
    try await Person.createTable().run(pool)
    try await Bicycle.createTable().run(pool)
    try await pool.execute("DROP INDEX bicycle_color; ALTER TABLE bicycle ADD COLUMN note TEXT")
    try await pool.execute("INSERT INTO bicycle (name, color) VALUES ('Norco', 'red')")
    try await Bicycle.createTable().ifNotExists().run(pool)  // and its indexes
    try await Bicycle.createIndex(Index(Bicycle.ownerId)).run(pool)
    try await AlterStatement.renameColumn("color", to: "paint", inTable: "bicycle").run(pool)
    try await AlterStatement.dropColumn("note", ofTable: "bicycle").run(pool)
    try await Bicycle.addColumn(Bicycle.color).run(pool)
    #expect(try await Bicycle.read().run(pool).map(\.color) == ["black"])
    #expect(
      [
        "\(Bicycle.createIndex(Index(Bicycle.ownerId)))",
        "\(AlterStatement.renameColumn("color", to: "paint", inTable: "bicycle"))",
        "\(AlterStatement.dropColumn("note", ofTable: "bicycle"))", "\(Bicycle.addColumn(Bicycle.color))",
      ] == [
        #"CREATE INDEX "bicycle_owner_id" ON "bicycle" ("owner_id")"#,
        #"ALTER TABLE main."bicycle" RENAME COLUMN "color" TO "paint""#,
        #"ALTER TABLE main."bicycle" DROP COLUMN "note""#,
        #"ALTER TABLE "bicycle" ADD COLUMN "color" TEXT NOT NULL DEFAULT 'black'"#,
      ])
    try await DatabaseStatement.vacuum().run(pool)
    try await DatabaseStatement.analyze("bicycle").run(pool)
    let version = try await Pragma.userVersion.run(pool)  // Int
    try await Pragma.userVersion.set(to: version + 1).run(pool)
    let plan = try await Bicycle.byId(2).explain().run(pool)
    #expect(plan.description.hasPrefix("SEARCH bicycle USING INTEGER PRIMARY KEY"))
    let maintenance: [any Runnable] = [
      DatabaseStatement.vacuum(), DatabaseStatement.analyze("bicycle"), Pragma.userVersion,
      Pragma.userVersion.set(to: version + 1),
    ]
    #expect(
      maintenance.map { "\($0)" }
        == ["VACUUM", #"ANALYZE main."bicycle""#, #"PRAGMA "user_version""#, #"PRAGMA "user_version" = 1"#])
    try await pool.close()
  }
}
