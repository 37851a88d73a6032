import Foundation
import Sqlable
import Testing

@testable import SqlableDocumentsTestSupport
@testable import SqlableTestSupport

/// Tests that the clients in Docs/Examples/Clients write the same bytes as the library.
@Suite struct StatementClientGuide {
  private static let clients = Repository.root.appending(path: "Docs/Examples/Clients")
  private static let hasPython = Administrator.run("python3", "--version")
  private static let hasNode = Administrator.run("node", "--version")
  /// The TypeScript compiler of Debian's package `node-typescript`.
  private static let hasCompiler = Administrator.run("tsc", "--version")
  /// Node 22.6 and later strip types themselves.
  private static let erasesTypes = Administrator.run("node", "--experimental-strip-types", "--eval", "0")

  /// The statements of the client's `examples()`, in the same order.
  private func statements() throws -> [Data] {
    let owner: SqlExpression = Bicycle.ownerId == Person.id
    let red = ["red", "é\u{0}\"\\\n\u{1F600}"]
    let prices: [Double] = [
      0.1, 2, 1e21, 1e-7, 123456.789, .leastNonzeroMagnitude, .greatestFiniteMagnitude, .infinity, -.infinity, -0.0,
    ]
    return try [
      Bicycle.read().filter(Bicycle.color == "red").orderBy(Bicycle.id, .desc).limit(10).json(),
      Bicycle.read().filter(Bicycle.id.between(3, and: 7) || Bicycle.color.in(red)).json(),
      Bicycle.read().filter(Bicycle.ownerId.isNull && !Bicycle.name.like("50!%%", escape: "!")).json(),
      Bicycle.read().filter(Bicycle.id.in([-1, 9_007_199_254_740_991, .max, .min])).first().json(),
      Seat.count().filter(.any(prices.map { Seat.price == $0 })).json(),
      Bicycle.join(Person.self, on: owner).json(),
      Person.leftJoin(Bicycle.self, on: owner).select(Person.name, Bicycle.id.count()).groupBy(Person.id)
        .having(countAll() > 1).json(),
      Person.read().filter(exists(Bicycle.read().filter(owner))).json(),
      Car.select(Car.name.expression, (Car.price * 2.5).expression).distinct()
        .union(Car.select(Car.name.lowercase().expression, TypedExpression(Data([1, 2, 255])).expression)).json(),
      Bicycle(id: 3, name: "Norco", color: "red").insert().json(),
      Bicycle.updateAll(Bicycle.ownerId.set(to: nil)).json(),
      ReturningStatement(Bicycle.insert([Bicycle(name: "Trek", color: "blue")]).returning()).json(),
      Bicycle.update(Bicycle.color.set(to: "blue"), Bicycle.id.set(to: Bicycle.id + 1)).filter(Bicycle.color == "red")
        .limit(2, offset: 1).json(),
      Bicycle.delete(Bicycle.id > 3).returning(Bicycle.id).json(), Bicycle.deleteAll().json(),
      Person.read().including(
        Person.bikes.orderBy(Bicycle.name).limit(3, offset: 1).including(Bicycle.repairs)
      ).including(Person.courses.filter(Course.title != "").count()).json(),
      Worker.read().including(Worker.team).including(Worker.boss).json(),
      Bicycle.read().including(Bicycle.repairs.aggregate(Repair.cost.max()), Bicycle.repairs.count()).json(),
    ]
  }

  @Test(.enabled(if: hasPython, "there is no Python here")) func pythonClientWritesTheSameBytesAsTheLibrary() throws {
    try expectSameBytesAsTheLibrary(
      output("python3", StatementClientGuide.clients.appending(path: "statements.py").path))
  }

  @Test(
    .enabled(if: hasNode, "there is no Node here"),
    .enabled(if: hasCompiler || erasesTypes, "there is no TypeScript here, and Node does not erase types"))
  func typeScriptClientWritesTheSameBytesAsTheLibrary() throws {
    try expectSameBytesAsTheLibrary(
      javaScript(
        """
        for (const statement of client.examples()) console.log(`${statement.json()}\t${await statement.sha256()}`);
        """))
  }

  @Test(
    .enabled(if: hasNode, "there is no Node here"),
    .enabled(if: hasCompiler || erasesTypes, "there is no TypeScript here, and Node does not erase types"))
  func typeScriptClientLosesNoValue() throws {
    let output = try javaScript(
      #"""
      import assert from "node:assert/strict";
      const { value, decoded, canonical, real, col, read } = client;
      const values = [null, "é\0\u{1F600}", 0, -1, 2 ** 53 - 1, 2n ** 53n, 2n ** 63n - 1n, -(2n ** 63n), 0.5, 5e-324,
        Infinity, -Infinity, new Uint8Array(), Uint8Array.from({ length: 300 }, (_, index) => index)];
      for (const each of values) assert.deepEqual(decoded(JSON.parse(canonical(value(each)))), each);
      assert.ok(Object.is(decoded(value(real(-0))), -0) && decoded(value(real(2))) === 2);
      assert.deepEqual([true, false, 3n, -0].map(value), [1, 0, 3, 0]);
      const refused = [NaN, 2 ** 53, 1e21, 2n ** 63n, -(2n ** 63n) - 1n, undefined, new Date(), Symbol("s"), {}];
      for (const each of refused) assert.throws(() => value(each));
      for (const each of ["\ud800", "\udc00\ud800", "a\udfff"]) assert.throws(() => read("t").where(col(each)).json());
      for (const each of [{ real: "nan" }, { integer: 3 }, {}, [], true, null]) assert.throws(() => decoded(each));
      const shared = read("bicycle").where(col("id").gt(1));
      const text = shared.json();
      shared.where(col("id").gt(2)).limit(1).orderBy(col("id").asc()).first();
      assert.equal(shared.json(), text);
      assert.equal(canonical({ "\u{1F600}": 1, "\uFB33": 2, ["__proto__"]: 4, a: 1e21, "10": -0, "9": 1e-7 }),
        '{"10":0,"9":1e-7,"__proto__":4,"a":1e+21,"\u{1F600}":1,"\uFB33":2}');
      console.log("done");
      """#)
    #expect(output == "done\n")
  }

  /// The compiler reports an error for every intentionally wrong line.
  @Test(.enabled(if: hasCompiler, "there is no TypeScript here")) func typeScriptTypesRefuseInvalidStatements() throws {
    try withDirectory { directory in
      let text = """
        import { call, col, exists, insert, many, read, value } from "./statements.js";
        // @ts-expect-error
        read("bicycle").orderBy(col("id"));
        // @ts-expect-error
        read("bicycle").where({ "=": [1, 2] });
        // @ts-expect-error
        read("bicycle").limit("10");
        // @ts-expect-error
        read("bicycle").returning();
        // @ts-expect-error
        read("bicycle").combined("plus", read("person"));
        // @ts-expect-error
        insert("bicycle", { name: col("name") });
        // @ts-expect-error
        col("id").isIn([col("id")]);
        // @ts-expect-error
        exists(col("id"));
        // @ts-expect-error
        read("person").including(read("bicycle"));
        // @ts-expect-error
        many("bicycle", "owner_id").select(col("id"));
        // @ts-expect-error
        value(undefined);
        call("lower", col("name")).eq(read("person").select(col("name"))).isNull();

        """
      try Data(text.utf8).write(to: URL(filePath: directory + "/misuse.ts"))
      let client = StatementClientGuide.clients.appending(path: "statements.ts")
      try FileManager.default.copyItem(at: client, to: URL(filePath: directory + "/statements.ts"))
      try compile(directory + "/misuse.ts", to: directory)
    }
  }
}

extension StatementClientGuide {
  /// Returns the output of a program, which must exit with code 0.
  private func output(_ program: String, _ arguments: String...) throws -> String {
    let process = try ChildProcess(program, arguments, errors: .withOutput)
    let output = String(decoding: try process.output.readToEnd() ?? Data(), as: UTF8.self)
    #expect(process.end(), "\(program): \(output)")
    return output
  }

  private func compile(_ file: String, to directory: String) throws {
    _ = try output(
      "tsc", "--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes", "--noUnusedLocals",
      "--isolatedModules", "--target", "es2022", "--module", "es2022", "--lib", "es2022,dom", "--outDir", directory,
      file)
  }

  /// Returns the output of JavaScript code that sees the client's module as `client`.
  private func javaScript(_ script: String) throws -> String {
    try withDirectory { directory in
      var client = StatementClientGuide.clients.appending(path: "statements.ts").path
      if StatementClientGuide.hasCompiler {
        try compile(client, to: directory)
        client = directory + "/statements.mjs"
        try FileManager.default.moveItem(atPath: directory + "/statements.js", toPath: client)
      }
      // Node 18 has Web Crypto only as a module.
      let lines = """
        import { webcrypto } from "node:crypto";
        globalThis.crypto ??= webcrypto;
        const client = await import("\(client)");

        """
      try Data((lines + script).utf8).write(to: URL(filePath: directory + "/script.mjs"))
      let options = StatementClientGuide.hasCompiler ? [] : ["--experimental-strip-types", "--no-warnings"]
      let process = try ChildProcess("node", options + [directory + "/script.mjs"], errors: .withOutput)
      let output = String(decoding: try process.output.readToEnd() ?? Data(), as: UTF8.self)
      #expect(process.end(), "\(output)")
      return output
    }
  }

  /// Expects one line for each of a client's examples: its JSON and its SHA-256.
  private func expectSameBytesAsTheLibrary(_ output: String) throws {
    let lines = output.split(separator: "\n").map { $0.split(separator: "\t") }
    let statements = try statements()
    try #require(lines.count == statements.count)
    try #require(lines.allSatisfy { $0.count == 2 })
    try withDirectory { directory in
      for (line, statement) in zip(lines, statements) {
        #expect(line[0] == String(decoding: statement, as: UTF8.self))
        #expect(try CorpusStatement(json: Data(line[0].utf8)).json == statement)
        try statement.write(to: URL(filePath: directory + "/statement.json"))
        #expect(try self.output("sha256sum", directory + "/statement.json").hasPrefix(line[1] + " "))
      }
    }
  }
}
