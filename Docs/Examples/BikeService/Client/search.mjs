// Asks a bike service for an owner's bicycles with statements, and follows one of them until the service ends:
//
//     node search.mjs http://127.0.0.1:8080 Anna
//
// `statements.js` beside it is what tsc makes of Docs/Examples/Clients/statements.ts.

import { col, countRows, decoded, read } from "./statements.js";

const [address, owner] = process.argv.slice(2);

/** Sends a statement. A refusal says what the service does not allow, and where in the document it is. */
async function send(path, statement) {
  const headers = { "Bike-Owner": owner, "Content-Type": "application/json" };
  const response = await fetch(address + path, { method: "POST", headers, body: statement.json() });
  if (response.ok) return response;
  throw new Error(`${response.status}: ${await response.text()}`);
}

/** An answer with its values as JavaScript has them: a `bigint` for a large integer, null for NULL. */
function answer(text) {
  const { rows, ...others } = JSON.parse(text);
  if (rows === undefined) return others;
  const row = (values) => Object.fromEntries(Object.entries(values).map(([name, value]) => [name, decoded(value)]));
  return { rows: rows.map(row) };
}

async function search(statement) {
  const response = await send("/search", statement);
  return answer(await response.text());
}

/** The answers to a statement: at once, and whenever it is another one. */
async function* follow(statement) {
  const response = await send("/search/events", statement);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    let text = "";
    while (true) {
      const { done, value } = await reader.read();
      if (done) return;
      const events = (text + value).split("\n\n");
      text = events.pop();
      for (const event of events) yield answer(event.slice(event.indexOf("data: ") + "data: ".length));
    }
  } finally {
    await reader.cancel();  // closes the connection, if the caller stops before the service does
  }
}

const red = read("bicycle").where(col("color").eq("red")).orderBy(col("price").asc());
const colors = read("bicycle").select(col("color"), countRows).groupBy(col("color"));

console.log(await search(red.count()));
for (const row of (await search(colors)).rows) console.log(row["color"], row["count(*)"]);
for await (const { rows } of follow(red.limit(10))) {
  console.log(rows.map(({ name, price }) => `${name} ${price}`).join(", "));
}
