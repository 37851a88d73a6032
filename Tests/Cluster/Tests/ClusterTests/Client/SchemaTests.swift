import Sqlable
import SqlableCluster
import Testing

/// Tests of `createTables` on a cluster, also from several programs at once.
@Suite struct SchemaTests {
  @Test func programsThatStartAtOnceCreateTablesOnce() async throws {
    try await withClient { cluster, nodes in
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<6 {
          group.addTask {
            let own = try SqliteCluster(nodes: nodes.addresses)
            defer { own.close() }
            try await own.createTables(Person.self, Bicycle.self, Story.self)
          }
        }
        try await group.waitForAll()
      }
      let again = try await cluster.createTables(Person.self, Bicycle.self, Story.self)
      #expect(again.allSatisfy { $0.isEmpty })
      #expect(again.count == 3)
    }
  }

  @Test func columnsIndexesAndFullTextAreAddedToATableWithRows() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self)
      // The tables of an older version of the program.
      try await cluster.execute(
        """
        CREATE TABLE bicycle (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL,
          color TEXT NOT NULL DEFAULT 'black', UNIQUE (name, color))
        """)
      try await cluster.execute("INSERT INTO bicycle (name, color) VALUES ('Trek', 'red')")
      try await cluster.execute(
        """
        CREATE TABLE story (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT, year INTEGER NOT NULL,
        slug TEXT NOT NULL UNIQUE)
        """)
      try await cluster.execute("INSERT INTO story VALUES (1, 'The rider', 'a long way', 2024, 'x')")
      let changes = try await cluster.createTables(Bicycle.self, Story.self)
      #expect(changes.flatMap(\.addedColumns) == ["owner_id"])
      #expect(changes.contains { $0.builtFullText })
      let bike = try await Bicycle.read().first().run(cluster)
      #expect(bike?.name == "Trek")
      #expect(bike?.ownerId == nil)
      #expect(try await Story.read().filter(Story.matches(.words("long"))).run(cluster).map(\.id) == [1])
      // An index with another definition is recreated.
      let index = try await cluster.query("SELECT name FROM sqlite_schema WHERE sql LIKE '%fts5%'", as: String.self)[0]
      try await cluster.execute("DROP TABLE \(table: index)")
      try await cluster.execute(
        "CREATE VIRTUAL TABLE \(table: index) USING fts5(title, content = 'story', content_rowid = 'id')")
      #expect(try await cluster.createTables(Story.self).map(\.builtFullText) == [true])
      #expect(try await Story.read().filter(Story.matches(.words("long"))).run(cluster).map(\.id) == [1])
      let here = try SqliteDatabase.inMemory()
      try here.createTables(Person.self, Bicycle.self, Story.self)
      let query: SQL = "SELECT name FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name"
      #expect(try await cluster.query(query, as: String.self) == here.query(query, as: String.self))
    }
  }

  @Test func aColumnThatCannotBeAddedChangesNothing() async throws {
    try await withClient { cluster, _ in
      try await cluster.execute("CREATE TABLE person (id INTEGER PRIMARY KEY)")
      let error = await failure { try await cluster.createTables(Person.self, Car.self) }
      if case .schema(.mismatch)? = error?.kind {} else { Issue.record("\(String(describing: error))") }
      #expect(try await cluster.query("SELECT count(*) FROM sqlite_schema WHERE name = 'car'", as: Int.self) == [0])
    }
  }

  @Test func tableThatDiffersIsRefused() async throws {
    try await withClient { cluster, _ in
      try await cluster.execute("CREATE TABLE person (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT)")
      let error = await failure { try await Schema(Person.self).create(cluster) }
      #expect(error?.table == "person")
      #expect(error?.column == "name")
    }
  }

  @Test func aSchemaIsComparedWithThatOfTheCluster() async throws {
    try await withClient { cluster, _ in
      try await cluster.createTables(Person.self, Story.self)
      try await Schema(Person.self, Story.self).verify(cluster)
      try await cluster.execute("CREATE TABLE bicycle (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL)")
      let here = try SqliteDatabase.inMemory()
      try here.createTable(Person.self)
      try here.execute("CREATE TABLE bicycle (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL)")
      let schema = Schema(Person.self, Bicycle.self)
      let differences = try await schema.differences(cluster)
      #expect(try differences == schema.differences(here))
      #expect(!differences.isEmpty)
      let error = await failure { try await schema.verify(cluster) }
      if case .schema(.mismatch)? = error?.kind {} else { Issue.record("\(String(describing: error))") }
    }
  }

  /// dqlite's SQLite reads an unknown column in double quotes as a text.
  @Test func missingColumnThrowsInsteadOfReadingAsText() async throws {
    try await withClient { cluster, _ in
      // The table of an older version of the program.
      try await cluster.execute("CREATE TABLE bicycle (id INTEGER PRIMARY KEY, name TEXT NOT NULL, owner_id INTEGER)")
      try await cluster.execute("INSERT INTO bicycle (name) VALUES ('Trek')")
      let bike = Bicycle(id: 1, name: "Norco", color: "color")
      let works: [any Runnable & Sendable] = [
        Bicycle.read(), Bicycle.read().orderBy(Bicycle.color), Bicycle.read().filter(Bicycle.color == "color"),
        Bicycle.count().filter(Bicycle.color == "color"), Bicycle.read().filter(Bicycle.color == "color").exists(),
        Bicycle.select(Bicycle.name.typed(as: String.self), Bicycle.color.typed(as: String.self)),
        Bicycle.select(Bicycle.name.typed(as: String.self)).groupBy(Bicycle.color),
        Bicycle.delete().filter(Bicycle.color == "color"),
        Bicycle.updateAll(Bicycle.name.set(to: Bicycle.color)),
        Bicycle.updateAll(Bicycle.name.set(to: "x")).returning(),
        Bicycle.updateAll(Bicycle.name.set(to: "x")).returning(Bicycle.color),
        Bicycle.select(Bicycle.color.typed(as: String.self)).union(Bicycle.select(Bicycle.name.typed(as: String.self))),
        bike.insert(), bike.update(), bike.save(),
      ]
      for work in works {
        let error = await failure { _ = try await run(work, cluster) }
        if case .schema(.missingColumn)? = error?.kind {
        } else {
          Issue.record("\(work.sql): \(String(describing: error))")
        }
      }
      #expect(try await cluster.query("SELECT name FROM bicycle", as: String.self) == ["Trek"])
    }
  }

  private func run(_ work: some Runnable, _ cluster: SqliteCluster) async throws {
    _ = try await work.run(over: cluster)
  }

  @Test func databasesOfAClusterAreSeparate() async throws {
    try await withClient { cluster, nodes in
      var configuration = ClusterConfiguration()
      configuration.database = "other"
      let other = try SqliteCluster(nodes: nodes.addresses, configuration: configuration)
      defer { other.close() }
      try await cluster.createTables(Person.self)
      let error = await failure { _ = try await Person.count().run(other) }
      #expect(error?.kind == .schema(.missingTable("person")))
    }
  }
}
