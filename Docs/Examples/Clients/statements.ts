/**
 * Statements of Sqlable as JSON, without the library: see Docs/StatementFormat.md.
 *
 *     import { col, read } from "./statements.js";
 *
 *     const red = read("bicycle").where(col("color").eq("red")).orderBy(col("id").desc()).limit(10);
 *     red.json();          // canonical JSON
 *     await red.sha256();  // what identifies the statement
 *
 * A client names models and columns only; the reader checks them. In a query of several tables a column needs its
 * table: col("name", "person").
 *
 * It needs no package: it runs in browsers and in Node 20 and later. Its types can all be erased, so Node 22.18 and
 * later run it as it is; `tsc --target es2022 --module es2022 statements.ts` makes JavaScript of it.
 */

const version = 1;
const maximum = BigInt(Number.MAX_SAFE_INTEGER);

/** A value of JSON. */
export type Json = null | boolean | number | string | readonly Json[] | Members;
export type Members = { readonly [key: string]: Json };

// Canonical JSON (RFC 8785), whose strings and numbers are those of ECMAScript.

/** Returns canonical JSON as text. */
export function canonical(json: Json): string {
  if (json === null || typeof json === "boolean") return String(json);
  if (typeof json === "string") return text(json);
  if (typeof json === "number") {
    if (!Number.isFinite(json)) throw new RangeError("infinity and NaN are no numbers of JSON");
    return JSON.stringify(json);
  }
  if (isList(json)) return "[" + json.map(canonical).join(",") + "]";
  // Sorted by UTF-16 code units.
  const keys = Object.keys(json).sort();
  return "{" + keys.map((key) => text(key) + ":" + canonical(json[key]!)).join(",") + "}";
}

function isList(json: readonly Json[] | Members): json is readonly Json[] {
  return Array.isArray(json);
}

function text(string: string): string {
  // A pair of surrogates is one character here, and not of this class.
  if (/\p{Surrogate}/u.test(string)) throw new RangeError("text with a lone surrogate is not Unicode");
  return JSON.stringify(string);
}

// Values and terms.

/**
 * A value. A number without a fraction is an INTEGER, up to 2^53 - 1; a bigint is any INTEGER of 64 bits. A number with
 * a fraction and infinity are REAL, and so is what `real` makes. Booleans are stored as 0 and 1.
 */
export type Value = null | boolean | number | bigint | string | Uint8Array | Real;

/** A REAL, whether it has a fraction or not. */
export class Real {
  readonly number: number;

  constructor(number: number) {
    if (Number.isNaN(number)) throw new RangeError("NaN can't be stored");
    this.number = number;
  }

  get document(): Members {
    const number = this.number;
    if (number === Infinity) return { real: "inf" };
    if (number === -Infinity) return { real: "-inf" };
    return { real: Object.is(number, -0) ? "-0" : number };
  }
}

/** A number as a REAL: `real(2)`. */
export function real(number: number): Real {
  return new Real(number);
}

/** A value as the format has it. */
export function value(value: Value): Json {
  if (value === null) return { null: true };
  if (value instanceof Real) return value.document;
  if (value instanceof Uint8Array) return { blob: base64(value) };
  switch (typeof value) {
    case "boolean":
      return value ? 1 : 0;
    case "bigint":
      if (BigInt.asIntN(64, value) !== value) throw new RangeError("an integer has 64 bits");
      return value > maximum || value < -maximum ? { integer: String(value) } : Number(value);
    case "number":
      if (!Number.isInteger(value)) return new Real(value).document;
      // 2**53 may be what is left of another integer.
      if (!Number.isSafeInteger(value)) throw new RangeError("an integer beyond 2^53 - 1 is a bigint, a REAL real(…)");
      return value === 0 ? 0 : value;
    case "string":
      return value;
    default:
      throw new TypeError(`${typeof value} is no value`);
  }
}

/** What a value of the format is here: a `bigint` for an INTEGER beyond 2^53 - 1. */
export function decoded(json: Json): null | number | bigint | string | Uint8Array {
  if (typeof json === "string" || typeof json === "number") return json;
  if (json !== null && typeof json === "object" && !isList(json)) {
    const { integer, real, blob } = json;
    if (typeof integer === "string") return BigInt(integer);
    if (typeof real === "number") return real;
    if (real === "inf" || real === "-inf") return real === "inf" ? Infinity : -Infinity;
    if (real === "-0") return -0;
    if (typeof blob === "string") return Uint8Array.from(atob(blob), (byte) => byte.charCodeAt(0));
    if (json["null"] === true) return null;
  }
  throw new TypeError("this is no value of the format");
}

function base64(bytes: Uint8Array): string {
  let binary = "";
  for (const byte of bytes) binary += String.fromCharCode(byte);
  return btoa(binary);
}

/** What stands in a statement: a term, a value, or a query of one column and row. */
export type Operand = Term | Query | Value;

function term(operand: Operand): Json {
  if (operand instanceof Query) return { query: operand.document };
  return operand instanceof Term ? operand.document : value(operand);
}

/** A term of an order: `col("id").desc()`. */
export type Order = { readonly asc: Json } | { readonly desc: Json };

/** A column, or what is computed of terms. */
export class Term {
  readonly document: Json;

  constructor(document: Json) {
    this.document = document;
  }

  private binary(operator: string, other: Operand): Term {
    return new Term({ [operator]: [this.document, term(other)] });
  }

  eq(other: Operand): Term { return this.binary("=", other); }
  ne(other: Operand): Term { return this.binary("<>", other); }
  lt(other: Operand): Term { return this.binary("<", other); }
  le(other: Operand): Term { return this.binary("<=", other); }
  gt(other: Operand): Term { return this.binary(">", other); }
  ge(other: Operand): Term { return this.binary(">=", other); }
  plus(other: Operand): Term { return this.binary("+", other); }
  minus(other: Operand): Term { return this.binary("-", other); }
  times(other: Operand): Term { return this.binary("*", other); }

  isNull(): Term { return new Term({ isNull: this.document }); }
  isNotNull(): Term { return new Term({ isNotNull: this.document }); }
  between(low: Operand, high: Operand): Term {
    return new Term({ between: [this.document, term(low), term(high)] });
  }

  /** One of these values, or of the rows of a query. */
  isIn(values: readonly Value[] | Query): Term {
    return new Term({ in: [this.document, values instanceof Query ? values.document : values.map(value)] });
  }

  like(pattern: Operand, escape?: string): Term {
    return new Term({ like: [this.document, term(pattern)], ...(escape === undefined ? {} : { escape }) });
  }

  call(name: string, ...others: Operand[]): Term { return call(name, this, ...others); }
  asc(): Order { return { asc: this.document }; }
  desc(): Order { return { desc: this.document }; }
}

/** A column. `of` names its table where a query has several, or is inside another one. */
export function col(name: string, of?: string): Term {
  return new Term({ column: name, ...(of === undefined ? {} : { of }) });
}

export function allOf(...terms: Operand[]): Term { return new Term({ and: terms.map(term) }); }
export function anyOf(...terms: Operand[]): Term { return new Term({ or: terms.map(term) }); }
export function negated(operand: Operand): Term { return new Term({ not: term(operand) }); }

/** A function of SQLite: `call("lower", col("name"))`. */
export function call(name: string, ...operands: Operand[]): Term {
  return new Term({ function: name, ...(operands.length > 0 ? { arguments: operands.map(term) } : {}) });
}

export const countRows = call("countRows");

export function exists(query: Query): Term { return new Term({ exists: query.document }); }
export function scalar(query: Query): Term { return new Term({ query: query.document }); }

// Statements.

type Operation = "read" | "first" | "count" | "exists" | "insert" | "save" | "update" | "delete";

/** A whole document. All methods of its kinds return changed copies. */
export class Statement {
  readonly operation: Operation;
  readonly document: Members;

  constructor(operation: Operation, document: Members) {
    this.operation = operation;
    this.document = document;
  }

  protected with(members: Members): this {
    const Kind = this.constructor as new (operation: Operation, document: Members) => this;
    return new Kind(this.operation, { ...this.document, ...members });
  }

  /** Returns the statement as canonical JSON. */
  json(): string {
    return canonical({ sqlable: version, [this.operation]: this.document });
  }

  /** Returns what identifies the statement: equal statements have equal hashes. */
  async sha256(): Promise<string> {
    const hash = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(this.json()));
    return Array.from(new Uint8Array(hash), (byte) => byte.toString(16).padStart(2, "0")).join("");
  }

  where(condition: Operand): this { return this.with({ where: term(condition) }); }
  orderBy(...orders: Order[]): this { return this.with({ orderBy: orders }); }
  limit(limit: number, offset?: number): this {
    return this.with({ limit, ...(offset === undefined ? {} : { offset }) });
  }
}

/** Rows that come with a row of a read: `many("bicycle", "owner_id").orderBy(col("name").asc()).limit(3)`. */
export class Associated {
  readonly document: Members;

  constructor(document: Members) { this.document = document; }

  private with(members: Members): Associated { return new Associated({ ...this.document, ...members }); }

  where(condition: Operand): Associated { return this.with({ where: term(condition) }); }
  orderBy(...orders: Order[]): Associated { return this.with({ orderBy: orders }); }

  /** Limits the rows that each row comes with. */
  limit(limit: number, offset?: number): Associated {
    return this.with({ limit, ...(offset === undefined ? {} : { offset }) });
  }

  count(): Associated { return this.with({ count: true }); }
  aggregate(operand: Operand): Associated { return this.with({ aggregate: term(operand) }); }
  including(...associated: Associated[]): Associated {
    return this.with({ including: associated.map((each) => each.document) });
  }
}

/** The rows of a table that refer to a row by a column. */
export function many(table: string, referringBy: string, key?: string): Associated {
  return new Associated({ from: table, referringBy, ...(key === undefined ? {} : { key }) });
}

/** The row of a table to which a row refers by a column. */
export function one(table: string, referredBy: string, key?: string): Associated {
  return new Associated({ from: table, referredBy, ...(key === undefined ? {} : { key }) });
}

/** The rows of a table that those of another one connect with a row. */
export function through(table: string, link: string, from: string, to: string): Associated {
  return new Associated({ from: table, through: { table: link, from, to } });
}

export class Query extends Statement {
  /** Terms, and names of tables whose models are read whole. A text as a value is `new Term("text")`. */
  select(...results: (string | Exclude<Operand, string>)[]): this {
    return this.with({ select: results.map((each) => (typeof each === "string" ? { model: each } : term(each))) });
  }

  distinct(): this { return this.with({ distinct: true }); }
  groupBy(...terms: Operand[]): this { return this.with({ groupBy: terms.map(term) }); }
  having(condition: Operand): this { return this.with({ having: term(condition) }); }

  /** Joins a table. Say then what the query selects. */
  join(table: string, on?: Operand, kind: "inner" | "left" | "right" | "full" | "cross" = "inner", alias?: string): this {
    const source: Members = {
      table,
      join: kind,
      ...(alias === undefined ? {} : { as: alias }),
      ...(on === undefined ? {} : { on: term(on) }),
    };
    const tables = this.document["from"]!;
    return this.with({ from: [...(Array.isArray(tables) ? (tables as readonly Json[]) : [tables]), source] });
  }

  leftJoin(table: string, on: Operand, alias?: string): this { return this.join(table, on, "left", alias); }

  combined(operation: "union" | "unionAll" | "intersect" | "except", query: Query): this {
    const compounds = (this.document["compounds"] ?? []) as readonly Json[];
    return this.with({ compounds: [...compounds, { [operation]: query.document }] });
  }

  /** Reads the rows together with others that belong to them, as the reader expects them. */
  including(...associated: Associated[]): this {
    return this.with({ including: associated.map((each) => each.document) });
  }

  first(): Query { return new Query("first", { ...this.document, limit: 1 }); }
  count(): Query { return new Query("count", this.document); }
  exists(): Query { return new Query("exists", this.document); }
}

export class Change extends Statement {
  /** Returns the changed rows, or terms of them. */
  returning(...terms: Operand[]): this {
    return this.with({ returning: terms.length > 0 ? terms.map(term) : true });
  }

  columns(...names: string[]): this { return this.with({ columns: names }); }
  onConflict(policy: "abort" | "ignore" | "replace"): this { return this.with({ onConflict: policy }); }

  /** Every row of the table: a change without `where` and `limit` must say so. */
  ofAllRows(): this { return this.with({ all: true }); }
}

/** The values of a row, by the names of its columns. */
export type Row = { readonly [column: string]: Value };

function row(values: Row): Members {
  return Object.fromEntries(Object.entries(values).map(([name, each]) => [name, value(each)]));
}

export function read(table: string): Query { return new Query("read", { from: table }); }
export function insert(table: string, values: Row): Change {
  return new Change("insert", { into: table, row: row(values) });
}
export function insertAll(table: string, rows: readonly Row[]): Change {
  return new Change("insert", { into: table, rows: rows.map(row) });
}
export function save(table: string, values: Row): Change {
  return new Change("save", { into: table, row: row(values) });
}
export function updateRow(table: string, values: Row): Change {
  return new Change("update", { table, row: row(values) });
}

/** Sets columns of the rows that `where` or `limit` selects; `updateAll` those of all. */
export function update(table: string, values: { readonly [column: string]: Operand }): Change {
  return new Change("update", { table, set: Object.entries(values).map(([column, to]) => ({ column, to: term(to) })) });
}
export function updateAll(table: string, values: { readonly [column: string]: Operand }): Change {
  return update(table, values).ofAllRows();
}
export function deleteFrom(table: string): Change { return new Change("delete", { from: table }); }
export function deleteAll(table: string): Change { return deleteFrom(table).ofAllRows(); }

/** What the tests compare with the statements of the library, and of the client in Python. */
export function examples(): Statement[] {
  const owner = col("id", "person"), bike = col("owner_id", "bicycle");
  const small = [0.1, real(2), real(1e21), 1e-7, 123456.789, 5e-324];
  const prices = [...small, real(Number.MAX_VALUE), Infinity, -Infinity, real(-0)];
  return [
    read("bicycle").where(col("color").eq("red")).orderBy(col("id").desc()).limit(10),
    read("bicycle").where(anyOf(col("id").between(3, 7), col("color").isIn(["red", "é\0\"\\\n\u{1F600}"]))),
    read("bicycle").where(allOf(col("owner_id").isNull(), negated(col("name").like("50!%%", "!")))),
    read("bicycle").where(col("id").isIn([-1, Number.MAX_SAFE_INTEGER, 2n ** 63n - 1n, -(2n ** 63n)])).first(),
    read("seat").where(anyOf(...prices.map((price) => col("price").eq(price)))).count(),
    read("bicycle").join("person", bike.eq(owner)).select("bicycle", "person"),
    read("person").leftJoin("bicycle", bike.eq(owner)).groupBy(owner).having(countRows.gt(1))
      .select(col("name", "person"), col("id", "bicycle").call("count")),
    read("person").where(exists(read("bicycle").where(bike.eq(owner)))),
    read("car").select(col("name"), col("price").times(2.5)).distinct()
      .combined("union", read("car").select(col("name").call("lower"), new Uint8Array([1, 2, 255]))),
    insert("bicycle", { id: 3, name: "Norco", color: "red" }),
    updateAll("bicycle", { owner_id: null }),
    insertAll("bicycle", [{ name: "Trek", color: "blue" }]).returning(),
    update("bicycle", { color: "blue", id: col("id").plus(1) }).where(col("color").eq("red")).limit(2, 1),
    deleteFrom("bicycle").where(col("id").gt(3)).returning(col("id")),
    deleteAll("bicycle"),
    read("person").including(
      many("bicycle", "owner_id").orderBy(col("name").asc()).limit(3, 1).including(many("repair", "bicycle_id")),
      through("course", "enrolment", "person_id", "course_id").where(col("title", "course").ne("")).count()),
    read("worker").including(many("worker", "boss_id", "id"), one("worker", "boss_id", "id")),
    read("bicycle").including(
      many("repair", "bicycle_id").aggregate(call("max", col("cost"))), many("repair", "bicycle_id").count()),
  ];
}
