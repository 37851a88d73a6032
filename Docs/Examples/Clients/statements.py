"""Statements of Sqlable as JSON, without the library: see Docs/StatementFormat.md.

    from statements import all_of, col, read

    red = read("bicycle").where(col("color").eq("red")).order_by(col("id").desc()).limit(10)
    red.json()     # canonical JSON, as bytes
    red.sha256()   # what identifies the statement

A client names models and columns only; the reader checks them. In a query of several tables a column needs its table:
col("name", of="person").
"""

import base64
import hashlib
import math

VERSION = 1
MAXIMUM = 2**53 - 1


# Canonical JSON (RFC 8785).

def canonical(value):
    """Returns canonical JSON as text."""
    if value is True:
        return "true"
    if value is False:
        return "false"
    if value is None:
        return "null"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, int):
        if abs(value) > MAXIMUM:
            raise ValueError("an integer beyond 2^53 - 1 is {'integer': text}")
        return str(value)
    if isinstance(value, float):
        return _number(value)
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(canonical(each) for each in value) + "]"
    if isinstance(value, dict):
        keys = sorted(value, key=lambda key: key.encode("utf-16-be"))
        return "{" + ",".join(_string(key) + ":" + canonical(value[key]) for key in keys) + "}"
    raise TypeError(f"{type(value).__name__} has no JSON")


_ESCAPES = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


def _string(text):
    text.encode()  # raises for a lone surrogate
    escaped = (_ESCAPES.get(c) or (f"\\u{ord(c):04x}" if c < " " else c) for c in text)
    return '"' + "".join(escaped) + '"'


def _number(number):
    """A finite number as ECMAScript spells it."""
    if number == 0:
        return "0"
    if not math.isfinite(number):
        raise ValueError("infinity and NaN are no numbers of JSON")
    sign, number = ("-", -number) if number < 0 else ("", number)
    digits, _, exponent = repr(number).partition("e")
    whole, _, fraction = digits.partition(".")
    scale = len(whole) + int(exponent or 0)
    digits = whole + fraction
    stripped = digits.lstrip("0")
    scale -= len(digits) - len(stripped)
    digits = stripped.rstrip("0")
    if len(digits) <= scale <= 21:
        return sign + digits + "0" * (scale - len(digits))
    if 0 < scale <= 21:
        return sign + digits[:scale] + "." + digits[scale:]
    if -6 < scale <= 0:
        return sign + "0." + "0" * -scale + digits
    point = "." + digits[1:] if len(digits) > 1 else ""
    return f"{sign}{digits[0]}{point}e{'+' if scale > 0 else '-'}{abs(scale - 1)}"


# Values and terms.

def value(value):
    """A value as the format has it. Booleans are stored as 0 and 1."""
    if value is None:
        return {"null": True}
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        if not -(2**63) <= value < 2**63:
            raise ValueError("an integer has 64 bits")
        return value if abs(value) <= MAXIMUM else {"integer": str(value)}
    if isinstance(value, float):
        if math.isnan(value):
            raise ValueError("NaN can't be stored")
        if math.isinf(value):
            return {"real": "inf" if value > 0 else "-inf"}
        return {"real": "-0" if value == 0 and math.copysign(1, value) < 0 else value}
    if isinstance(value, (bytes, bytearray)):
        return {"blob": base64.b64encode(value).decode()}
    if isinstance(value, str):
        return value
    raise TypeError(f"{type(value).__name__} is no value")


def _term(term):
    if isinstance(term, Query):
        return {"query": term.document}
    return term.document if isinstance(term, Term) else value(term)


class Term:
    """A column, or what is computed of terms."""

    def __init__(self, document):
        self.document = document

    def _binary(self, operator, other):
        return Term({operator: [self.document, _term(other)]})

    def eq(self, other): return self._binary("=", other)
    def ne(self, other): return self._binary("<>", other)
    def lt(self, other): return self._binary("<", other)
    def le(self, other): return self._binary("<=", other)
    def gt(self, other): return self._binary(">", other)
    def ge(self, other): return self._binary(">=", other)
    def __add__(self, other): return self._binary("+", other)
    def __sub__(self, other): return self._binary("-", other)
    def __mul__(self, other): return self._binary("*", other)

    def is_null(self): return Term({"isNull": self.document})
    def is_not_null(self): return Term({"isNotNull": self.document})
    def between(self, low, high): return Term({"between": [self.document, _term(low), _term(high)]})

    def is_in(self, values):
        """One of these values, or of the rows of a query."""
        choice = values.document if isinstance(values, Query) else [value(each) for each in values]
        return Term({"in": [self.document, choice]})

    def like(self, pattern, escape=None):
        return Term({"like": [self.document, _term(pattern)], **({"escape": escape} if escape else {})})

    def call(self, name, *arguments): return function(name, self, *arguments)
    def asc(self): return {"asc": self.document}
    def desc(self): return {"desc": self.document}


def col(name, of=None):
    """A column. `of` names its table where a query has several, or is inside another one."""
    return Term({"column": name, **({"of": of} if of else {})})


def all_of(*terms): return Term({"and": [_term(each) for each in terms]})
def any_of(*terms): return Term({"or": [_term(each) for each in terms]})
def negated(term): return Term({"not": _term(term)})


def function(name, *arguments):
    """A function of SQLite: function("lower", col("name"))."""
    return Term({"function": name, **({"arguments": [_term(each) for each in arguments]} if arguments else {})})


count_rows = function("countRows")


def exists(query): return Term({"exists": query.document})
def scalar(query): return Term({"query": query.document})


# Statements.

class Statement:
    """A whole document. All methods of its kinds return changed copies."""

    def __init__(self, operation, document):
        self.operation = operation
        self.document = document

    def _with(self, **members):
        return type(self)(self.operation, {**self.document, **members})

    def json(self):
        """Returns the statement as canonical JSON, in UTF-8."""
        return canonical({"sqlable": VERSION, self.operation: self.document}).encode()

    def sha256(self):
        """Returns what identifies the statement: equal statements have equal hashes."""
        return hashlib.sha256(self.json()).hexdigest()

    def where(self, condition): return self._with(where=_term(condition))
    def order_by(self, *orders): return self._with(orderBy=list(orders))

    def limit(self, limit, offset=None):
        return self._with(limit=limit, **({} if offset is None else {"offset": offset}))


class Associated:
    """Rows that come with a row of a read: `many("bicycle", "owner_id").order_by(col("name").asc()).limit(3)`."""

    def __init__(self, document):
        self.document = document

    def _with(self, **members): return Associated({**self.document, **members})
    def where(self, condition): return self._with(where=_term(condition))
    def order_by(self, *orders): return self._with(orderBy=list(orders))

    def limit(self, limit, offset=None):
        """Limits the rows that each row comes with."""
        return self._with(limit=limit, **({} if offset is None else {"offset": offset}))

    def count(self): return self._with(count=True)
    def aggregate(self, term): return self._with(aggregate=_term(term))
    def including(self, *associated): return self._with(including=[each.document for each in associated])


def many(table, referring_by, key=None):
    """The rows of a table that refer to a row by a column."""
    return Associated({"from": table, "referringBy": referring_by, **({} if key is None else {"key": key})})


def one(table, referred_by, key=None):
    """The row of a table to which a row refers by a column."""
    return Associated({"from": table, "referredBy": referred_by, **({} if key is None else {"key": key})})


def through(table, link, origin, destination):
    """The rows of a table that those of another one connect with a row."""
    return Associated({"from": table, "through": {"table": link, "from": origin, "to": destination}})


class Query(Statement):
    def select(self, *results):
        """Terms, and names of tables whose models are read whole."""
        return self._with(select=[{"model": each} if isinstance(each, str) else _term(each) for each in results])

    def distinct(self): return self._with(distinct=True)
    def group_by(self, *terms): return self._with(groupBy=[_term(each) for each in terms])
    def having(self, condition): return self._with(having=_term(condition))

    def join(self, table, on=None, kind="inner", alias=None):
        """Joins a table: `kind` is inner, left, right, full or cross. Say then what the query selects."""
        source = {"table": table, "join": kind}
        if alias:
            source["as"] = alias
        if on is not None:
            source["on"] = _term(on)
        tables = self.document["from"]
        return self._with(**{"from": ([tables] if isinstance(tables, str) else tables) + [source]})

    def left_join(self, table, on, alias=None): return self.join(table, on, "left", alias)

    def combined(self, operation, query):
        """`operation` is union, unionAll, intersect or except."""
        return self._with(compounds=self.document.get("compounds", []) + [{operation: query.document}])

    def including(self, *associated):
        """Reads the rows together with others that belong to them, as the reader expects them."""
        return self._with(including=[each.document for each in associated])

    def first(self): return Query("first", {**self.document, "limit": 1})
    def count(self): return Query("count", self.document)
    def exists(self): return Query("exists", self.document)


class Change(Statement):
    def returning(self, *terms):
        """Returns the changed rows, or terms of them."""
        return self._with(returning=[_term(each) for each in terms] or True)

    def columns(self, *names): return self._with(columns=list(names))
    def on_conflict(self, policy): return self._with(onConflict=policy)


def _row(row): return {name: value(each) for name, each in row.items()}


def read(table): return Query("read", {"from": table})
def insert(table, row): return Change("insert", {"into": table, "row": _row(row)})
def insert_all(table, rows): return Change("insert", {"into": table, "rows": [_row(each) for each in rows]})
def save(table, row): return Change("save", {"into": table, "row": _row(row)})
def update_row(table, row): return Change("update", {"table": table, "row": _row(row)})


def update(table, values):
    """Sets columns of the rows that `where` or `limit` selects; `update_all` those of all."""
    return Change("update", {"table": table, "set": [{"column": n, "to": _term(t)} for n, t in values.items()]})


def update_all(table, values): return update(table, values)._with(all=True)
def delete(table): return Change("delete", {"from": table})
def delete_all(table): return Change("delete", {"from": table, "all": True})


def examples():
    """What the tests compare with the statements of the library."""
    owner, bike = col("id", of="person"), col("owner_id", of="bicycle")
    return [
        read("bicycle").where(col("color").eq("red")).order_by(col("id").desc()).limit(10),
        read("bicycle").where(any_of(col("id").between(3, 7), col("color").is_in(["red", "é\0\"\\\n\U0001F600"]))),
        read("bicycle").where(all_of(col("owner_id").is_null(), negated(col("name").like("50!%%", escape="!")))),
        read("bicycle").where(col("id").is_in([-1, MAXIMUM, 2**63 - 1, -(2**63)])).first(),
        read("seat").where(any_of(*(
            col("price").eq(number)
            for number in [0.1, 2.0, 1e21, 1e-7, 123456.789, 5e-324, 1.7976931348623157e308, math.inf, -math.inf, -0.0]
        ))).count(),
        read("bicycle").join("person", on=bike.eq(owner)).select("bicycle", "person"),
        read("person").left_join("bicycle", on=bike.eq(owner)).group_by(owner).having(count_rows.gt(1))
        .select(col("name", of="person"), col("id", of="bicycle").call("count")),
        read("person").where(exists(read("bicycle").where(bike.eq(owner)))),
        read("car").select(col("name"), col("price") * 2.5).distinct()
        .combined("union", read("car").select(col("name").call("lower"), b"\x01\x02\xff")),
        insert("bicycle", {"id": 3, "name": "Norco", "color": "red"}),
        update_all("bicycle", {"owner_id": None}),
        insert_all("bicycle", [{"name": "Trek", "color": "blue"}]).returning(),
        update("bicycle", {"color": "blue", "id": col("id") + 1}).where(col("color").eq("red")).limit(2, offset=1),
        delete("bicycle").where(col("id").gt(3)).returning(col("id")),
        delete_all("bicycle"),
        read("person").including(
            many("bicycle", "owner_id").order_by(col("name").asc()).limit(3, offset=1)
            .including(many("repair", "bicycle_id")),
            through("course", "enrolment", "person_id", "course_id").where(col("title", of="course").ne("")).count()),
        read("worker").including(many("worker", "boss_id", key="id"), one("worker", "boss_id", key="id")),
        read("bicycle").including(
            many("repair", "bicycle_id").aggregate(function("max", col("cost"))), many("repair", "bicycle_id").count()),
    ]


if __name__ == "__main__":
    for statement in examples():
        print(statement.json().decode(), statement.sha256(), sep="\t")
