import SqlableAdvice
import SqlableCore
import SqlableQueries
import Testing

@testable import SqlableTestSupport

@Suite struct AdviceTests {
  private func expectAdvice(
    _ advice: [IndexAdvice], _ sql: [String], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    #expect(advice.map(\.sql) == sql, sourceLocation: sourceLocation)
  }

  @Test func aFilterWithoutAnIndexGetsAdvice() throws {
    try withCompany { db in
      let bens = Worker.read().filter(Worker.name == "Ben")
      #expect(try bens.explain(db).scans == ["worker"])
      let advice = try bens.advice(db)
      expectAdvice(advice, [#"CREATE INDEX "worker_name" ON "worker" ("name")"#])
      #expect(advice.first?.plan.description == "SEARCH worker USING INDEX worker_name (name=?)")
      // The advice itself creates no index.
      #expect(try bens.explain(db).scans == ["worker"])
      for index in advice { try db.execute(SQL(verbatim: index.sql)) }
      #expect(try bens.explain(db).scans.isEmpty)
      #expect(try bens.advice(db).isEmpty)
    }
  }

  @Test func associatedRowsGetAdvice() throws {
    try withCompany { db in
      expectAdvice(
        try Worker.read().filter(Worker.name == "Ben").including(Worker.team.orderBy(Worker.salary)).advice(db),
        [
          #"CREATE INDEX "worker_name" ON "worker" ("name")"#,
          #"CREATE INDEX "worker_boss_id_salary" ON "worker" ("boss_id", "salary")"#,
        ])
    }
  }

  @Test func subqueriesInEveryTermGetAdvice() throws {
    try withCompany { db in
      let bikes = scalar(
        Bicycle.select(Bicycle.name.typed(as: String.self)).filter(Bicycle.ownerId == Worker.id.column))
      for term in [bikes.isNull, bikes.coalesce(TypedExpression("x")).expression.like("x%"), !bikes.isNotNull] {
        expectAdvice(
          try Worker.read().filter(term).advice(db), [#"CREATE INDEX "bicycle_owner_id" ON "bicycle" ("owner_id")"#])
      }
    }
  }

  @Test func equalityComesBeforeComparisonAndOrder() throws {
    try withCompany { db in
      expectAdvice(
        try Worker.read().filter(Worker.salary > 5 && Worker.name == "Ben").advice(db),
        [#"CREATE INDEX "worker_name_salary" ON "worker" ("name", "salary")"#])
      expectAdvice(
        try Worker.count().filter(Worker.salary.between(1, and: 5) || Worker.id == 1).filter(Worker.bossId ∈ [1, 2])
          .advice(db),
        [#"CREATE INDEX "worker_boss_id" ON "worker" ("boss_id")"#])
      expectAdvice(
        try Worker.read().filter(Worker.bossId == 1).orderBy(Worker.salary, .desc).limit(1).advice(db),
        [#"CREATE INDEX "worker_boss_id_salary_desc" ON "worker" ("boss_id", "salary" DESC)"#])
      expectAdvice(
        try Worker.update(Worker.salary.set(to: 1)).filter(Worker.name == "x").advice(db),
        [#"CREATE INDEX "worker_name" ON "worker" ("name")"#])
    }
  }

  /// SQLite reads an index in two parts if its first ordered column has NULL at the other end.
  @Test func theFirstOrderedColumnCanHaveNullAtTheOtherEnd() throws {
    try withCompany { db in
      let workers = Worker.read().filter(Worker.name == "Ben").limit(1)
      expectAdvice(
        try workers.orderBy(Worker.bossId.asc.nullsLast).orderBy(Worker.salary).advice(db),
        [#"CREATE INDEX "worker_name_boss_id_salary" ON "worker" ("name", "boss_id", "salary")"#])
      expectAdvice(
        try workers.orderBy(Worker.bossId.desc.nullsFirst).advice(db),
        [#"CREATE INDEX "worker_name_boss_id_desc" ON "worker" ("name", "boss_id" DESC)"#])
      expectAdvice(
        try workers.orderBy(Worker.salary).orderBy(Worker.bossId.asc.nullsLast).advice(db),
        [#"CREATE INDEX "worker_name_salary" ON "worker" ("name", "salary")"#])
    }
  }

  @Test func joinsAndSubqueriesGetAdvice() throws {
    try withCompany { db in
      expectAdvice(
        try Person.join(Bicycle.self, on: Bicycle.ownerId == Person.id).filter(Person.name == "Anna").advice(db),
        [
          #"CREATE INDEX "person_name" ON "person" ("name")"#,
          #"CREATE INDEX "bicycle_owner_id" ON "bicycle" ("owner_id")"#,
        ])
      expectAdvice(
        try Person.read().filter(exists(Bicycle.read().filter(Bicycle.ownerId == Person.id))).advice(db),
        [#"CREATE INDEX "bicycle_owner_id" ON "bicycle" ("owner_id")"#])
      let other = Alias(Worker.self, "other")
      expectAdvice(
        try Worker.read().joining(other, on: Worker.name == other[Worker.name]).filter(Worker.id == 1).advice(db),
        [#"CREATE INDEX "worker_name" ON "worker" ("name")"#])
    }
  }

  @Test func anIndexNamesEachColumnOnce() throws {
    try withCompany { db in
      expectAdvice(
        try Worker.read().filter(Worker.name == "Ben").orderBy(Worker.name).advice(db),
        [#"CREATE INDEX "worker_name" ON "worker" ("name")"#])
      expectAdvice(
        try Worker.read().filter(Worker.name == "Ben").orderBy(Worker.salary).orderBy(Worker.name).advice(db),
        [#"CREATE INDEX "worker_name_salary" ON "worker" ("name", "salary")"#])
    }
  }

  @Test func readsThatNoIndexHelpsGetNoAdvice() throws {
    try withCompany { db in
      let none = try Worker.read().advice(db)
      #expect(none.isEmpty)
      #expect(try Worker.byId(1).advice(db).isEmpty)
      #expect(try Worker.read().filter(Worker.name.like("%a%")).advice(db).isEmpty)
      #expect(try Worker.read().filter(Worker.salary + 1 == 6).advice(db).isEmpty)
      #expect(try Bicycle.read().filter(Bicycle.color == "red").advice(db).isEmpty)
      expectError(.schema(.missingTable("nosuch"))) {
        _ = try Worker.read().in("nosuch").filter(Worker.name == "a").advice(db)
      }
    }
  }

  @Test func aCompositeKeyGetsOneIndexOfItsColumns() throws {
    try withDatabase { db in
      try db.createTables(ShopOrder.self, TaggedOrder.self)
      let links = ShopOrder.toMany(TaggedOrder.self, by: [TaggedOrder.shop, TaggedOrder.order])
      expectAdvice(
        try ShopOrder.read().including(links).advice(db),
        [#"CREATE INDEX "tagged_order_shop_order" ON "tagged_order" ("shop", "order")"#])
    }
  }

  @Test func adviceDependsOnTheValues() throws {
    try withStays(Stay(id: 1, at: Stay.moment, note: "red", flags: 4)) { db throws in
      try db.execute("CREATE INDEX red ON stay (flags) WHERE note = 'red'")
      func condition(_ note: String) -> SqlExpression { Stay.note == note && Stay.flags > 3 }
      #expect(try Stay.read().filter(condition("red")).advice(db).isEmpty)
      #expect(try !Stay.read().filter(condition("blue")).advice(db).isEmpty)
    }
  }

  private enum Quoted: TableDeclaration {
    static let id = Column("id", .integer, PrimaryKey())
    static let name = Column(#"a"b'c"#, .text)
    static let columns = [id, name]
  }

  @Test func namesInAdviceAreQuoted() throws {
    try withDatabase { (db: SqliteDatabase) throws -> Void in
      try db.createTable(Entry<Quoted>.self)
      let advice = try Entry<Quoted>.read().filter(Quoted.name == "x").advice(db)
      expectAdvice(advice, [##"CREATE INDEX "t_a""b'c" ON "t" ("a""b'c")"##])
      for index in advice { try db.execute(SQL(verbatim: index.sql)) }
      #expect(try Entry<Quoted>.read().filter(Quoted.name == "x").advice(db).isEmpty)
    }
  }

  @Test func viewsFunctionsAndVirtualTablesDoNotPreventAdvice() throws {
    try withCompany { db in
      try db.register(ScalarFunction("twice") { (number: Int) in number * 2 })
      try db.execute(
        """
        CREATE VIEW rich AS SELECT * FROM worker WHERE salary > 6;
        CREATE VIRTUAL TABLE papers USING fts5(title);
        CREATE INDEX odd ON worker (salary) WHERE salary > 1;
        ANALYZE
        """)
      expectAdvice(
        try Worker.read().filter(Worker.name == "Ben").advice(db),
        [#"CREATE INDEX "worker_name" ON "worker" ("name")"#])
    }
  }
}
