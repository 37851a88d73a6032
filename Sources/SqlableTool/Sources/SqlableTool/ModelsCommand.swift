import ArgumentParser
import Foundation
import Sqlable

struct ModelsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "models",
    abstract: "Prints Swift structs with Sqlable conformances for the tables of a database.",
    discussion: """
      Reads the tables and views of a database, and prints models of them: structs with their columns, keys, \
      constraints, indexes and full-text search. Parts that no model can declare are printed as comments. The database \
      is only read.

      The types follow from the declared types and the values of all rows, so that every row can be read. Values are \
      not printed, except defaults.

      Exit codes: 0 done, 1 the file is unreadable, 2 a mistake on the command line.
      """)

  @Argument(help: "The database.")
  var database: String

  @Option(
    name: .customLong("table"),
    help: ArgumentHelp("Only this table or view; repeatable.", valueName: "name"))
  var names: [String] = []

  @Flag(name: .customLong("public"), help: "Make the models public.")
  var isPublic = false

  @Flag(name: .customLong("macro"), help: "Print models that use the macro @Sqlable.")
  var usesMacro = false

  @Option(
    help: ArgumentHelp("Read only this many rows of each table.", valueName: "count"), transform: number(1...Int.max))
  var sample: Int?

  func run() throws {
    let text = try withReadOnlyDatabase(database) { db -> String in
      // SQLite can't read a table whose key uses an unknown collation. For reading, any implementation of the collation
      // is sufficient.
      for name in try db.schema().collations { try db.register(Collation(name) { $0.compare($1) }) }
      // Read the schema and the rows in one snapshot, so that the rows match the schema.
      return try db.transaction(.deferred) { db in try source(db) }
    }
    Output.write(text, to: STDOUT_FILENO)
  }

  private func source(_ db: SqliteDatabase) throws -> String {
    let (tables, searches) = try read(db)
    var (named, missing): ([(table: ReadTable, typeName: String)], [String]) = ([], [])
    var typeNames = SwiftNames(reserving: SwiftNames.reservedTypes)
    for table in tables {
      if let problem = table.problem {
        missing.append("\(table.name) can't be read: \(problem)")
      } else if table.columns.isEmpty || table.name.isEmpty {
        missing.append(
          "\(table.name.isEmpty ? "a table" : table.name) has no model: the table has an empty name or no column with "
            + "a name"
        )
      } else {
        named.append((table, typeNames.type(for: table.name)))
      }
    }
    let names = named.map(\.typeName)
    var models = named.map { GeneratedModel($0.table, named: $0.typeName, among: names, usesMacro: usesMacro) }
    let all = models
    for index in models.indices { models[index].declare(with: all, searches: searches) }
    var text = ModelText(isPublic: isPublic)
    for model in models { text.add(model) }
    let types = Set(models.flatMap { $0.properties.map(\.column.type.swiftName) })
    if types.contains("StoredValue") { text.addStoredValue() }
    return (header(missing, needsFoundation: !types.isDisjoint(with: ["Data", "Date", "StoredValue"])) + text.lines)
      .joined(separator: "\n") + "\n"
  }

  private func header(_ missing: [String], needsFoundation: Bool) -> [String] {
    let file = URL(fileURLWithPath: database).lastPathComponent.commented
    var lines = ["// Models of the tables in \(file), written by: sqlable models" + (usesMacro ? " --macro" : "")]
    if let sample { lines.append("// The property types fit the first \(sample) rows of each table.") }
    lines += missing.map { "// " + $0.commented }
    return lines + [""] + (needsFoundation ? ["import Foundation"] : []) + ["import Sqlable"]
  }

  /// Reads the tables and views to print. Omits the full-text indexes of these tables, and the records of migrations.
  private func read(
    _ db: SqliteDatabase
  ) throws -> (tables: [ReadTable], searches: [(name: String, arguments: FullTextArguments)]) {
    let schema = try db.schema()
    for name in names where schema[table: name] == nil && !schema.views.contains(where: { $0.has(name) }) {
      throw ValidationError("--table: no such table or view: \(name)")
    }
    func isNamed(_ name: String) -> Bool { names.contains { SchemaText($0.quotedName).isName(name) } }
    let chosen = schema.tables.filter { names.isEmpty ? $0.name != Migrations.tableName : isNamed($0.name) }
    let searches = schema.tables.compactMap { table in
      FullTextArguments(table.module).map { (name: table.name, arguments: $0) }
    }
    var (tables, indexes): ([ReadTable], Set<String>) = ([], [])
    for table in chosen where table.module == nil {
      let source = try ReadTable(table, in: db, sample: sample)
      tables.append(source)
      let index = searches.first { $0.arguments.isIndex(named: $0.name, of: table, source) }
      if let index { indexes.insert(index.name) }
    }
    for table in chosen where table.module != nil && (!indexes.contains(table.name) || isNamed(table.name)) {
      tables.append(try ReadTable(table, in: db, sample: sample))
    }
    let views = names.isEmpty ? schema.views : schema.views.filter { isNamed($0.name) }
    return (tables + (try views.map { try ReadTable($0, in: db, sample: sample) }), searches)
  }
}

extension DatabaseSchema {
  fileprivate var collations: Set<String> {
    var texts: [SchemaText?] = []
    for table in tables {
      texts += table.columns.map(\.collation)
      texts += (table.primaryKey?.columns ?? []).map(\.collation)
      for unique in table.uniques { texts += unique.columns.map(\.collation) }
      for index in table.indexes { texts += index.terms.map(\.collation) }
    }
    return Set(texts.compactMap { $0 }.filter { $0 != "NOCASE" && $0 != "RTRIM" }.compactMap(\.name))
  }
}

extension DatabaseSchema.View {
  fileprivate func has(_ name: String) -> Bool { SchemaText(name.quotedName).isName(self.name) }
}
